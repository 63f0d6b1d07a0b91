package median

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// Mechanism is the median and any other quantile. Its zero value is ready for use.
type Mechanism struct{}

// Describe returns the name, version, parameters and designs of the mechanism.
func (Mechanism) Describe() sdk.Description {
	return sdk.Description{
		Name:      "median",
		Version:   "1.2.0",
		Summary:   "median or any quantiles of a numeric column",
		Params:    json.RawMessage(schema),
		Relations: []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne},
		Designs:   sdk.EveryDesign(),
	}
}

// Plan chooses the method and spends the budget. It sees no data.
func (Mechanism) Plan(req sdk.PlanRequest) (sdk.Plan, error) {
	l, err := newLayout(req)
	if err != nil {
		return sdk.Plan{}, err
	}
	return sdk.Plan{
		Columns: []string{l.column.Name}, Event: l.event(), Output: l.output(), Rows: int64(len(l.ranks)), Errors: l.expected(),
	}, nil
}

// layout is everything a release needs to know; it follows from public facts
// alone, so Release derives it again instead of trusting a copy.
type layout struct {
	params
	ranks     []rank
	column    sdk.Column
	design    sdk.Design
	under     []privacy.Relation
	share     privacy.Point // what one quantile may spend
	smoothing smoothing     // smooth-laplace only
	step      float64       // the lattice of smooth-laplace, a power of two
	grid      grid          // exponential only
}

func newLayout(req sdk.PlanRequest) (*layout, error) {
	p, ranks, err := parseParams(req.Params)
	if err != nil {
		return nil, err
	}
	c, err := p.resolve(req.Public)
	if err != nil {
		return nil, err
	}
	if !(req.Target.Epsilon > 0) || math.IsInf(req.Target.Epsilon, 0) {
		return nil, fmt.Errorf("guarantee: epsilon must be positive, and large enough to be told from 0")
	}
	l := &layout{params: p, ranks: ranks, column: c, design: req.Public.Design, under: req.Public.SampleRelations}
	l.share = privacy.Point{Epsilon: part(req.Target.Epsilon, len(ranks)), Delta: part(req.Target.Delta, len(ranks))}
	if l.Method == smoothLaplace {
		return l, l.planSmooth()
	}
	return l, l.planExponential(req.Target)
}

// part is the nth part of x, rounded so that n of them add up to no more (P17).
func part(x float64, n int) float64 {
	y := x / float64(n)
	if math.FMA(y, float64(n), -x) > 0 {
		y = math.Nextafter(y, 0)
	}
	return y
}

func (l *layout) planSmooth() error {
	if !l.design.EqualWeights {
		return fmt.Errorf("method: smooth-laplace is not offered for records of unequal weight: one record of weight w moves the quantile " +
			"past as many others as w holds of theirs, and no smooth bound for that is proven here; use method: exponential")
	}
	var err error
	if l.smoothing, err = l.calibrate(l.share.Epsilon, l.share.Delta); err != nil {
		return err
	}
	// 2^40 to 2^41 steps over the range: public, and far below any noise that
	// matters.
	_, e := math.Frexp(l.column.Upper - l.column.Lower)
	l.step = math.Ldexp(1, e-41)
	return nil
}

func (l *layout) planExponential(target privacy.Point) error {
	weight := 1.0
	if !l.design.EqualWeights {
		weight = l.design.MaxWeight
		if !(weight >= 1) || math.IsInf(weight, 0) {
			return fmt.Errorf("the design's largest weight is not known")
		}
	}
	l.grid = newGrid(l.column, l.Points, weight)
	return l.composeSelections(target)
}

// composeSelections raises the ε of each of several selections to what they may have
// where their compositions, as bounded-range events, cost no more than the target (P28).
// Without a delta they cannot have more than equal parts of ε.
func (l *layout) composeSelections(target privacy.Point) error {
	if len(l.ranks) == 1 || target.Delta == 0 {
		return nil
	}
	least, most := l.share.Epsilon, target.Epsilon
	for _, rel := range l.under {
		x, _, err := privacy.Calibrate(l.selections, rel, target, least, most)
		if err != nil {
			return err
		}
		most = x // what a second relation allows is looked for below this
	}
	l.share.Epsilon = most
	return nil
}

// selection is the event of drawing one quantile at ε. Where a row may both be replaced and come or
// go, as in a group, one that comes moves the scores by less.
func (l *layout) selection(epsilon float64) privacy.BoundedRange {
	e := privacy.BoundedRange{Eps: epsilon}
	if slices.Contains(l.under, privacy.AddRemove) && slices.Contains(l.under, privacy.ReplaceOne) {
		for _, r := range l.ranks {
			come := epsilon / 2 // exact
			if 2*r.num != r.den {
				come = math.Min(epsilon, epsilon*float64(max(r.num, r.den-r.num))/float64(r.den)*(1+0x1p-50))
			}
			e.Come = math.Max(e.Come, come)
		}
	}
	return e
}

// selections is the event of drawing every quantile at ε.
func (l *layout) selections(epsilon float64) privacy.Event {
	one := l.selection(epsilon)
	if len(l.ranks) == 1 {
		return one
	}
	return privacy.Repeat{N: int64(len(l.ranks)), Event: one}
}

func (l *layout) event() privacy.Event {
	if l.Method == exponential {
		return l.selections(l.share.Epsilon)
	}
	one := privacy.Event(privacy.Approx{Eps: l.share.Epsilon, Delta: l.share.Delta})
	if len(l.ranks) == 1 {
		return one
	}
	all := make([]privacy.Event, len(l.ranks))
	for i := range all {
		all[i] = one
	}
	return privacy.Compose{Events: all}
}
