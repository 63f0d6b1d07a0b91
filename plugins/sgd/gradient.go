package sgd

import (
	"math"
	"runtime"
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// normSteps is the clipping norm in steps of the gradient's lattice, whose step is
// clip/normSteps: noise of the order of the clipping norm spans as many.
const normSteps = 1 << 34

// coefficientSteps: a residual of clip is this many units, so that a unit times a
// step of the row lattice is a step of the gradient's.
const coefficientSteps = normSteps >> rowBits

const (
	// together is how many rows are gathered before they are multiplied.
	together = 64
	// flush: sums of that many rows, each of at most normSteps, are whole numbers
	// below 2^53, so that float64 adds them without rounding, in any order.
	flush = 1 << 18
	// alone is how many rows are not worth a second worker.
	alone = 1 << 11
	// mostWorkers bounds how often a sum that rounds is cut.
	mostWorkers = 64
)

// gradient sums the clipped gradients of records, on the lattice.
//
// A record with row k and residual r moves the sum by m·k, with m the residual in
// units of clip/coefficientSteps, rounded to a whole number and cut off at the limit
// of the row: ‖m·k‖ <= normSteps. All is in whole numbers and exact: the sum does not
// depend on the order of the records, nor on how many workers there are.
type gradient struct {
	e       *encoder
	m       *matrix
	clip    float64
	lattice float64 // where gradients are not clipped: the step of the lattice, else 0
	workers []*worker
}

type worker struct {
	rows  []float64 // together rows, side by side
	units []float64 // their multiples m
	dots  []float64
	sum   []float64 // exact whole numbers
	total []int64   // the intercept, then the coordinates

	touched float64 // keeps the loads of gather alive
}

func newGradient(e *encoder, m *matrix, clip float64) *gradient {
	g := &gradient{e: e, m: m, clip: clip}
	for range min(mostWorkers, max(1, runtime.GOMAXPROCS(0))) {
		g.workers = append(g.workers, &worker{
			rows: make([]float64, together*m.stride), units: make([]float64, together), dots: make([]float64, together),
			sum: make([]float64, m.width), total: make([]int64, m.width+1),
		})
	}
	return g
}

// over returns the sum over the records of the sample, or over all for nil. The
// scaled coefficients w begin with the intercept. The answer is valid until the
// next call.
func (g *gradient) over(sample []int64, w []float64) []int64 {
	n := g.m.n
	if sample != nil {
		n = int64(len(sample))
	}
	workers := g.workers
	if n <= alone {
		workers = workers[:1]
	}
	var wg sync.WaitGroup
	share := (n + int64(len(workers)) - 1) / int64(len(workers))
	for i, one := range workers {
		clear(one.total)
		from, to := min(n, int64(i)*share), min(n, int64(i+1)*share)
		if i == len(workers)-1 {
			one.run(g, sample, from, to, w)
			break
		}
		wg.Go(func() { one.run(g, sample, from, to, w) })
	}
	wg.Wait()
	out := workers[0].total
	for _, one := range workers[1:] {
		for j, v := range one.total {
			out[j] += v
		}
	}
	return out
}

// run adds the records from..to of the sample.
func (o *worker) run(g *gradient, sample []int64, from, to int64, w []float64) {
	since := 0
	for from < to {
		n := int(min(to-from, together))
		rows := o.rows[:n*g.m.stride]
		if sample == nil {
			// Consecutive records do not leave their block within a gathering: a block
			// holds a multiple of together, and the first is cut to begin one.
			n = min(n, together-int(from&(together-1)))
			at := int(from&(1<<blockBits-1)) * g.m.stride
			rows = g.m.blocks[from>>blockBits][at : at+n*g.m.stride]
		} else {
			o.gather(g.m, sample[from:from+int64(n)], rows)
		}
		o.predict(g, rows, n, w)
		if g.lattice > 0 {
			o.unclipped(g, rows, n)
		} else {
			o.clipped(g, rows, n)
		}
		from += int64(n)
		if since += n; since > flush-together {
			o.settle()
			since = 0
		}
	}
	o.settle()
}

// gather copies records side by side. It loads a value of every cache line of all
// records first: loads that do not wait for each other reach the memory together,
// while a copy waits for its own.
func (o *worker) gather(m *matrix, sample []int64, rows []float64) {
	var touched float64
	for _, i := range sample {
		r := m.row(i)
		for j := 0; j < len(r); j += 8 {
			touched += r[j]
		}
		touched += r[len(r)-1]
	}
	o.touched = touched
	for i, r := range sample {
		copy(rows[i*m.stride:], m.row(r))
	}
}

// predict puts the predictions of n rows into dots.
func (o *worker) predict(g *gradient, rows []float64, n int, w []float64) {
	dots := blas64.Vector{N: n, Inc: 1, Data: o.dots[:n]}
	blas64.Gemv(blas.NoTrans, 0x1p-18, g.general(rows, n), blas64.Vector{N: g.m.width, Inc: 1, Data: w[1:]}, 0, dots)
	intercept := w[0] * g.e.constant * 0x1p-18
	for i, p := range dots.Data {
		p += intercept
		if g.e.logistic {
			p = 1 / (1 + math.Exp(-p))
		}
		dots.Data[i] = p
	}
}

func (g *gradient) general(rows []float64, n int) blas64.General {
	return blas64.General{Rows: n, Cols: g.m.width, Stride: g.m.stride, Data: rows[:(n-1)*g.m.stride+g.m.width]}
}

// clipped adds m·k for n rows whose predictions are in dots.
func (o *worker) clipped(g *gradient, rows []float64, n int) {
	width, stride := g.m.width, g.m.stride
	perUnit := coefficientSteps / g.clip
	var whole float64
	for i := range n {
		y, limit := rows[i*stride+width], rows[i*stride+width+1]
		// Rounded first: the limit is a whole number, and holds after it.
		m := max(-limit, min(limit, math.RoundToEven((o.dots[i]-y)*perUnit)))
		o.units[i] = m
		whole += m
	}
	o.total[0] += int64(whole) * int64(g.e.constant)
	units := blas64.Vector{N: n, Inc: 1, Data: o.units[:n]}
	blas64.Gemv(blas.Trans, 1, g.general(rows, n), units, 1, blas64.Vector{N: width, Inc: 1, Data: o.sum})
}

// unclipped adds the gradients of n rows themselves, rounded once to the lattice.
func (o *worker) unclipped(g *gradient, rows []float64, n int) {
	width, stride := g.m.width, g.m.stride
	scale := 0x1p-18 / g.lattice
	var whole float64
	for i := range n {
		r := 0.0
		if rows[i*stride+width+1] > 0 { // else the empty row
			r = (o.dots[i] - rows[i*stride+width]) * scale
		}
		o.units[i] = r
		whole += r
	}
	o.total[0] += int64(math.RoundToEven(whole * g.e.constant))
	units := blas64.Vector{N: n, Inc: 1, Data: o.units[:n]}
	blas64.Gemv(blas.Trans, 1, g.general(rows, n), units, 0, blas64.Vector{N: width, Inc: 1, Data: o.sum})
	for j, v := range o.sum {
		o.sum[j] = math.RoundToEven(v)
	}
	o.settle()
}

// settle moves the sums to whole numbers.
func (o *worker) settle() {
	for j, v := range o.sum {
		o.total[j+1] += int64(v)
		o.sum[j] = 0
	}
}
