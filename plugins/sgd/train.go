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
	l, err := newLayout(req.PlanRequest)
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
	w, drift, err := l.train(ctx, m, host)
	if err != nil {
		return sdk.Result{}, err
	}
	return l.result(w, drift), nil
}

// train returns the scaled coefficients, the intercept first, and what drift says of
// the descent.
func (l *layout) train(ctx context.Context, m *matrix, host sdk.Host) ([]float64, float64, error) {
	g := newGradient(l.encoder, m, l.clip)
	if l.params.last() {
		g.lattice = l.lattice()
		w, err := l.trainInside(ctx, g, l.newWalk(), host)
		return w, 0, err
	}
	d, draw := newDescent(l), l.batch()
	for range l.schedule.steps {
		sum, err := l.noisy(ctx, g, draw, d.look, host)
		if err != nil {
			return nil, 0, err
		}
		d.step(sum)
	}
	return d.mean, l.drift(d), nil
}

// trainInside takes the steps of a descent that pays for its last iterate only. It keeps
// nothing else of them.
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

// noisy returns the sum of one batch with noise. The host adds noise to the sum of an
// empty batch, too.
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

// descent moves the coefficients by Nesterov's method. It sees noisy sums and public
// facts alone: what it does is post-processing.
type descent struct {
	pace
	at, look []float64 // the iterate, and where the next gradient is taken
	mean     []float64 // of the released iterates
	gradient []float64 // the mean of the noisy gradients of the second half
	latest   []float64 // the last of them
	jumps    []float64 // the sum of the squares of their differences
	taken    int64
	unit     float64
}

func newDescent(l *layout) *descent {
	n := l.encoder.Width + 1
	zeros := func() []float64 { return make([]float64, n) }
	return &descent{pace: l.pace, at: zeros(), look: zeros(), mean: zeros(), gradient: zeros(), latest: zeros(), jumps: zeros(),
		unit: l.unit()}
}

// farthest bounds coefficients, so that everything computed from them is finite.
const farthest = 1e100

// step moves against the noisy gradient. The penalty shrinks the result of the move,
// which is stable for every weight, and spares the intercept.
func (d *descent) step(sum []int64) {
	shrink := 1 / (1 + d.pace.step*d.l2)
	middle := d.steps / 2
	for j, v := range sum {
		slope := d.unit * float64(v)
		next := d.look[j] - d.pace.step*slope
		if j > 0 {
			next *= shrink
		}
		next = math.Max(-farthest, math.Min(farthest, next))
		d.look[j] = math.Max(-farthest, math.Min(farthest, next+d.momentum*(next-d.at[j])))
		d.at[j] = next
		if d.taken >= d.from {
			d.mean[j] += (next - d.mean[j]) / float64(d.taken-d.from+1)
		}
		if d.taken >= middle {
			if j > 0 {
				slope += d.l2 * next
			}
			d.gradient[j] += (slope - d.gradient[j]) / float64(d.taken-middle+1)
			if d.taken > middle {
				d.jumps[j] += (slope - d.latest[j]) * (slope - d.latest[j])
			}
			d.latest[j] = slope
		}
	}
	d.taken++
}

// drift compares the mean of the noisy gradients of the second half with what noise and
// the draw of the batches alone make of it. At the fit it is zero except for these. Above 1
// the descent was still on its way: were it at the fit, that would happen in about one
// release of a thousand. Below 1 the noise hides what is left of the way.
func (l *layout) drift(d *descent) float64 {
	steps := float64(d.steps - d.steps/2)
	largest := 0.0
	for j, g := range d.gradient {
		one := math.Hypot(l.gradientNoise(), l.batchNoise())
		if l.schedule.rate < 1 && steps >= 20 {
			// The bound on the batches is far from what they do; the gradients tell.
			one = math.Max(l.gradientNoise(), math.Sqrt(d.jumps[j]/(2*(steps-1))))
		}
		largest = math.Max(largest, math.Abs(g)/one)
	}
	return largest * math.Sqrt(steps/(2*math.Log(2000*float64(len(d.gradient)))))
}
