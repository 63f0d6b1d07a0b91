package linear

import (
	"math"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// Nodes are a few weights, the largest first, that span the weights of rows. A row counts once:
// with one share at the node above its weight and the rest at the node below, so that the shares
// average to its weight. The counts at the nodes give the weighted number of rows and, nearly, the
// sum of the squares of their weights, which an interval needs.
//
// # Contract
//
// A row adds whole numbers of at least 0 that add up to One, to at most two neighbouring nodes,
// whatever its weight is. Proof: linear.proof.md.
type Nodes struct {
	One      int64
	at       []float64
	interval *Interval
	lattice  Lattice
	rows     int64
}

// nodeRatio is the ratio of neighbouring nodes. Noise at the lower nodes adds at most 6 % to the
// noise of a weighted number, and squares come out at most 33 % too large.
const nodeRatio = 3

// mostNodes bounds the nodes. The last one covers all weights below a 27th of the largest.
const mostNodes = 5

// NewNodes chooses the nodes for the interval of a request. It returns nil where taking the largest
// weight for every row is good enough. Rows bounds how many rows of a unit count in a cell.
func NewNodes(req sdk.PlanRequest, iv *Interval, rows int64) *Nodes {
	d := req.Public.Design
	w, known := WeightsOf(d)
	if iv == nil || !iv.sampled() || d.EqualWeights || !known || w.Most <= 1.5*w.Least {
		return nil
	}
	k := &Nodes{at: []float64{w.Most}, interval: iv, rows: rows}
	for at := w.Most; at > w.Least; {
		if at /= nodeRatio; len(k.at) == mostNodes-1 && at > w.Least {
			at = w.Least
		}
		k.at = append(k.at, at)
	}
	k.lattice = NewLattice(0, Step(1, float64(rows)/req.Target.Epsilon, MostRows(req.Public)), w.Least, w.Most)
	k.One = k.lattice.Value(1, 1)
	return k
}

// N is the number of nodes.
func (k *Nodes) N() int { return len(k.at) }

// Reach is the reach of a row that counts in at most one of the parts.
func (k *Nodes) Reach(parts int) sdk.Reach { return Simplex(parts*len(k.at), 2, k.One) }

// Add counts a row of this weight.
func (k *Nodes) Add(weight float64, sums []int64) {
	weight = k.lattice.Weight(weight)
	i := 0
	for i+2 < len(k.at) && weight < k.at[i+1] {
		i++
	}
	upper := round(float64(k.One) * (weight - k.at[i+1]) / (k.at[i] - k.at[i+1]))
	upper = max(0, min(upper, k.One))
	sums[i] += upper
	sums[i+1] += k.One - upper
}

// long is the root of the sum of the squares of the nodes.
func (k *Nodes) long() float64 {
	s := 0.0
	for _, w := range k.at {
		s += w * w
	}
	return math.Sqrt(s)
}

// Expected is the error of each count.
func (k *Nodes) Expected(n Noise, note string) []sdk.ExpectedError {
	unit := k.lattice.Step * k.long()
	return []sdk.ExpectedError{{
		Field: sdk.EstimateField, NoiseSD: unit * n.SD, Half95: unit * n.Tail(0.05), Note: note,
		Linear: &sdk.Linear{Low: 0, High: float64(k.rows), Scale: 1},
	}}
}

// Row is a weighted count with the standard deviation of its noise and an interval.
func (k *Nodes) Row(sums []int64, n Noise) []float64 {
	x := 0.0
	for i, w := range k.at {
		x += k.lattice.Step * w * float64(sums[i])
	}
	e := k.ends(x, sums, n)
	return append([]float64{x, e.SD}, k.interval.Ends(e)...)
}

// ends are the noisy number x with its error and interval, which holds every weighted number of rows that is near enough to
// x by the variance that it would have over the draw.
func (k *Nodes) ends(x float64, sums []int64, n Noise) Estimate {
	iv, step, most := k.interval, k.lattice.Step, k.at[0]
	square := func(w float64) float64 { return w * w * iv.Part(w) }
	squares, along := 0.0, 0.0
	for i, w := range k.at {
		squares += step * square(w) * float64(sums[i])
		along += square(w) * w
	}
	// The noise in squares less along times that in x is independent of the noise in x.
	along /= k.long() * k.long()
	unsure := 0.0
	for _, w := range k.at {
		unsure += math.Pow(square(w)-along*w, 2)
	}
	unsure = step * n.SD * math.Sqrt(unsure)
	noise := step * n.SD * k.long()
	own := spread{draw: iv.Square*math.Max(squares, 0) - iv.Mean*x*x, noise: noise}
	e := Estimate{Value: x, SD: noise, Error: own.whole(), Freedom: iv.freedom()}
	if unsure > 0 && noise > 0 {
		squares += iv.margin(iv.Square*unsure/(noise*noise)) * unsure
	}
	heaviest := iv.Part(most) * most
	far := 2*math.Abs(x) + 1000*(most+noise)
	e.Low, e.High = iv.solve(x, math.Min(0, x), far, most, n, 0, func(at float64) (float64, spread) {
		at = math.Max(at, 0)
		draw := math.Max(0, math.Min(squares-along*(x-at), heaviest*at))
		return x - at, spread{draw: iv.Square*draw - iv.Mean*at*at, noise: noise}
	})
	return e
}
