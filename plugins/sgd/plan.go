package sgd

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// Mechanism is regression by noisy gradient descent. Its zero value is ready for
// use.
type Mechanism struct{}

// Describe returns the name, version, parameters and designs of the mechanism.
func (Mechanism) Describe() sdk.Description {
	return sdk.Description{
		Name:      "sgd",
		Version:   "1.1.0",
		Summary:   "linear and logistic regression by noisy gradient descent on poisson batches",
		Params:    json.RawMessage(schema),
		Relations: []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne},
		Designs:   []string{"full"},
	}
}

// Plan chooses the noise and the step. It sees no data.
func (Mechanism) Plan(req sdk.PlanRequest) (sdk.Plan, error) {
	l, err := newLayout(req)
	if err != nil {
		return sdk.Plan{}, err
	}
	if err := l.calibrate(req); err != nil {
		return sdk.Plan{}, err
	}
	l.pace = l.newPace(l.gradientNoise())
	return sdk.Plan{
		Columns: l.encoder.columns(), Event: l.event(), Output: output, Rows: int64(len(l.encoder.Names()) + len(l.facts()) + l.verdicts()),
		Errors: l.expected(),
	}, nil
}

// layout is everything that a release needs to know. It follows from public facts, so
// Release derives it again. Only the noise is taken from the plan.
type layout struct {
	params   params
	encoder  *encoder
	schedule schedule
	clip     float64
	noise    privacy.DiscreteGaussian // of one step
	iterate  privacy.LastIterate      // where only the last iterate is paid for
	pace     pace
}

var errOtherPlan = errors.New("the plan is not one of this mechanism's")

// planned takes the noise from a plan that was made from the same request.
func (l *layout) planned(e privacy.Event) error {
	if last, ok := e.(privacy.LastIterate); ok && l.params.last() {
		if l.iterate = l.bound(last.Sigma); l.iterate != last {
			return errOtherPlan
		}
		l.noise = last.Step()
	} else {
		r, ok := e.(privacy.Repeat)
		if !ok || l.params.last() {
			return errOtherPlan
		}
		inner := r.Event
		if p, ok := inner.(privacy.Poisson); ok {
			inner = p.Event
		}
		if l.noise, ok = inner.(privacy.DiscreteGaussian); !ok || !reflect.DeepEqual(l.event(), e) || l.noise != l.gaussian(l.multiplier()) {
			return errOtherPlan
		}
	}
	l.pace = l.newPace(l.gradientNoise())
	return nil
}

// maxMultiplier is the largest noise multiplier that a plan accepts. No model survives
// more, and the host can draw this much without overflowing an int64.
const maxMultiplier = 1 << 15

func newLayout(req sdk.PlanRequest) (*layout, error) {
	p, err := parseParams(req.Params)
	if err != nil {
		return nil, err
	}
	if req.Public.Design.Kind != "full" {
		return nil, fmt.Errorf("sgd draws batches of its own, each step a fresh one, and is accounted for on the whole table: use from: all")
	}
	l := &layout{params: p}
	if l.encoder, err = newEncoder(p, req.Public); err != nil {
		return nil, err
	}
	if l.schedule, err = p.schedule(req.Public); err != nil {
		return nil, err
	}
	l.clip = 0.5
	if p.Model == "logistic" {
		l.clip = 1
	}
	if p.Clip != nil {
		l.clip = *p.Clip
	}
	if p.last() {
		return l, l.prepareLast(req)
	}
	if p.open {
		l.chooseSteps(req)
	}
	return l, nil
}

// calibrate finds the smallest noise with which all steps together meet the target.
func (l *layout) calibrate(req sdk.PlanRequest) error {
	if l.params.last() {
		return l.calibrateLast(req)
	}
	multiplier, err := sdk.GaussianMultiplier(func(x float64) privacy.Event {
		probe := *l
		probe.noise = probe.gaussian(x)
		return probe.event()
	}, req.Public.SampleRelations, req.Target)
	if err != nil {
		return fmt.Errorf("noise: %w", err)
	}
	if multiplier > maxMultiplier {
		return fmt.Errorf("noise: %.3g times the clipping norm in every step; ask for fewer steps or a larger guarantee", multiplier)
	}
	l.noise = l.gaussian(multiplier)
	return nil
}

// gaussian is the noise of one step, in steps of the lattice. A record that joins moves
// the sum by at most normSteps, and one that is replaced by twice that (P1, P14). It may
// change every coordinate.
func (l *layout) gaussian(multiplier float64) privacy.DiscreteGaussian {
	return privacy.DiscreteGaussian{
		Sigma:       math.Ceil(multiplier * normSteps),
		Sensitivity: privacy.Sensitivity{AddRemove: normSteps, ReplaceOne: 2 * normSteps},
		Coordinates: int64(l.encoder.Width + 1),
	}
}

// batch is the draw of one step, nil where every step takes all records.
func (l *layout) batch() privacy.Sampling {
	if l.schedule.rate == 1 {
		return nil
	}
	return privacy.Poisson{Rate: l.schedule.rate, Event: l.noise}
}

// event is the event of all steps together (P14, P9).
func (l *layout) event() privacy.Event {
	if l.params.last() {
		return l.iterate
	}
	if b := l.batch(); b != nil {
		return privacy.Repeat{N: l.schedule.steps, Event: b}
	}
	return privacy.Repeat{N: l.schedule.steps, Event: l.noise}
}

// multiplier is the noise of a step in clipping norms.
func (l *layout) multiplier() float64 { return l.noise.Sigma / normSteps }

// unit turns a noisy sum on the lattice into a mean gradient: one lattice step,
// divided by the public expected size of a batch, never by the realised one.
func (l *layout) unit() float64 { return l.clip / normSteps / l.schedule.expected() }
