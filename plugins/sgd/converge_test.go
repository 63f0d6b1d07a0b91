package sgd

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

// flights is a table in which the delay falls by 0.00065 minutes a mile, with its
// least-squares line. Most distances fill a small part of their bounds.
func flights(rng *rand.Rand, n int) (tab sdktest.Table, columns []sdk.Column, intercept, slope float64) {
	x, y := make([]float64, n), make([]float64, n)
	var sx, sy, sxx, sxy float64
	for i := range x {
		x[i] = math.Min(5000, 150+550*rng.ExpFloat64())
		y[i] = math.Max(-100, math.Min(1000, 8-0.00065*x[i]+30*(rng.ExpFloat64()-1)))
		sx, sy = sx+x[i], sy+y[i]
	}
	mx, my := sx/float64(n), sy/float64(n)
	for i := range x {
		sxx, sxy = sxx+(x[i]-mx)*(x[i]-mx), sxy+(x[i]-mx)*(y[i]-my)
	}
	slope = sxy / sxx
	return sdktest.Table{Rows: n, Columns: map[string]sdk.Values{"distance": {Float64: x}, "delay": {Float64: y}}}, []sdk.Column{
		{Name: "distance", Type: sdk.Number, Lower: 0, Upper: 5000}, {Name: "delay", Type: sdk.Number, Lower: -100, Upper: 1000},
	}, my - slope*mx, slope
}

// seeded is a host with rounded normal noise and Poisson batches from a fixed seed.
type seeded struct {
	sdktest.NoNoise
	rng *rand.Rand
}

func (s seeded) AddGaussian(_ context.Context, ev privacy.DiscreteGaussian, v []int64) ([]int64, error) {
	for i := range v {
		v[i] += int64(math.Round(ev.Sigma * s.rng.NormFloat64()))
	}
	return v, nil
}

func (s seeded) NextSample(_ context.Context, ev privacy.Sampling) ([]int64, error) {
	out := []int64{}
	for i := range s.Rows {
		if s.rng.Float64() < ev.(privacy.Poisson).Rate {
			out = append(out, int64(i))
		}
	}
	return out, nil
}

func flightsRequest(rows int, columns []sdk.Column, epsilon float64, more string) sdk.PlanRequest {
	req := request(privacy.ReplaceOne, int64(rows), `{"model":"linear","target":"delay","features":["distance"]%s}`, more)
	req.Public.Columns, req.Target.Epsilon = columns, epsilon
	return req
}

func warned(p sdk.Plan) bool {
	for _, e := range p.Errors {
		if strings.HasPrefix(e.Note, "warning: the descent may stop") {
			return true
		}
	}
	return false
}

func verdict(t *testing.T, r sdk.Result) (text string, drift float64) {
	t.Helper()
	for i, kind := range r.Columns[0].Texts {
		if kind == kindVerdict {
			return r.Columns[1].Texts[i], r.Columns[2].Float64[i]
		}
	}
	t.Fatal("the release has no verdict")
	return
}

// A job that says nothing of its steps comes within 5 % of the least-squares slope, a
// slope of which 400 steps of plain descent make one of the wrong sign.
func TestDefaultsReachLeastSquares(t *testing.T) {
	tier.Full(t, "TestEarlyStopIsSaid")
	tab, columns, intercept, slope := flights(rand.New(rand.NewPCG(1, 2)), 300_000)
	out, err := sdktest.Run(Mechanism{}, flightsRequest(tab.Rows, columns, 20, ""), tab, seeded{sdktest.NoNoise{Rows: tab.Rows}, rand.New(rand.NewPCG(3, 4))})
	if err != nil {
		t.Fatal(err)
	}
	got := released(t, out.Result)
	if math.Abs(got["distance"]/slope-1) > 0.05 || math.Abs(got["(intercept)"]/intercept-1) > 0.01 {
		t.Errorf("intercept %v and slope %v, want %v and %v", got["(intercept)"], got["distance"], intercept, slope)
	}
	if text, drift := verdict(t, out.Result); warned(out.Plan) || text != arrived || drift > 1 {
		t.Errorf("warned %v, verdict %q, drift %v", warned(out.Plan), text, drift)
	}
}

// The plan and the release both say that a descent stops before the fit. They say no
// such thing of one with enough steps.
func TestEarlyStopIsSaid(t *testing.T) {
	tab, columns, _, slope := flights(rand.New(rand.NewPCG(5, 6)), 100_000)
	for more, early := range map[string]bool{
		`,"rate":0.1,"steps":400,"step_size":1`: true, `,"rate":1,"steps":60`: true, `,"rate":1,"steps":20,"average":false`: true,
		`,"rate":1,"steps":1600`: false,
	} {
		if testing.Short() && !strings.Contains(more, `"steps":60`) && !strings.Contains(more, `"steps":20`) {
			continue // those that go on for long
		}
		req := flightsRequest(tab.Rows, columns, 20, more)
		out, err := sdktest.Run(Mechanism{}, req, tab, seeded{sdktest.NoNoise{Rows: tab.Rows}, rand.New(rand.NewPCG(7, 8))})
		if err != nil {
			t.Fatal(err)
		}
		text, drift := verdict(t, out.Result)
		if warned(out.Plan) != early || (text == travelled) != early {
			t.Errorf("%s: warned %v, verdict %q, drift %v, slope %v of %v", more, warned(out.Plan), text, drift, released(t, out.Result)["distance"], slope)
		}
	}
}

// At the fit the noise alone makes a verdict of being on the way in one release of a
// thousand: in 200 none, or one.
func TestDriftHasFewFalseAlarms(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	l := &layout{encoder: &encoder{}, schedule: schedule{rows: 1000, rate: 1, steps: 100}}
	l.clip, l.noise.Sigma = 1, normSteps
	l.pace = pace{step: 1, momentum: 0.8, steps: 100, from: 50}
	alarms := 0
	for range 200 {
		d := newDescent(l)
		for range l.schedule.steps { // a loss of curvature 1 with its optimum at the start
			d.step([]int64{int64(d.look[0]/d.unit + normSteps*rng.NormFloat64())})
		}
		if l.drift(d) > 1 {
			alarms++
		}
	}
	if alarms > 1 {
		t.Errorf("%d false alarms of 200", alarms)
	}
}

// What along says of a direction is what the descent does in it: its way without
// noise, and its answer to a unit of noise in each single step.
func TestAlongIsTheDescent(t *testing.T) {
	for _, p := range []pace{
		{step: 1, momentum: 0.9, steps: 60, from: 30}, {step: 0.5, steps: 40, from: 39, l2: 0.3}, {step: 2, momentum: 0.5, steps: 7, from: 3, l2: 0.01}, {step: 1, steps: 1},
	} {
		for _, curvature := range []float64{0, 0.01, 0.4, 1} {
			// The second coordinate bears the penalty. Its optimum is at zero.
			answer := func(start float64, noisy int64) float64 {
				d := &descent{pace: p, unit: 0x1p-40}
				for _, x := range []*[]float64{&d.at, &d.look, &d.mean, &d.gradient, &d.latest, &d.jumps} {
					*x = make([]float64, 2)
				}
				d.at[1], d.look[1] = start, start
				for k := range p.steps {
					g := curvature * d.look[1]
					if k == noisy {
						g++
					}
					d.step([]int64{0, int64(math.Round(g / d.unit))})
				}
				return d.mean[1]
			}
			squares := 0.0
			for k := range p.steps {
				squares += math.Pow(answer(0, k), 2)
			}
			left, moved := p.along(curvature)
			near(t, "left", left, math.Abs(answer(1, -1)), 1e-9)
			near(t, "moved", moved, math.Sqrt(squares), 1e-9)
		}
	}
}
