package sgd

import (
	"math"
	"runtime"
	"sync/atomic"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/dprelease/dprelease/internal/guard"
)

// normSteps is the clipping norm in steps of the gradient's lattice. A step of that
// lattice is clip/normSteps.
const normSteps = 1 << 34

// coefficientSteps is the number of units in a residual as large as clip. A unit times a
// step of the row lattice is a step of the gradient's lattice.
const coefficientSteps = normSteps >> rowBits

const (
	// together is the number of rows that a worker gathers before it multiplies them.
	together = 64
	// four is the number of rows that a product with w takes at once.
	four = 4
	// piece is the number of records that a worker takes at a time.
	piece = 4 * together
	// flush is the number of rows that a float64 sum may hold. Each row adds at most normSteps,
	// so these sums are whole numbers below 2^53 and exact in any order.
	flush = 1 << 18
	// alone is the number of rows up to which one worker is faster than several.
	alone = 1 << 11
	// mostWorkers bounds the number of roundings in a sum that is not clipped.
	mostWorkers = 64
)

// gradient sums the clipped gradients of records, on the lattice.
//
// A record with row k and residual r moves the sum by m·k, with m the residual in
// units of clip/coefficientSteps, rounded to a whole number and cut off at the limit
// of the row: ‖m·k‖ <= normSteps. The residual is a function of the record and of the
// coefficients alone. These are whole numbers and their sum is exact: it depends neither on
// the order of the records nor on the number of workers, and a record more moves it by its own m·k.
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
	// A worker takes the next piece when it is free, so a slow worker takes fewer.
	var next atomic.Int64
	var wg guard.Group
	for _, one := range workers[1:] {
		wg.Run(func() { one.run(g, sample, &next, n, w) })
	}
	workers[0].run(g, sample, &next, n, w)
	wg.Wait()
	out := workers[0].total
	for _, one := range workers[1:] {
		for j, v := range one.total {
			out[j] += v
		}
	}
	return out
}

// run adds pieces of the n records until none is left. It takes its next piece before
// it has finished the current one, so that the memory fetches the next records
// meanwhile.
func (o *worker) run(g *gradient, sample []int64, next *atomic.Int64, n int64, w []float64) {
	clear(o.total)
	since := 0
	from := next.Add(piece) - piece
	g.m.prefetch(part(sample, from, n))
	for from < n {
		then := next.Add(piece) - piece
		for at := from; at < min(n, from+piece); at += together {
			ahead := at + together
			if ahead == from+piece {
				ahead = then
			}
			k := int(min(n-at, together))
			rows := o.side(g.m, sample, at, k, part(sample, ahead, n))
			o.add(g, rows, k, w)
		}
		if since += piece; since > flush-piece {
			o.settle()
			since = 0
		}
		from = then
	}
	o.settle()
}

// part returns the records that a worker gathers at once, from the given one on.
func part(sample []int64, from, n int64) []int64 {
	if sample == nil || from >= n {
		return nil
	}
	return sample[from:min(n, from+together)]
}

// side returns k records of the sample side by side, from the given one on. It asks the
// memory for the records ahead.
func (o *worker) side(m *matrix, sample []int64, from int64, k int, ahead []int64) []float64 {
	rows := o.rows[:k*m.stride]
	if sample == nil {
		// Consecutive records do not leave their block: it holds a multiple of together.
		at := int(from&(1<<blockBits-1)) * m.stride
		inside := m.blocks[from>>blockBits][at : at+k*m.stride]
		if k%four == 0 {
			return inside
		}
		copy(rows, inside) // predict needs room behind them
		return rows
	}
	for i, r := range sample[from : from+int64(k)] {
		if i < len(ahead) {
			m.prefetch(ahead[i : i+1])
		}
		copy(rows[i*m.stride:], m.row(r))
	}
	return rows
}

// add adds the gradients of n rows that lie side by side.
func (o *worker) add(g *gradient, rows []float64, n int, w []float64) {
	o.predict(g, rows, n, w)
	if g.lattice > 0 {
		o.unclipped(g, rows, n)
	} else {
		o.clipped(g, rows, n)
	}
}

// predict puts the predictions of n rows into dots. Unless n is a multiple of four, the rows have room for as many behind them.
//
// # Contract
//
// The prediction for a row is a function of the row and of w alone: it depends neither on the row's place nor on n. A product
// adds the terms of the last n mod four rows in another order, so it is always one of whole fours, of which the rows behind
// the last are left over from other records and their predictions are not used. Proof: sgd.proof.md.
func (o *worker) predict(g *gradient, rows []float64, n int, w []float64) {
	fours := (n + four - 1) / four * four
	dots := blas64.Vector{N: fours, Inc: 1, Data: o.dots[:fours]}
	rows = rows[:(fours-1)*g.m.stride+g.m.width]
	blas64.Gemv(blas.NoTrans, 0x1p-18, g.general(rows, fours), blas64.Vector{N: g.m.width, Inc: 1, Data: w[1:]}, 0, dots)
	intercept := w[0] * g.e.constant * 0x1p-18
	for i, p := range dots.Data[:n] {
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
		// The limit is a whole number, so it still holds after rounding.
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
