package regression

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/plugins/features"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// Mechanism is linear regression from noisy sums. Its zero value is ready for use.
type Mechanism struct{}

// Describe returns the name, version, parameters and designs of the mechanism.
func (Mechanism) Describe() sdk.Description {
	return sdk.Description{
		Name:      "regression",
		Version:   "1.0.0",
		Summary:   "linear regression by least squares, in one pass, with standard errors",
		Params:    json.RawMessage(schema),
		Relations: []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne},
		Designs:   sdk.EveryDesign(),
		Linear:    true,
	}
}

// Plan chooses the noise. It sees no data.
func (Mechanism) Plan(req sdk.PlanRequest) (sdk.Plan, error) {
	l, err := newLayout(req)
	if err != nil {
		return sdk.Plan{}, err
	}
	if l.event, err = l.calibrate(req); err != nil {
		return sdk.Plan{}, err
	}
	return sdk.Plan{
		Columns: l.columns(), Event: l.event, Output: output, Rows: int64(len(l.set.Names()) + 1 + len(facts)), Errors: l.expected(),
	}, nil
}

// layout is everything that a release needs to know. It follows from public facts, so
// Release derives it again. Only the noise is taken from the plan.
type layout struct {
	params params
	public sdk.Public
	set    features.Set
	target features.Feature
	weight float64 // the largest design weight, 1 where all are equal
	rows   float64 // the number of rows where it is public and every row counts, else 0
	sums   sums
	event  privacy.Event
}

func newLayout(req sdk.PlanRequest) (*layout, error) {
	p, err := parseParams(req.Params)
	if err != nil {
		return nil, err
	}
	l := &layout{params: p, public: req.Public, weight: 1}
	if l.set, err = features.NewSet(p.Features, p.Log, p.Target, maxWidth, req.Public); err != nil {
		return nil, err
	}
	if l.target, err = features.New(p.Target, "target", slices.Contains(p.Log, p.Target), req.Public); err != nil {
		return nil, err
	}
	if l.target.Column.Type != sdk.Number {
		return nil, fmt.Errorf("target: %q is not a number; for a yes or no use mechanism sgd with model: logistic", p.Target)
	}
	d := req.Public.Design
	if !d.EqualWeights {
		if l.weight = d.MaxWeight; !(l.weight >= 1) || math.IsInf(l.weight, 0) {
			return nil, fmt.Errorf("the largest weight of the design is not known")
		}
	} else if d.SampleSize > 0 && !l.drops() {
		l.rows = float64(d.SampleSize)
	}
	l.sums = newSums(l.set, l.rows > 0)
	return l, nil
}

// drops reports whether a row may lack a value that the model needs.
func (l *layout) drops() bool {
	return slices.ContainsFunc(l.columns(), func(name string) bool {
		c, _ := l.public.Column(name)
		return c.Missing == sdk.MissingDrop
	})
}

// columns are the columns that Release reads, the target last.
func (l *layout) columns() []string { return append(l.set.Columns(), l.target.Column.Name) }

// calibrate finds the smallest noise that meets the target.
func (l *layout) calibrate(req sdk.PlanRequest) (privacy.Event, error) {
	l1, l2 := l.sums.sensitivity()
	under := req.Public.SampleRelations
	if l.params.Noise == "laplace" {
		scale, err := sdk.LaplaceScale(sdk.Largest(l1, under), req.Target.Epsilon)
		if err == nil && scale > mostNoise {
			err = errHidden
		}
		return privacy.DiscreteLaplace{Scale: scale, Sensitivity: l1}, err
	}
	event := func(x float64) privacy.Event {
		return privacy.DiscreteGaussian{Sigma: math.Ceil(x * sdk.Largest(l2, under)), Sensitivity: l2, Coordinates: int64(l.sums.n)}
	}
	x, err := sdk.GaussianMultiplier(event, under, req.Target)
	if err != nil {
		return nil, fmt.Errorf("noise: %w", err)
	}
	if x*sdk.Largest(l2, under) > mostNoise {
		return nil, errHidden
	}
	return event(x), nil
}

// mostNoise is the largest scale that a host draws, in lattice steps: a million times
// what one row adds.
const mostNoise = 1 << 50

var errHidden = errors.New("noise: the guarantee needs noise of a million rows and more in every sum; allow a larger epsilon or delta")

var errOtherPlan = errors.New("the plan is not one of this mechanism's")

// planned takes the noise from a plan that was made from the same request.
func (l *layout) planned(e privacy.Event) error {
	l1, l2 := l.sums.sensitivity()
	switch ev := e.(type) {
	case privacy.DiscreteLaplace:
		if l.params.Noise != "laplace" || ev.Sensitivity != l1 {
			return errOtherPlan
		}
	case privacy.DiscreteGaussian:
		if l.params.Noise != "gaussian" || ev.Sensitivity != l2 || ev.Coordinates != int64(l.sums.n) {
			return errOtherPlan
		}
	default:
		return errOtherPlan
	}
	l.event = e
	return nil
}

// noise is the standard deviation of the noise in each sum, in units of one product.
func (l *layout) noise() float64 {
	if ev, ok := l.event.(privacy.DiscreteLaplace); ok {
		return math.Sqrt2 * ev.Scale / steps
	}
	return l.event.(privacy.DiscreteGaussian).Sigma / steps
}
