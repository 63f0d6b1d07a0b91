package units

import (
	"math"
	"slices"
)

// op is the operation of a fold on a unit's words.
type op int

const (
	opSum   op = iota // three words: the sum in grains, and the number of values
	opCount           // one word, as all that follow
	opTruth           // see seenTrue
	opMin             // the bits of a number, and noNumber
	opMax
	opFirst // a code, plus one
	opLast
	opMode // the head of a list of a tally
)

// The bits of a word of any or all: which values occurred.
const (
	seenTrue = 1 << iota
	seenFalse
)

// noNumber is xored with the bits of a minimum or maximum, so that zero, with which records begin, means missing.
var noNumber = math.Float64bits(math.NaN())

// cell is a fold in a view.
type cell struct {
	*Fold
	view, column int
	at           int // its first word in a record
	op           op
	grains       grains
	truth        [2]int32 // the codes of the texts "false" and "true"
}

func newCell(f *Fold, view, column, at int) cell {
	c := cell{Fold: f, view: view, column: column, at: at, grains: newGrains(f.Lower, f.Upper)}
	c.truth = [2]int32{int32(slices.Index(f.Domain, "false")), int32(slices.Index(f.Domain, "true"))}
	c.op = map[string]op{FoldSum: opSum, FoldMean: opSum, FoldCount: opCount, FoldAny: opTruth, FoldAll: opTruth, FoldMode: opMode,
		FoldMin: opMin, FoldMax: opMax}[f.By]
	if !f.Number && c.op == opMin {
		c.op = opFirst
	} else if !f.Number && c.op == opMax {
		c.op = opLast
	}
	return c
}

// words returns how many words of a record the fold takes.
func (c *cell) words() int {
	if c.op == opSum {
		return 3
	}
	return 1
}

// shardRows are rows of a chunk that belong to one shard.
type shardRows struct {
	offs, nums  []uint32 // the rows and the places of their units
	stride      int      // words of a unit
	first       int      // the chunk's first bit in the bitmaps:
	valid, mask []byte
}

// has reports whether a row has a value and passes the mask.
func (r *shardRows) has(j int) bool {
	i := r.first + int(r.offs[j])
	return bit(r.valid, i) && bit(r.mask, i)
}

// addNumbers adds rows to the words of their units. x holds the numbers of the chunk.
func (c *cell) addNumbers(words []uint64, r shardRows, x []float64) {
	all := r.valid == nil && r.mask == nil
	for j, unit := range r.nums {
		v := x[r.offs[j]]
		if !all && !r.has(j) || v != v {
			continue
		}
		at := int(unit)*r.stride + c.at
		switch c.op {
		case opSum:
			w := words[at : at+3 : at+3]
			c.grains.add(w, v)
			w[2]++
		case opCount:
			words[at]++
		case opTruth:
			if v != 0 {
				words[at] |= seenTrue
			} else {
				words[at] |= seenFalse
			}
		case opMin:
			if old := math.Float64frombits(words[at] ^ noNumber); !(old <= v) {
				words[at] = math.Float64bits(v+0) ^ noNumber // one zero
			}
		case opMax:
			if old := math.Float64frombits(words[at] ^ noNumber); !(old >= v) {
				words[at] = math.Float64bits(v+0) ^ noNumber
			}
		}
	}
}

// addCodes is addNumbers for a category. Codes outside the domain are missing.
func (c *cell) addCodes(words []uint64, r shardRows, codes []int32, tally func(unit uint32, code int32, head *uint64)) {
	for j, unit := range r.nums {
		code := codes[r.offs[j]]
		if !r.has(j) || uint32(code) >= uint32(len(c.Domain)) {
			continue
		}
		word := &words[int(unit)*r.stride+c.at]
		switch c.op {
		case opCount:
			*word++
		case opTruth:
			if code == c.truth[1] {
				*word |= seenTrue
			} else {
				*word |= seenFalse
			}
		case opFirst:
			if *word == 0 || uint64(code)+1 < *word {
				*word = uint64(code) + 1
			}
		case opLast:
			*word = max(*word, uint64(code)+1)
		case opMode:
			tally(unit, code, word)
		}
	}
}

// result returns the folded value of a unit's words: the bits of a float64, or a code. False means missing.
func (c *cell) result(t *tally, words []uint64) (uint64, bool) {
	switch c.op {
	case opSum:
		n := uint64(1)
		if c.By == FoldMean {
			n = max(words[2], 1)
		}
		return math.Float64bits(c.grains.value(words, n)), words[2] > 0
	case opCount:
		return math.Float64bits(float64(words[0])), true
	case opTruth:
		truth := 0
		if c.By == FoldAny && words[0]&seenTrue != 0 || words[0] == seenTrue {
			truth = 1
		}
		if c.Number {
			return math.Float64bits(float64(truth)), words[0] != 0
		}
		return uint64(c.truth[truth]), words[0] != 0
	case opMin, opMax:
		return words[0] ^ noNumber, words[0] != 0
	case opMode:
		code := t.mode(words[0])
		return uint64(code), code >= 0
	}
	return words[0] - 1, words[0] != 0
}
