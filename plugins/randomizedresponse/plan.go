package randomizedresponse

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/shuffle"
)

// Mechanism is k-ary randomized response. Its zero value is ready for use.
type Mechanism struct{}

// Describe returns the name, version, parameters and designs of the mechanism.
func (Mechanism) Describe() sdk.Description {
	return sdk.Description{
		Name:      "randomized-response",
		Version:   "1.1.0",
		Summary:   "histogram of locally randomized, optionally shuffled, reports",
		Params:    json.RawMessage(schema),
		Relations: []privacy.Relation{privacy.ReplaceOne},
		Designs:   []string{"full", "srswor", "collected"},
	}
}

// Plan chooses ε0. It sees no data.
func (Mechanism) Plan(req sdk.PlanRequest) (sdk.Plan, error) {
	l, err := newLayout(req)
	if err != nil {
		return sdk.Plan{}, err
	}
	return sdk.Plan{
		Columns: []string{l.column.Name}, Event: l.event(), Output: l.output(), Rows: int64(len(l.column.Domain)), Errors: l.expected(),
	}, nil
}

// layout follows from public facts alone; Release derives it again.
type layout struct {
	params
	column  sdk.Column
	reports int64
	weight  float64 // how many units of the population a report stands for
	local   privacy.RandomizedResponse
	target  privacy.Point
}

func newLayout(req sdk.PlanRequest) (*layout, error) {
	p, err := parseParams(req.Params)
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
	l := &layout{params: p, column: c, reports: req.Public.Design.SampleSize, weight: req.Public.Design.MaxWeight, target: req.Target}
	l.local = privacy.RandomizedResponse{K: len(c.Domain), Eps0: req.Target.Epsilon}
	switch {
	case p.Local != nil:
		err = l.within(*p.Local)
	case p.Shuffle:
		l.local.Eps0, err = l.invert()
	}
	if err != nil {
		return nil, err
	}
	if l.local.Eps0 < minEps0 {
		return nil, fmt.Errorf("guarantee: epsilon must be at least %g for randomized response", minEps0)
	}
	return l, nil
}

// errNoDelta refuses to shuffle for a pure guarantee.
var errNoDelta = errors.New("shuffle: needs a guarantee with a delta; without one a shuffled report is worth no more than a single one")

// shuffled asks the accountant for the cost of the shuffled reports with that ε0 (P8).
func (l *layout) shuffled(eps0 float64) (float64, error) {
	at := privacy.Shuffled{N: l.reports, Event: privacy.RandomizedResponse{K: len(l.column.Domain), Eps0: eps0}}
	a, err := privacy.EpsilonAt(at, privacy.ReplaceOne, l.target.Delta)
	if err != nil {
		return 0, fmt.Errorf("shuffle: %w", err)
	}
	return a.Epsilon, nil
}

// within takes the ε0 that the job gives, if the shuffled reports meet the target.
func (l *layout) within(eps0 float64) error {
	if !(l.target.Delta > 0) {
		return errNoDelta
	}
	cost, err := l.shuffled(eps0)
	if err != nil {
		return err
	}
	if cost > l.target.Epsilon {
		return fmt.Errorf("local_epsilon: %d shuffled reports of %g each cost epsilon %.4g at delta %.4g on the sample, and %.4g is what "+
			"there is; raise guarantee.epsilon, or lower local_epsilon",
			l.reports, eps0, cost, l.target.Delta, l.target.Epsilon)
	}
	l.local.Eps0 = eps0
	return nil
}

// invert is the largest ε0 with which the shuffled reports meet the target (P8): by
// the blanket of k-ary randomized response or by the clones, whichever allows more.
// What is returned was charged by the accountant and found within the target.
func (l *layout) invert() (float64, error) {
	if !(l.target.Delta > 0) {
		return 0, errNoDelta
	}
	k, n := len(l.column.Domain), l.reports
	clones, err := shuffle.LargestLocal(n, l.target.Epsilon, l.target.Delta)
	if err != nil {
		return 0, err
	}
	blanket, err := shuffle.LargestLocalResponse(n, k, l.target.Epsilon, l.target.Delta)
	if err != nil {
		return 0, err
	}
	// The local guarantee holds even if the shuffler does nothing.
	eps0 := math.Max(l.target.Epsilon, math.Max(clones, blanket))
	for step := 1e-7; step < 1; step *= 4 {
		cost, err := l.shuffled(eps0)
		if err != nil {
			return 0, err
		}
		if cost <= l.target.Epsilon {
			return eps0, nil
		}
		eps0 *= 1 - step
	}
	return 0, fmt.Errorf("shuffle: no local epsilon meets the guarantee")
}

func (l *layout) event() privacy.Event {
	if l.Shuffle {
		return privacy.Shuffled{N: l.reports, Event: l.local}
	}
	return l.local
}

// chances are the probabilities that a report names its user's category, and any
// one other; gap is their difference, without cancellation.
func (l *layout) chances() (keep, other, gap float64) {
	inv, k := math.Exp(-l.local.Eps0), float64(l.local.K)
	whole := 1 + (k-1)*inv
	return 1 / whole, inv / whole, -math.Expm1(-l.local.Eps0) / whole
}

// spread is the standard deviation of the debiased count of a category that holds
// count users.
func (l *layout) spread(count float64) float64 {
	keep, other, gap := l.chances()
	rest := float64(l.reports) - count
	// 1 − keep = (k−1)·other.
	return math.Sqrt(count*keep*float64(l.local.K-1)*other+rest*other*(1-other)) / gap
}
