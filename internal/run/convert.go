package run

import (
	"fmt"
	"math"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// AsFloats widens a column to float64: dates in days and times in seconds since
// their epoch, decimals divided by their power of ten.
func (p *Preparer) AsFloats(v table.Values, rows int) ([]float64, error) {
	switch {
	case v.Float64 != nil:
		return v.Float64[:rows], nil
	case v.Int64 == nil && rows > 0:
		return nil, errType(p.at) // text does not become a number
	}
	divisor := v.Divisor()
	x := p.floats(rows)
	if v.Unsigned {
		for i, n := range v.Int64[:rows] {
			x[i] = float64(uint64(n))
		}
		return x, nil
	}
	if divisor == 1 {
		for i, n := range v.Int64[:rows] {
			x[i] = float64(n)
		}
		return x, nil
	}
	for i, n := range v.Int64[:rows] {
		x[i] = float64(n) / divisor
	}
	return x, nil
}

func (p *Preparer) floats(rows int) []float64 {
	if cap(p.floatBuf) < rows {
		p.floatBuf = make([]float64, rows)
	}
	return p.floatBuf[:rows]
}

// category turns texts, whole numbers, booleans, dates, times and decimals into codes of the domain.
func (p *Preparer) category(v table.Values, rows int) error {
	codes := p.codes(rows)
	if p.numbers == nil && v.Codes == nil {
		p.numbers = map[int64]int32{}
		whole := v
		if v.Float64 != nil {
			whole.Kind = table.Int
		}
		for i, text := range p.Column.Domain {
			if n, ok := whole.Parse(text); ok {
				p.numbers[n] = int32(i)
			}
		}
	}
	var err error
	switch {
	case v.Codes != nil:
		err = p.fromTexts(codes, v)
	case v.Int64 != nil:
		err = p.each(codes, v, func(i int) (int32, bool) {
			c, ok := p.numbers[v.Int64[i]]
			return c, ok
		})
	case v.Float64 != nil:
		err = p.each(codes, v, func(i int) (int32, bool) {
			f := v.Float64[i]
			if f != math.Trunc(f) || math.Abs(f) > 1<<53 {
				return 0, false
			}
			c, ok := p.numbers[int64(f)]
			return c, ok
		})
	case rows > 0:
		err = errType(p.at)
	}
	p.out = sdk.Values{Codes: codes}
	return err
}

// fromTexts maps the batch's dictionary once, not every row.
func (p *Preparer) fromTexts(codes []int32, v table.Values) error {
	if p.mapped == nil || p.dictID != v.DictID || len(p.mapped) != len(v.Dict) {
		p.mapped, p.dictID = make([]int32, len(v.Dict)), v.DictID
		for i, text := range v.Dict {
			c, ok := p.texts[text]
			if !ok {
				c = foreign
			}
			p.mapped[i] = c
		}
	}
	return p.each(codes, v, func(i int) (int32, bool) {
		c := p.mapped[v.Codes[i]]
		return c, c != foreign
	})
}

// each fills codes, applying the rules for missing and foreign values.
func (p *Preparer) each(codes []int32, v table.Values, code func(i int) (int32, bool)) error {
	for i := range codes {
		c := p.missingCode
		null := v.Null(i) || v.Float64 != nil && v.Float64[i] != v.Float64[i]
		if null {
			p.facts.Missing++
		} else {
			var ok bool
			if c, ok = code(i); !ok {
				c = p.outsideCode
				p.facts.Outside++
			}
		}
		if c == refused {
			if null {
				return errMissing(p.at)
			}
			return errOutside(p.at)
		}
		codes[i] = c
	}
	return nil
}

func (p *Preparer) codes(rows int) []int32 {
	if cap(p.codeBuf) < rows {
		p.codeBuf = make([]int32, rows)
	}
	return p.codeBuf[:rows]
}

// written shows how to write a value in a domain.
var written = map[table.Kind]string{
	table.Date: "write 2024-02-29", table.Time: "write 12:30:00", table.Timestamp: "write 2024-02-29T12:30:00", table.Decimal: "write 12.50",
}

// stored is the kind of a column in the table that an expression reads as a type.
var stored = map[job.ColumnType]table.Kind{job.Text: table.String, job.Bool: table.Bool, job.Date: table.Date,
	job.Timestamp: table.Timestamp}

// Suits reports whether a column of the table can be read as the job declares
// it; the answer depends on the schema alone.
func Suits(c job.Column, t table.Column) (bool, string) {
	if !t.Usable {
		return false, "it is " + t.Reason
	}
	switch c.Type {
	case job.Number:
		if t.Kind == table.String {
			return false, "it holds text, not numbers"
		}
	case job.Text, job.Bool, job.Date, job.Timestamp:
		if kind := stored[c.Type]; t.Kind != kind {
			return false, fmt.Sprintf("it holds %s values", t.Kind)
		}
	case job.Category:
		switch {
		case t.Kind == table.String || t.Kind == table.Float:
		case t.Kind == table.Decimal && t.Approximate:
			return false, "it holds decimals of more than 18 digits, which cannot be categories"
		case t.Kind == table.Date || t.Kind == table.Time || t.Kind == table.Timestamp || t.Kind == table.Decimal:
			// A text of the domain that is no such value is a mistake: no row would have it.
			seen := map[int64]string{}
			for _, text := range c.Domain {
				n, ok := t.Parse(text)
				if !ok {
					return false, fmt.Sprintf("it holds %s values, and %q of the domain is none that it can hold (%s)", t.Kind, text, written[t.Kind])
				}
				if other, twice := seen[n]; twice {
					return false, fmt.Sprintf("%q and %q of the domain are the same value", other, text)
				}
				seen[n] = text
			}
		}
	}
	return true, ""
}
