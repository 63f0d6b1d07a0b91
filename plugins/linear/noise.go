package linear

import (
	"errors"
	"fmt"
	"math"
	"math/big"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// The kinds of noise that a job may ask for.
const (
	Auto     = "auto" // whichever is smaller
	Laplace  = "laplace"
	Gaussian = "gaussian"
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
}

// noiseOf is the noise of an event.
func noiseOf(e privacy.Event) Noise {
	switch e := e.(type) {
	case privacy.DiscreteLaplace:
		return Noise{Event: e, SD: math.Sqrt2 * math.Exp(-0.5/e.Scale) / -math.Expm1(-1/e.Scale)}
	case privacy.DiscreteGaussian:
		return Noise{Event: e, SD: e.Sigma}
	}
	return Noise{}
}

// left returns what is left of noises in sums that are divided by how many rows each row counts as. Rounding the quotient
// adds about the variance of a uniform error of one step.
func left(noises []Noise, each int64) []Noise {
	if each > 1 {
		for i, n := range noises {
			by := float64(each)
			noises[i] = Noise{Event: n.Event, SD: math.Sqrt(n.SD*n.SD/(by*by) + 1./12), each: by}
		}
	}
	return noises
}

func (n Noise) isLaplace() bool {
	_, ok := n.Event.(privacy.DiscreteLaplace)
	return ok
}

// Tail is the smallest whole number that the magnitude of the noise exceeds with at most the given
// probability. For discrete Laplace noise, P(|X| > t) = 2e^{−(t+1)/b}/(1 + e^{−1/b}).
func (n Noise) Tail(probability float64) float64 {
	if n.each > 1 { // the rounding adds at most half a step
		whole := n
		whole.each = 0
		return math.Ceil(whole.Tail(probability)/n.each + 0.5)
	}
	switch e := n.Event.(type) {
	case privacy.DiscreteLaplace:
		return math.Max(0, math.Ceil(e.Scale*math.Log(2/probability/(1+math.Exp(-1/e.Scale)))-1))
	case privacy.DiscreteGaussian:
		return math.Ceil(math.Sqrt2*math.Erfinv(1-probability)*e.Sigma - 0.5)
	}
	return math.Inf(1)
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

// Lucky returns a margin for noise of the standard deviation sd that may have lifted a number that it does not hide. A
// value that is divided by the number is shown in those draws alone in which the noise does not hide it: in a cell of
// few rows, where it lifted the number. So an interval that should hold among the values that are shown has the margin
// Lucky: the number itself little above what the noise hides, which leaves nothing to say, then a fixed one, and less
// where the noise is less likely to have reached so far.
func (n Noise) Lucky(x, sd float64) float64 {
	if n.isLaplace() {
		return luckyMargins.laplace.of(n, x, sd)
	}
	return luckyMargins.gaussian.of(n, x, sd) // its tail is shorter
}

// luckier is Lucky for an equation of squares, in which noise of both signs meets.
func (n Noise) luckier(x, sd float64) float64 {
	if n.isLaplace() {
		return luckyMargins.squares.of(n, x, sd)
	}
	return n.Lucky(x, sd)
}

// luckyMargin is a margin by how far a number lies above what its noise hides, in standard deviations: everything up to all, then
// most, and less from reach − most on.
type luckyMargin struct{ all, most, reach float64 }

func (m luckyMargin) of(n Noise, x, sd float64) float64 {
	above := x - n.hidden(sd)
	if above < m.all*sd {
		return x + sd
	}
	return math.Min(m.most*sd, math.Max(0, m.reach*sd-above))
}

// luckyMargins are those of Laplace noise, also in an equation of squares, and of Gaussian noise. With them values that are shown in one
// draw of a hundred or more hold about as often as others (TestValuesShownByLuck).
var luckyMargins = struct{ laplace, squares, gaussian luckyMargin }{
	laplace: luckyMargin{1, 3.5, 5.5}, squares: luckyMargin{2, 3.5, 7}, gaussian: luckyMargin{0, 1.5, 2.5},
}

// claim is the sensitivity that a query declares.
type claim struct {
	l1, l2      privacy.Sensitivity
	coordinates int64
}

func (c claim) gaussian(sigma float64) privacy.DiscreteGaussian {
	return privacy.DiscreteGaussian{Sigma: sigma, Sensitivity: c.l2, Coordinates: c.coordinates}
}

func compose(events []privacy.Event) privacy.Event {
	if len(events) == 1 {
		return events[0]
	}
	return privacy.Compose{Events: events}
}

// laplace is Laplace noise for all queries, each with its share of epsilon.
func laplace(claims []claim, under []privacy.Relation, epsilon float64) (privacy.Event, error) {
	events := make([]privacy.Event, len(claims))
	for i, c := range claims {
		scale, err := sdk.LaplaceScale(sdk.Largest(c.l1, under), epsilon/float64(len(claims)))
		if err != nil {
			return nil, err
		}
		events[i] = privacy.DiscreteLaplace{Scale: scale, Sensitivity: c.l1}
	}
	return compose(events), nil
}

// gaussian is Gaussian noise for all queries: the smallest multiple of their sensitivities, the
// same for each, that meets the target.
func gaussian(claims []claim, under []privacy.Relation, target privacy.Point) (privacy.Event, error) {
	event := func(x float64) privacy.Event {
		events := make([]privacy.Event, len(claims))
		for i, c := range claims {
			events[i] = c.gaussian(math.Ceil(x*sdk.Largest(c.l2, under)*1024) / 1024)
		}
		return compose(events)
	}
	x, err := sdk.GaussianMultiplier(event, under, target)
	if err != nil {
		return nil, fmt.Errorf("noise: %w", err)
	}
	return event(x), nil
}

// worth is the ratio of L1 to L2 sensitivity from which Gaussian noise is tried. Below it Laplace
// noise is smaller for every δ that people use, and calibrating Gaussian noise takes longer than
// the rest of a plan.
const worth = 1.5

// choose returns noise of the given kind, or the smaller one for Auto.
func choose(kind string, claims []claim, req sdk.PlanRequest) (privacy.Event, error) {
	under := req.Public.SampleRelations
	if kind == Gaussian {
		return gaussian(claims, under, req.Target)
	}
	l, err := laplace(claims, under, req.Target.Epsilon)
	if err != nil || kind == Laplace || !(req.Target.Delta > 0) {
		return l, err
	}
	if req.InRho {
		if g, err := gaussian(claims, under, req.Target); err == nil && lessAtRho(claims, l, under) {
			return g, nil
		}
		return l, nil
	}
	gain := float64(len(claims)) // several queries add up in L1, and in squares in L2
	if c := claims[0]; sdk.Largest(c.l1, under)*math.Sqrt(gain) < worth*sdk.Largest(c.l2, under) {
		return l, nil
	}
	g, err := gaussian(claims, under, req.Target)
	if err != nil || noisesOf(g)[0].SD >= noisesOf(l)[0].SD {
		return l, nil
	}
	return g, nil
}

// lessAtRho reports whether Gaussian noise of the same ρ as that of Laplace noise is smaller.
func lessAtRho(claims []claim, laplace privacy.Event, under []privacy.Relation) bool {
	for _, rel := range under {
		f, err := privacy.NewZCDPFilter(rel, new(big.Rat))
		if err != nil {
			return false
		}
		cost, err := f.Cost(laplace)
		if err != nil {
			return false
		}
		rho, _ := cost[0].Float64()
		// Each query costs L2²/2σ².
		if sdk.Largest(claims[0].l2, under)*math.Sqrt(float64(len(claims))/(2*rho)) >= noisesOf(laplace)[0].SD {
			return false
		}
	}
	return true
}

// noisesOf lists the noises of the queries of an event.
func noisesOf(e privacy.Event) []Noise {
	events := []privacy.Event{e}
	if all, ok := e.(privacy.Compose); ok {
		events = all.Events
	}
	out := make([]Noise, len(events))
	for i, e := range events {
		out[i] = noiseOf(e)
	}
	return out
}

var errOtherPlan = errors.New("the plan is not one of this mechanism's")

// planned reads the noises of a plan, which must have been made from the same request.
func planned(e privacy.Event, claims []claim) ([]Noise, error) {
	noises := noisesOf(e)
	if len(noises) != len(claims) {
		return nil, errOtherPlan
	}
	for i, n := range noises {
		var own privacy.Event
		switch e := n.Event.(type) {
		case privacy.DiscreteLaplace:
			own = privacy.DiscreteLaplace{Scale: e.Scale, Sensitivity: claims[i].l1}
		case privacy.DiscreteGaussian:
			own = claims[i].gaussian(e.Sigma)
		}
		if own == nil || own != n.Event {
			return nil, errOtherPlan
		}
	}
	return noises, nil
}

// Noises are the noises of the queries of a plan.
func Noises(plan sdk.Plan) []Noise { return noisesOf(plan.Event) }
