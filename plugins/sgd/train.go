package sgd

import (
	"context"
	"math"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// Release keeps the encoded rows in memory and takes the planned steps: draw a
// batch, sum its clipped gradients, have the host add the noise, move.
func (Mechanism) Release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) (sdk.Result, error) {
	l, err := newLayout(req.PlanRequest())
	if err != nil {
		return sdk.Result{}, err
	}
	if err := l.planned(req.Plan.Event); err != nil {
		return sdk.Result{}, err
	}
	m, err := l.encoder.read(rows)
	if err != nil {
		return sdk.Result{}, err
	}
	w, err := l.train(ctx, m, host)
	if err != nil {
		return sdk.Result{}, err
	}
	return l.result(w), nil
}

// train returns the scaled coefficients, the intercept first.
func (l *layout) train(ctx context.Context, m *matrix, host sdk.Host) ([]float64, error) {
	g := newGradient(l.encoder, m, l.clip)
	if l.params.last() {
		g.lattice = l.lattice()
		return l.trainInside(ctx, g, l.newWalk(), host)
	}
	d, draw := newDescent(l), l.batch()
	for range l.schedule.steps {
		sum, err := l.noisy(ctx, g, draw, d.at, host)
		if err != nil {
			return nil, err
		}
		d.step(sum)
	}
	return d.answer(), nil
}

// trainInside takes the steps of which only the last iterate is paid for: nothing
// else of them is kept.
func (l *layout) trainInside(ctx context.Context, g *gradient, w *walk, host sdk.Host) ([]float64, error) {
	for k := range l.schedule.steps {
		var batch []int64
		if l.params.inTurn() {
			var err error
			if batch, err = host.NextBatch(ctx, l.iterate); err != nil {
				return nil, err
			}
			if batch == nil {
				batch = []int64{}
			}
		}
		sum, err := host.AddGaussian(ctx, l.iterate.StepAt(k), g.over(batch, w.float))
		if err != nil {
			return nil, err
		}
		w.move(sum)
	}
	return w.float, nil
}

// noisy is the sum of one batch with noise. An empty batch is a batch like any
// other: its sum is zero, and noise is added to it.
func (l *layout) noisy(ctx context.Context, g *gradient, draw privacy.Sampling, at []float64, host sdk.Host) ([]int64, error) {
	var batch []int64
	if draw != nil {
		var err error
		if batch, err = host.NextSample(ctx, draw); err != nil {
			return nil, err
		}
		if batch == nil {
			batch = []int64{}
		}
	}
	return host.AddGaussian(ctx, l.noise, g.over(batch, at))
}

// descent moves the coefficients. It sees noisy sums and public facts alone: what
// it does is post-processing.
type descent struct {
	at       []float64
	mean     []float64 // of the iterates from the middle on
	taken    int64
	from     int64 // the step from which on iterates are averaged
	unit     float64
	stepSize float64
	l2       float64
}

func newDescent(l *layout) *descent {
	n := l.encoder.Width + 1
	d := &descent{at: make([]float64, n), mean: make([]float64, n), unit: l.unit(), stepSize: l.stepSize(), l2: l.params.L2}
	d.from = l.schedule.steps - 1
	if l.params.Average == nil || *l.params.Average {
		d.from = l.schedule.steps / 2
	}
	return d
}

// farthest keeps coefficients, and all that is computed from them, finite.
const farthest = 1e100

// step moves against the noisy gradient; the penalty is applied at the end of the
// move, which is stable for every weight, and spares the intercept.
func (d *descent) step(sum []int64) {
	shrink := 1 / (1 + d.stepSize*d.l2)
	for j, v := range sum {
		d.at[j] -= d.stepSize * d.unit * float64(v)
		if j > 0 {
			d.at[j] *= shrink
		}
		d.at[j] = math.Max(-farthest, math.Min(farthest, d.at[j]))
	}
	if d.taken >= d.from {
		n := float64(d.taken - d.from + 1)
		for j, x := range d.at {
			d.mean[j] += (x - d.mean[j]) / n
		}
	}
	d.taken++
}

func (d *descent) answer() []float64 { return d.mean }
