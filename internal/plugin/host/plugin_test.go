//go:build linux

package host

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// secret is the cell value that no error, log or file may ever hold.
const secret = 4815162342

// sum is a well-behaved mechanism: the noisy sum of one number, the noisy count of
// a category's first value, and a sample of the rows.
type sum struct {
	name    string
	event   privacy.Event
	release func(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) (sdk.Result, error)
	plan    func(sdk.PlanRequest) (sdk.Plan, error)
	selfish bool
}

var (
	laplace  = privacy.DiscreteLaplace{Scale: 10}
	gaussian = privacy.DiscreteGaussian{Sigma: 3, Sensitivity: privacy.Sensitivity{AddRemove: 1, ReplaceOne: 1.5}, Coordinates: 2}
	twice    = privacy.Compose{Events: []privacy.Event{laplace, privacy.Repeat{N: 2, Event: gaussian}}}
)

func (m sum) Describe() sdk.Description {
	name := m.name
	if name == "" {
		name = "sum"
	}
	return sdk.Description{
		Name: name, Version: "1.0.0", Params: json.RawMessage(`{"type":"object"}`),
		Relations: []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne}, Designs: []string{"full"}, SelfNoising: m.selfish,
	}
}

func (m sum) Plan(req sdk.PlanRequest) (sdk.Plan, error) {
	if m.plan != nil {
		return m.plan(req)
	}
	return m.defaultPlan(req)
}

func (m sum) defaultPlan(req sdk.PlanRequest) (sdk.Plan, error) {
	if req.Target.Epsilon <= 0 {
		return sdk.Plan{}, errors.New("epsilon must be positive\x1b[31m\nreally")
	}
	event := m.event
	if event == nil {
		event = twice
	}
	return sdk.Plan{
		Columns: []string{"x", "g"}, Event: event, Rows: 2,
		Output: []sdk.Field{{Name: "value", Type: sdk.Float64, Granularity: 0.5}, {Name: "n", Type: sdk.Int64}, {Name: "label", Type: sdk.String}},
		Errors: []sdk.ExpectedError{{Field: "value", NoiseSD: 14.1, Half95: 30}},
	}, nil
}

// tally reads all rows.
func tally(rows sdk.Rows) (total, first int64, err error) {
	for {
		b, err := rows.Next()
		if err == io.EOF {
			return total, first, nil
		}
		if err != nil {
			return 0, 0, err
		}
		codes, weights := b.Codes(1), b.Weights
		for i, x := range b.Float64(0) {
			if b.IsValid(0, i) {
				w := 1.0
				if weights != nil {
					w = weights[i]
				}
				total += int64(math.RoundToEven(2 * x * w))
			}
			if b.IsValid(1, i) && codes[i] == 0 {
				first++
			}
		}
	}
}

func (m sum) Release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) (sdk.Result, error) {
	if m.release != nil {
		return m.release(ctx, req, rows, host)
	}
	total, first, err := tally(rows)
	if err != nil {
		return sdk.Result{}, err
	}
	a, err := host.AddLaplace(ctx, laplace, []int64{total})
	if err != nil {
		return sdk.Result{}, err
	}
	b, err := host.AddGaussian(ctx, gaussian, []int64{first, 2})
	if err != nil {
		return sdk.Result{}, err
	}
	c, err := host.AddGaussian(ctx, gaussian, []int64{7})
	if err != nil {
		return sdk.Result{}, err
	}
	return good(a[0], b[0], c[0]), nil
}

func good(total, n, m int64) sdk.Result {
	return sdk.Result{Columns: []sdk.ResultColumn{
		{Name: "value", Float64: []float64{float64(total) * 0.5, 0}},
		{Name: "n", Int64: []int64{n, m}},
		{Name: "label", Texts: []string{"a", "b"}},
	}}
}

// fakeDrawer adds fixed amounts, so that what comes back can be told.
type fakeDrawer struct {
	laplace, gaussian, samples, others int
	err                                error
}

func (d *fakeDrawer) Add(ev privacy.Event, v []int64) error {
	var x float64
	switch ev := ev.(type) {
	case privacy.DiscreteLaplace:
		d.laplace++
		x = ev.Scale
	case privacy.DiscreteGaussian:
		d.gaussian++
		x = ev.Sigma
	}
	for i := range v {
		v[i] += int64(x)
	}
	return d.err
}

func (d *fakeDrawer) SmoothLaplace(_ privacy.Approx, value, scale, granularity float64) (float64, error) {
	d.others++
	return math.Round(value/granularity) * granularity, d.err
}

func (d *fakeDrawer) Select(_ privacy.Selection, pieces []sdk.Piece, rate float64) (int64, error) {
	return pieces[0].Lo, d.err
}

func (d *fakeDrawer) Randomize(ev privacy.RandomizedResponse, codes []int32) error {
	d.others++
	for i := range codes {
		codes[i] = (codes[i] + 1) % int32(ev.K)
	}
	return d.err
}

func (d *fakeDrawer) Shuffle(codes []int32) error {
	for i, j := 0, len(codes)-1; i < j; i, j = i+1, j-1 {
		codes[i], codes[j] = codes[j], codes[i]
	}
	return d.err
}

func (d *fakeDrawer) Sample(ev privacy.Sampling, rows int64) ([]int64, error) {
	d.samples++
	var out []int64
	for i := int64(0); i < rows; i += 3 {
		out = append(out, i)
	}
	return out, d.err
}

func (d *fakeDrawer) Batch(ev privacy.LastIterate, rows, step int64) ([]int64, error) {
	d.samples++
	var out []int64
	for i := step % ev.Batches() * ev.Batch; i < rows && int64(len(out)) < ev.Batch; i++ {
		out = append(out, i)
	}
	return out, d.err
}
