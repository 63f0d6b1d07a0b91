package planned

import (
	"errors"
	"math"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/samplers"
)

// Weigher makes the weight of a row of the sample from the survey's weight: clipped, shrunk,
// rounded to a public step, and times what the draw's own weights leave out.
//
// # Contract
//
// Of depends on the row's own weight and public facts alone, grows with it, and lies between
// Least and Most for every number, so a mechanism that keeps to its sensitivities for all
// weights between these bounds keeps to them for the weights of a survey (P29). Proof:
// weights.proof.md.
type Weigher struct {
	Column      job.Column // the weights, clipped to their public bounds
	Least, Most float64    // of what Of makes
	Step        float64    // what weights are rounded to
	// Alone says that the weights that the sampler gives rows are left out: they are those of the
	// collection, and the survey's weights hold them already.
	Alone bool

	low, high, to, keep float64
	times               float64 // the weight that the draw gives every row
}

// weightSteps is the least number of steps between 0 and the largest weight.
const weightSteps = 1 << 24

// NewWeigher is the weigher of a release of a draw, nil where it has no weights.
func NewWeigher(j *job.Job, design samplers.Design, r *job.Release) (*Weigher, error) {
	w := j.Dataset.WeightsOf(r)
	if w == nil {
		return nil, nil
	}
	g := &Weigher{Column: w.Of(&j.Dataset), low: 1, high: rational.Down(w.AtMost), keep: 1, times: 1}
	if w.Shrink != nil {
		g.to, _ = w.Shrink.To.Float64()
		g.keep, _ = w.Shrink.Keep.Float64()
	}
	if table, ok := design.(*samplers.Gathered); ok {
		design, g.Alone = table.Draw(), true
	}
	if f := design.Facts(); f.EqualWeights {
		if g.times = f.MaxWeight; !(g.times >= 1) || math.IsInf(g.times, 0) {
			return nil, errors.New("weights: a sample of fixed size from a table of secret size has no known weight of its own; " +
				"release from the table, or draw by poisson")
		}
	}
	g.Step = math.Exp2(math.Ceil(math.Log2(max(g.high, g.to) / weightSteps)))
	g.Least, g.Most = g.Of(g.low), g.Of(g.high)
	return g, nil
}

// Of is the weight that a mechanism sees.
func (g *Weigher) Of(w float64) float64 {
	w = min(max(w, g.low), g.high)
	if g.keep < 1 {
		w = g.to + g.keep*(w-g.to)
	}
	return math.Round(w/g.Step) * g.Step * g.times
}

// Bounds are the smallest and the largest weight before the draw's own weights.
func (g *Weigher) Bounds() (low, high float64) { return g.Least / g.times, g.Most / g.times }
