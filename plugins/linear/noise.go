package linear

import (
	"errors"
	"fmt"
	"math"

	"github.com/dprelease/dprelease/internal/noise/tails"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// The kinds of noise that a job may ask for.
const (
	Auto     = "auto" // whichever is smaller
	Laplace  = sdk.LaplaceNoise
	Gaussian = sdk.GaussianNoise
)

// NoiseOf reads the parameter "noise".
func NoiseOf(word, otherwise string) (string, error) {
	switch word {
	case "":
		return otherwise, nil
	case Auto, Laplace, Gaussian:
		return word, nil
	}
	return "", fmt.Errorf("noise: must be auto, laplace or gaussian")
}

// Usual returns the noise of a count or a mean for which the job names none: Laplace, except for a
// guarantee in ρ, where Laplace noise is mostly the larger one.
func Usual(req sdk.PlanRequest) string {
	if req.InRho {
		return Auto
	}
	return Laplace
}

// Noise is the noise that is added to each number of a query.
type Noise struct {
	Event privacy.Event
	// SD is its standard deviation, in lattice steps.
	SD float64
	// each is the number of rows that each row counted as when the event's noise was added; 0 stands for 1. SD is that of the
	// noise that is left after the division.
	each float64
	law  *tails.Law // of the event's noise
}

// noiseOf is the noise of an event.
func noiseOf(e privacy.Event) Noise {
	n := Noise{Event: e, SD: sdk.NoiseDeviation(e)}
	switch e := e.(type) {
	case privacy.DiscreteLaplace:
		n.law = tails.Laplace(e.Scale)
	case privacy.DiscreteGaussian:
		n.law = tails.Gaussian(e.Sigma)
	}
	return n
}

// left returns what is left of noises in sums that are divided by how many rows each row counts as. Rounding the quotient
// adds about the variance of a uniform error of one step.
func left(noises []Noise, each int64) []Noise {
	if each > 1 {
		for i, n := range noises {
			by := float64(each)
			n.SD, n.each = math.Sqrt(n.SD*n.SD/(by*by)+1./12), by
			noises[i] = n
		}
	}
	return noises
}

func (n Noise) isLaplace() bool {
	_, ok := n.Event.(privacy.DiscreteLaplace)
	return ok
}

// Tail is the smallest whole number that the magnitude of the noise exceeds with at most the given
// probability.
func (n Noise) Tail(probability float64) float64 {
	if n.each > 1 { // the rounding adds at most half a step
		whole := n
		whole.each = 0
		return math.Ceil(whole.Tail(probability)/n.each + 0.5)
	}
	return sdk.NoiseTail(n.Event, probability)
}

// hiding is the share of cases in which noise alone exceeds what it is taken to hide.
const hiding = 0.02

// Hides reports whether a number may be 0 as far as its noise shows: it is no larger than noise of
// the standard deviation sd in 98 of 100 cases. A sum of several Laplace variables has lighter tails
// than the one that is taken here.
func (n Noise) Hides(x, sd float64) bool { return !(x > n.hidden(sd)) }

// hidden is the largest number that noise of the standard deviation sd hides.
func (n Noise) hidden(sd float64) float64 {
	if n.SD == 0 {
		return 0
	}
	return sd / n.SD * n.Tail(hiding)
}

// lucky returns a margin for noise of the standard deviation sd that may have lifted a number that it does not hide. A
// value that is divided by the number is shown in those draws alone in which the noise does not hide it: in a cell of
// few rows, where it lifted the number. So an interval that should hold among the values that are shown has such a margin:
// the number itself little above what the noise hides, which leaves nothing to say, then a fixed one, and less
// where the noise is less likely to have reached so far. Where suppress hides more than the noise does (Shown rows, of which the number
// has per in a unit), it is a fixed one from there on: a number that noise lifted from far below is hardly ever shown. Squares says that
// noise of both signs meets in an equation.
func (iv *Interval) lucky(n Noise, x, sd, per float64, squares bool) float64 {
	m, hidden := luckyMargins.gaussian, n.hidden(sd) // its tail is shorter
	switch {
	case n.isLaplace() && squares:
		m = luckyMargins.squares
	case n.isLaplace():
		m = luckyMargins.laplace
	}
	if shown := iv.Shown / per; shown > hidden {
		m.all, hidden = 0, shown
	}
	if x-hidden < m.all*sd {
		return x + sd
	}
	return math.Min(m.most*sd, math.Max(0, m.reach*sd-(x-hidden)))
}

// luckyMargin is a margin by how far a number lies above what its noise hides, in standard deviations: everything up to all, then
// most, and less from reach − most on.
type luckyMargin struct{ all, most, reach float64 }

// luckyMargins are those of Laplace noise, also in an equation of squares, and of Gaussian noise. With them values that are shown in one
// draw of a hundred or more hold about as often as others (TestValuesShownByLuck).
var luckyMargins = struct{ laplace, squares, gaussian luckyMargin }{
	laplace: luckyMargin{1, 3.5, 5.5}, squares: luckyMargin{2, 3.5, 7}, gaussian: luckyMargin{0, 1.5, 2.5},
}

// noisesOf lists the noises of the queries of an event.
func noisesOf(e privacy.Event) []Noise {
	var out []Noise
	for _, e := range sdk.NoisesOf(e) {
		out = append(out, noiseOf(e))
	}
	return out
}

var errOtherPlan = errors.New("the plan is not one of this mechanism's")

// planned reads the noises of a plan, which must have been made from the same request.
func planned(e privacy.Event, claims []sdk.Claim) ([]Noise, error) {
	if !sdk.Chosen(e, claims) {
		return nil, errOtherPlan
	}
	return noisesOf(e), nil
}

// Noises are the noises of the queries of a plan.
func Noises(plan sdk.Plan) []Noise { return noisesOf(plan.Event) }
