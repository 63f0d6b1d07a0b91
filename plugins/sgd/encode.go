package sgd

import (
	"fmt"
	"math"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// rowBits is the resolution of a scaled feature: coordinates are whole numbers of
// 2^-rowBits.
const rowBits = 18

// feature is how one column becomes coordinates of a row. A number takes one,
// scaled by its public bounds to [-1, 1]; a category takes one for every value of
// its domain but the first.
type feature struct {
	column       sdk.Column
	log          bool
	first, width int     // its coordinates
	middle, half float64 // of the bounds, after the logarithm
}

// encoder turns records into rows: what a record becomes depends on that record
// and on public facts alone.
type encoder struct {
	features []feature
	width    int     // coordinates besides the intercept
	radius   float64 // √(1 + features): rows are divided by it
	target   feature
	positive int32 // the code that is a yes, for a category target
	logistic bool
	steps    float64 // steps of the row lattice in one scaled unit of a feature
	constant float64 // the intercept's coordinate, in steps
}

func newEncoder(p params, pub sdk.Public) (*encoder, error) {
	e := &encoder{logistic: p.Model == "logistic"}
	for _, name := range p.Features {
		f, err := newFeature(name, "features", p.logs(name), pub)
		if err != nil {
			return nil, err
		}
		f.first = e.width
		if e.width += f.width; e.width > maxWidth {
			return nil, fmt.Errorf("features: the domains make more than %d coordinates", maxWidth)
		}
		e.features = append(e.features, f)
	}
	var err error
	if e.target, err = newFeature(p.Target, "target", p.logs(p.Target), pub); err != nil {
		return nil, err
	}
	if err := e.checkTarget(p); err != nil {
		return nil, err
	}
	// A row with the intercept 1, numbers in [-1, 1] and at most one 1 for each
	// category has a norm of at most radius.
	e.radius = math.Sqrt(1 + float64(len(e.features)))
	e.steps = math.Ldexp(1/e.radius, rowBits)
	e.constant = math.RoundToEven(e.steps)
	return e, nil
}

func newFeature(name, at string, log bool, pub sdk.Public) (feature, error) {
	c, ok := pub.Column(name)
	f := feature{column: c, log: log, width: 1}
	switch {
	case !ok:
		return f, fmt.Errorf("%s: %q is not declared in dataset.columns", at, name)
	case c.Type == sdk.Category && len(c.Domain) < 2:
		return f, fmt.Errorf("%s: %q needs a public domain of at least two values", at, name)
	case c.Type == sdk.Category && log:
		return f, fmt.Errorf("log: %q is not a number", name)
	case c.Type == sdk.Category:
		f.width = len(c.Domain) - 1
		return f, nil
	case c.Type != sdk.Number || !(c.Lower < c.Upper):
		return f, fmt.Errorf("%s: %q needs lower below upper", at, name)
	case log && !(c.Lower > 0):
		return f, fmt.Errorf("log: %q needs a positive lower bound", name)
	}
	lo, hi := f.transform(c.Lower), f.transform(c.Upper)
	f.half = hi/2 - lo/2
	f.middle = lo + f.half
	if !(f.half > 0) {
		return f, fmt.Errorf("%s: the bounds of %q are too close to each other", at, name)
	}
	return f, nil
}

func (e *encoder) checkTarget(p params) error {
	c := e.target.column
	switch {
	case !e.logistic && c.Type != sdk.Number:
		return fmt.Errorf("target: %q is not a number; a linear model needs one", c.Name)
	case !e.logistic:
		return nil
	case e.target.log:
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

// transform is the logarithm where that is asked for.
func (f *feature) transform(x float64) float64 {
	if f.log {
		return math.Log(x)
	}
	return x
}

// scaled maps a clipped value to [-1, 1], whatever floating point does.
func (f *feature) scaled(x float64) float64 {
	return math.Max(-1, math.Min(1, (f.transform(x)-f.middle)/f.half))
}

// columns are the columns that Release reads: the features, then the target.
func (e *encoder) columns() []string {
	var names []string
	for _, f := range e.features {
		names = append(names, f.column.Name)
	}
	return append(names, e.target.column.Name)
}

// encode writes the rows of a batch, each of the table's stride, to out. A record
// with a missing value becomes the empty row, which moves nothing.
func (e *encoder) encode(b *sdk.Batch, out []float64, stride int, present []bool) {
	for i := range present {
		present[i] = true
	}
	for k := range e.features {
		f := &e.features[k]
		if f.column.Type == sdk.Category {
			for row, code := range b.Codes(k) {
				if code < 0 {
					present[row] = false
				} else if code > 0 {
					out[row*stride+f.first+int(code)-1] = e.constant
				}
			}
			continue
		}
		for row, x := range b.Float64(k) {
			out[row*stride+f.first] = math.RoundToEven(f.scaled(x) * e.steps)
		}
		absent(b, k, present)
	}
	k := len(e.features)
	y := e.width // where the target stands in a row
	if e.target.column.Type == sdk.Category {
		for row, code := range b.Codes(k) {
			present[row] = present[row] && code >= 0
			if code == e.positive {
				out[row*stride+y] = 1
			}
		}
	} else {
		for row, x := range b.Float64(k) {
			if out[row*stride+y] = math.Max(0, math.Min(1, x)); !e.logistic {
				out[row*stride+y] = e.target.scaled(x)
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
		r[y+1] = e.limit(r[:e.width])
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

// limit is the largest multiple of a row that is within the clipping norm: the
// largest whole m, or one less, with m·‖k‖ <= normSteps for the row k with its
// intercept. The squares are whole numbers below 2^53 and their sum is exact; the
// root and the quotient are off by a few parts in 2^53, less than what is taken
// off, so the bound holds exactly.
func (e *encoder) limit(k []float64) float64 {
	squares := e.constant * e.constant
	for _, x := range k {
		squares += x * x
	}
	return math.Floor(normSteps / math.Sqrt(squares) * (1 - 0x1p-50))
}
