package sgd

import (
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/plugins/features"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// rowBits is the resolution of a scaled feature: coordinates are whole numbers of
// 2^-rowBits.
const rowBits = 18

// encoder turns records into rows. A row depends on its own record and on public facts,
// and on nothing else.
type encoder struct {
	features.Set
	radius   float64 // √(1 + features): rows are divided by it
	target   features.Feature
	positive int32 // the code that is a yes, for a category target
	logistic bool
	steps    float64 // steps of the row lattice in one scaled unit of a feature
	constant float64 // the intercept's coordinate, in steps
}

func newEncoder(p params, pub sdk.Public) (*encoder, error) {
	e := &encoder{logistic: p.Model == "logistic"}
	var err error
	if e.Set, err = features.NewSet(p.Features, p.Log, p.Target, maxWidth, pub); err != nil {
		return nil, err
	}
	if e.target, err = features.New(p.Target, "target", slices.Contains(p.Log, p.Target), pub); err != nil {
		return nil, err
	}
	if err := e.checkTarget(p); err != nil {
		return nil, err
	}
	// A row with the intercept 1, numbers in [-1, 1] and at most one 1 for each
	// category has a norm of at most radius.
	e.radius = math.Sqrt(1 + float64(len(e.Features)))
	e.steps = math.Ldexp(1/e.radius, rowBits)
	e.constant = math.RoundToEven(e.steps)
	return e, nil
}

func (e *encoder) checkTarget(p params) error {
	c := e.target.Column
	switch {
	case !e.logistic && c.Type != sdk.Number:
		return fmt.Errorf("target: %q is not a number; a linear model needs one", c.Name)
	case !e.logistic:
		return nil
	case e.target.Log:
		return fmt.Errorf("log: the target of a logistic model is a yes or no")
	case c.Type == sdk.Number && (c.Lower != 0 || c.Upper != 1):
		return fmt.Errorf("target: %q needs the bounds 0 and 1 for a logistic model", c.Name)
	case c.Type == sdk.Number && p.Positive != nil:
		return fmt.Errorf("positive: %q is a number; 1 is a yes", c.Name)
	case c.Type == sdk.Category && len(c.Domain) != 2:
		return fmt.Errorf("target: %q needs a domain of two values for a logistic model", c.Name)
	}
	e.positive = 1
	if p.Positive != nil {
		switch *p.Positive {
		case c.Domain[0]:
			e.positive = 0
		case c.Domain[1]:
		default:
			return fmt.Errorf("positive: %q is not in the domain of %q", *p.Positive, c.Name)
		}
	}
	return nil
}

// columns are the columns that Release reads: the features, then the target.
func (e *encoder) columns() []string { return append(e.Columns(), e.target.Column.Name) }

// encode writes the rows of a batch, each of the table's stride, to out. A record
// with a missing value becomes the empty row, which moves nothing.
func (e *encoder) encode(b *sdk.Batch, out []float64, stride int, present []bool) {
	for i := range present {
		present[i] = true
	}
	for k := range e.Features {
		f := &e.Features[k]
		if f.Column.Type == sdk.Category {
			for row, code := range b.Codes(k) {
				if code < 0 {
					present[row] = false
				} else if code > 0 {
					out[row*stride+f.First+int(code)-1] = e.constant
				}
			}
			continue
		}
		for row, x := range b.Float64(k) {
			out[row*stride+f.First] = math.RoundToEven(f.Scaled(x) * e.steps)
		}
		absent(b, k, present)
	}
	k := len(e.Features)
	y := e.Width // where the target stands in a row
	if e.target.Column.Type == sdk.Category {
		for row, code := range b.Codes(k) {
			present[row] = present[row] && code >= 0
			if code == e.positive {
				out[row*stride+y] = 1
			}
		}
	} else {
		for row, x := range b.Float64(k) {
			if out[row*stride+y] = math.Max(0, math.Min(1, x)); !e.logistic {
				out[row*stride+y] = e.target.Scaled(x)
			}
		}
		absent(b, k, present)
	}
	for row, ok := range present {
		r := out[row*stride : (row+1)*stride]
		if !ok {
			clear(r)
			continue
		}
		r[y+1] = e.limit(r[:e.Width])
	}
}

func absent(b *sdk.Batch, column int, present []bool) {
	valid := b.Columns[column].Valid
	if valid == nil {
		return
	}
	for row := range present {
		present[row] = present[row] && valid[row>>3]>>(row&7)&1 == 1
	}
}

// limit returns how many times a row fits into the clipping norm: the largest whole m,
// or one less, with m·‖k‖ <= normSteps for the row k with its intercept. The squares are
// whole numbers below 2^53, so their sum is exact. The root and the quotient are off by
// a few parts in 2^53; the factor takes off more than that, so the bound holds exactly.
func (e *encoder) limit(k []float64) float64 {
	squares := e.constant * e.constant
	for _, x := range k {
		squares += x * x
	}
	return math.Floor(normSteps / math.Sqrt(squares) * (1 - 0x1p-50))
}
