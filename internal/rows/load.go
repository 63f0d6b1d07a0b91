package rows

import (
	"math"
	"strings"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/rows/formula"
)

// loader reads a column of the table as its declared type. A value that cannot be read so is missing (P24).
func loader(s *slot, at int) func(b *block) {
	switch s.Type {
	case formula.Number:
		own, parsed := make([]float64, step), parsedBy(formula.ParseNumber, nan)
		return func(b *block) {
			s.numbers, s.clean = loadNumbers(own[:b.n], &b.columns[at], b, parsed, &s.texts)
		}
	case formula.Date, formula.Timestamp:
		own, parsed := make([]int64, step), wholesOf(s.Type)
		return func(b *block) {
			s.wholes = own[:b.n]
			loadWholes(s.wholes, &b.columns[at], b, s.Type, parsed, &s.texts)
		}
	case formula.Text:
		own := make([]int32, step)
		return func(b *block) {
			s.codes = loadCodes(own[:b.n], &b.columns[at], b, &s.texts)
		}
	}
	own := newTruth()
	yes := &perText[byte]{value: func(text string) byte { return byte(bit(strings.EqualFold(text, "true"))) }}
	no := &perText[byte]{value: func(text string) byte { return byte(bit(strings.EqualFold(text, "false"))) }}
	return func(b *block) {
		s.truth = own.cut(b.n)
		loadTruth(s.truth, &b.columns[at], b, yes, no, &s.texts)
	}
}

// loadNumbers returns the step's values as numbers: the column's memory if no value is missing, else a copy in dst.
func loadNumbers(dst []float64, v *table.Values, b *block, parsed *perText[float64], dict **texts) (x []float64, clean bool) {
	switch {
	case v.Float64 != nil:
		raw := v.Float64[b.from : b.from+b.n]
		if allValid(v.Valid, b.from, b.n) && finite(raw) {
			return raw, true
		}
		copy(dst, raw)
		toNaN(dst)
	case v.Int64 != nil:
		divisor := v.Divisor()
		for i, x := range v.Int64[b.from : b.from+b.n] {
			dst[i] = float64(x)
			if v.Unsigned {
				dst[i] = float64(uint64(x))
			}
		}
		if divisor != 1 {
			for i := range dst {
				dst[i] /= divisor
			}
		}
	case v.Codes != nil:
		*dict = sameTexts(*dict, v)
		parsed.fill(dst, *dict, v.Codes[b.from:b.from+b.n])
	default:
		fill(dst, nan)
	}
	dropNulls(dst, v, b.from, nan)
	return dst, finite(dst)
}

// The first and the last day that 32 bits hold. Others are missing.
const firstDay, lastDay = math.MinInt32, math.MaxInt32

const microsPerDay = 86400 * 1_000_000

func loadWholes(dst []int64, v *table.Values, b *block, t formula.Type, parsed *perText[int64], dict **texts) {
	switch {
	case v.Int64 != nil && v.Kind == table.Date:
		copy(dst, v.Int64[b.from:])
		if t == formula.Timestamp {
			midnights(dst)
		} else {
			within(dst, firstDay, lastDay)
		}
	case v.Int64 != nil && v.Kind == table.Timestamp:
		micros(dst, v.Int64[b.from:b.from+b.n], int64(v.Divisor()))
		if t == formula.Date {
			days(dst)
		}
	case v.Codes != nil:
		*dict = sameTexts(*dict, v)
		parsed.fill(dst, *dict, v.Codes[b.from:b.from+b.n])
	default:
		fill(dst, none)
	}
	dropNulls(dst, v, b.from, none)
}

// loadCodes returns the step's codes: the column's memory if none is null, else a copy in dst.
func loadCodes(dst []int32, v *table.Values, b *block, dict **texts) []int32 {
	*dict = sameTexts(*dict, v)
	if v.Codes == nil {
		fill(dst, -1)
		return dst
	}
	if allValid(v.Valid, b.from, b.n) {
		return v.Codes[b.from : b.from+b.n]
	}
	copy(dst, v.Codes[b.from:])
	dropNulls(dst, v, b.from, -1)
	return dst
}

// loadTruth reads a bool, or the texts true and false in any case of letters.
func loadTruth(t truth, v *table.Values, b *block, yes, no *perText[byte], dict **texts) {
	switch {
	case v.Int64 != nil && v.Kind == table.Bool:
		of := v.Int64[b.from : b.from+b.n]
		for k := range t.yes {
			word := uint64(0)
			for i, x := range of[64*k : min(64*k+64, b.n)] {
				word |= bit(x != 0) << i
			}
			t.yes[k] = word
		}
		ones(t.no, b.n)
		for k, w := range t.yes {
			t.no[k] &^= w
		}
	case v.Codes != nil:
		*dict = sameTexts(*dict, v)
		pick(t.yes, yes.get(*dict), v.Codes[b.from:b.from+b.n])
		pick(t.no, no.get(*dict), v.Codes[b.from:b.from+b.n])
	default:
		t.set(-1, b.n)
	}
	if v.Valid != nil {
		for i, valid := range v.Valid[b.from/8 : (b.from+b.n+7)/8] {
			keep := ^(uint64(^valid) << (i % 8 * 8))
			t.yes[i/8] &= keep
			t.no[i/8] &= keep
		}
	}
}

// allValid reports whether no row of the step is null. A step begins with a whole byte of the bitmap.
func allValid(valid []byte, from, n int) bool {
	if valid == nil {
		return true
	}
	end := (from + n) / 8
	for _, b := range valid[from/8 : end] {
		if b != 0xff {
			return false
		}
	}
	rest := n % 8
	return rest == 0 || valid[end]|byte(0xff)<<rest == 0xff
}

// dropNulls puts missing in the places of nulls.
func dropNulls[T any](dst []T, v *table.Values, from int, missing T) {
	if allValid(v.Valid, from, len(dst)) {
		return
	}
	for i := range dst {
		if v.Null(from + i) {
			dst[i] = missing
		}
	}
}

func fill[T any](dst []T, v T) {
	for i := range dst {
		dst[i] = v
	}
}

func within(x []int64, lo, hi int64) {
	for i, v := range x {
		if v < lo || v > hi {
			x[i] = none
		}
	}
}
