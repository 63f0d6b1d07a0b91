package run

import (
	"math"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/rows"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy/rational"
)

// Failures after the first row: fixed texts, and the key of a column, which stands in
// the job. Nothing of the data (P20). They go to the terminal and the private ledger.

func errMissing(at string) *failure.Failure {
	return dataFailure("DATA_MISSING", at, "is declared without missing values and holds one; say missing: drop or missing: {impute: VALUE}")
}

func errOutside(at string) *failure.Failure {
	return dataFailure("DATA_OUTSIDE", at, "holds a value outside its declared domain; say outside: drop or outside: {impute: VALUE}")
}

func errType(at string) *failure.Failure {
	return dataFailure("DATA_TYPE", at, "cannot be read as its declared type")
}

func dataFailure(code, at, what string) *failure.Failure {
	return failure.New(failure.ExitSource, code, "%s: %s"+failure.SpentOnly, at, what)
}

// Preparer turns a column of the table into what the job declares it to be.
// Nothing is decided silently: every null, NaN and foreign category follows the
// column's rules.
type Preparer struct {
	Column       job.Column
	at           string // its key in the job
	Lower, Upper float64
	impute       float64
	unit         float64 // the bound by which the numbers are divided, 0 where they are not
	texts        map[string]int32
	numbers      map[int64]int32 // made of the domain when the kind of the column's values is known
	missingCode  int32
	outsideCode  int32
	out          sdk.Values
	facts        columnFacts // private (P19)

	dictID   uint64  // the dictionary that mapped belongs to
	mapped   []int32 // its entries as codes
	floatBuf []float64
	codeBuf  []int32
	validBuf []byte
}

// refused marks a code that must not occur, foreign a text outside the domain.
const (
	refused = -2
	foreign = -3
)

// NewPreparer makes the preparer of a declared column.
func NewPreparer(c job.Column) *Preparer {
	p := &Preparer{Column: c, at: job.Key("dataset.columns", c.Name)}
	if c.Type == job.Number && c.Lower == nil { // only folds and expressions read it
		return p
	}
	if c.Type == job.Number {
		// Inward, so that no value beyond the exact bound passes.
		p.Lower, p.Upper = rational.Up(c.Lower), rational.Down(c.Upper)
		if c.Missing.Rule == job.Impute {
			p.impute = math.Min(math.Max(rational.Down(c.Missing.Number), p.Lower), p.Upper)
		}
		return p
	}
	p.texts = make(map[string]int32, len(c.Domain))
	for i, v := range c.Domain {
		p.texts[v] = int32(i)
	}
	p.missingCode, p.outsideCode = p.code(c.Missing), p.code(c.Outside)
	return p
}

// code is the code of a missing or foreign category.
func (p *Preparer) code(h job.Handling) int32 {
	switch h.Rule {
	case job.Drop:
		return -1
	case job.Impute:
		return p.texts[h.Text]
	}
	return refused
}

// Prepare converts one batch to what a mechanism sees: clipped numbers, or codes into the
// public domain. The result is valid until the next call and may reuse the slices of v.
func (p *Preparer) Prepare(v table.Values, rows int) (sdk.Values, error) {
	var err error
	if p.Column.Type == job.Number {
		err = p.number(v, rows)
	} else {
		err = p.category(v, rows)
	}
	return p.out, err
}

func (p *Preparer) number(v table.Values, rows int) error {
	floats, err := p.AsFloats(v, rows)
	if err != nil {
		return err
	}
	nans := p.clip(floats, v.Valid)
	p.out = sdk.Values{Float64: floats}
	if nans || v.Valid != nil {
		err = p.missing(floats, v.Valid)
	}
	if p.unit > 0 {
		p.out.Float64 = p.floats(rows) // of its own: nothing is divided twice
		for i, x := range floats {
			p.out.Float64[i] = x / p.unit // at most the bound, so at most 1
		}
	}
	return err
}

// over has the numbers clipped to a bound that was found, and divided by it.
func (p *Preparer) over(bound float64) {
	p.unit = bound
	p.Lower, p.Upper = math.Max(p.Lower, -bound), math.Min(p.Upper, bound)
	p.impute = math.Min(math.Max(p.impute, p.Lower), p.Upper)
}

// clip moves every value into the bounds, ±Inf included, and reports whether it met a NaN.
func (p *Preparer) clip(x []float64, valid []byte) bool {
	nans := false
	for i := range rows.Outside(x, p.Lower, p.Upper) {
		if math.IsNaN(x[i]) {
			nans = true
			continue
		}
		x[i] = math.Min(math.Max(x[i], p.Lower), p.Upper)
		if valid == nil || valid[i>>3]>>(i&7)&1 == 1 {
			p.facts.Clipped++
		}
	}
	return nans
}

// missing applies the column's rule to nulls and NaN.
func (p *Preparer) missing(x []float64, valid []byte) error {
	bitmap := p.bitmap(len(x))
	dropped := false
	for i, f := range x {
		if (valid == nil || valid[i>>3]>>(i&7)&1 == 1) && f == f {
			bitmap[i>>3] |= 1 << (i & 7)
			continue
		}
		p.facts.Missing++
		switch p.Column.Missing.Rule {
		case job.Impute:
			x[i] = p.impute
			bitmap[i>>3] |= 1 << (i & 7)
		case job.Drop:
			x[i] = p.Lower // never used, and finite
			dropped = true
		default:
			return errMissing(p.at)
		}
	}
	if dropped {
		p.out.Valid = bitmap
	}
	return nil
}

func (p *Preparer) bitmap(rows int) []byte {
	n := (rows + 7) / 8
	if cap(p.validBuf) < n {
		p.validBuf = make([]byte, n)
	}
	b := p.validBuf[:n]
	clear(b)
	return b
}
