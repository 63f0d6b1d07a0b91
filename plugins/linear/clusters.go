package linear

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// Clusters are the units that a draw takes first. The variance of a total over the draw is that
// between the totals of clusters, so what is squared is the total of a cluster, not a row.
type Clusters struct {
	// Column holds the cluster of each row, and its domain the clusters.
	Column string `json:"column"`
	// Most is the largest sum of the weights of the rows of a cluster in a draw.
	Most float64 `json:"most"`
	// Left is the part of the estimate that counts, and Within what is added for the rest, if every
	// row adds its weight times a number between −1 and 1 (samplers.Clusters).
	Left   float64 `json:"left"`
	Within float64 `json:"within"`
}

// finite takes the finite number of clusters into account, in an estimate of the variance and in the
// standard deviation of its noise. A row adds at most bound times its weight.
func (c *Clusters) finite(variance, unsure, bound float64) (float64, float64) {
	within := c.Within * bound * bound
	if within >= variance {
		return variance, unsure
	}
	return c.Left*variance + (1-c.Left)*within, c.Left * unsure
}

// Clustered reports whether an interval is that of a sample of clusters.
func (iv *Interval) Clustered() bool { return iv != nil && iv.Clusters != nil }

// clusterTotals adds up numbers of rows by cell and cluster.
type clusterTotals struct {
	cells  [][]int64 // a total of each part for each cluster; nil while a cell has no row
	count  int       // of clusters
	parts  int
	most   int64   // the totals that are squared lie between −most and most
	divide int64   // the sum of products is divided by it
	bound  float64 // of what a row of weight 1 adds
}

// newClusterTotals keeps totals of numbers of magnitude up to each, as Column and Most say.
func newClusterTotals(req sdk.PlanRequest, cells Cells, iv *Interval, w Weights, each int64,
	parts int) (*clusterTotals, sdk.Column, error) {
	column, ok := req.Public.Column(iv.Clusters.Column)
	if !ok || len(column.Domain) == 0 || !(iv.Clusters.Most > 0) {
		return nil, column, errHost
	}
	most := math.Ceil(math.Max(1, iv.Clusters.Most/w.Most) * float64(each)) // so many rows of the largest weight
	if !(most < 1<<50) {
		return nil, column, errClusterRoom
	}
	return &clusterTotals{cells: make([][]int64, cells.N), count: len(column.Domain), parts: parts, most: int64(most), divide: 1}, column, nil
}

// of returns the totals of a cluster in a cell.
func (t *clusterTotals) of(cell int, cluster int32) []int64 {
	if t.cells[cell] == nil {
		t.cells[cell] = make([]int64, t.count*t.parts)
	}
	return t.cells[cell][int(cluster)*t.parts : (int(cluster)+1)*t.parts]
}

// product returns the sum over the clusters of a cell of x·y, divided and rounded to zero. x and y
// are totals, held to ±most.
func (t *clusterTotals) product(cell, x, y int) int64 {
	var hi, lo, hiNegative, loNegative uint64
	all := t.cells[cell]
	for at := 0; at < len(all); at += t.parts {
		a, b := max(-t.most, min(t.most, all[at+x])), max(-t.most, min(t.most, all[at+y]))
		h, l := bits.Mul64(uint64(max(a, -a)), uint64(max(b, -b)))
		to, over := &lo, &hi
		if (a < 0) != (b < 0) {
			to, over = &loNegative, &hiNegative
		}
		sum, carry := bits.Add64(*to, l, 0)
		*to, *over = sum, *over+h+carry
	}
	sign := int64(1)
	if hi < hiNegative || hi == hiNegative && lo < loNegative {
		hi, lo, hiNegative, loNegative, sign = hiNegative, loNegative, hi, lo, -1
	}
	lo, borrow := bits.Sub64(lo, loNegative, 0)
	hi -= hiNegative + borrow
	if hi >= uint64(t.divide) { // out of reach for totals of a draw
		return sign * math.MaxInt64 / 4
	}
	q, _ := bits.Div64(hi, lo, uint64(t.divide))
	return sign * int64(min(q, math.MaxInt64/4))
}

// Squares is the reach of a number next to the sum of the squares of the totals of clusters.
//
// # Contract
//
// A row adds a whole number v with low ≤ v ≤ high to the first part and to the total of one
// cluster. The second part is the sum over the clusters of T², T held to ±most, divided by d and
// rounded down; most ≥ max(|low|, |high|). Proof: interval.proof.md.
func Squares(low, high, most, d int64) sdk.Reach {
	m := max(-low, high)
	one := overUp(new(big.Int).Sub(times(whole(2), times(whole(most), whole(m))), times(whole(m), whole(m))), d)
	return besideProducts(Box([2]int64{low, high}), one, 1)
}

// overUp is a/b rounded up.
func overUp(a *big.Int, b int64) *big.Int {
	return new(big.Int).Div(plus(a, whole(b-1)), whole(b))
}

// besideProducts adds parts to the reach of others, which a row that comes or goes moves by so
// much together, whatever the other rows are.
func besideProducts(r sdk.Reach, move *big.Int, parts int) sdk.Reach {
	square := times(move, move)
	return Beneath(r,
		sdk.Reach{Parts: parts, Touch: parts, Arrive: norms(move, square), Replace: norms(times(whole(2), move), times(whole(4), square))})
}

// products are the sums over clusters of z², z·n and n², where a row has z and n ≥ |z|.
const products = 3

// Products is the reach of two numbers next to sums of products of the totals of clusters.
//
// # Contract
//
// A row adds whole numbers a ≥ 0 and b ≥ 0, a + b ≤ each, to the first two parts. To the totals of
// one cluster it adds z = a − b and n = a + b. The other parts are the sums over the clusters of
// z², z·n and n², z and n held to ±most, divided by d and rounded to zero. Proof:
// interval.proof.md.
func Products(each, most, d int64) sdk.Reach {
	// Each product moves by at most 2·most·each.
	one := overUp(times(whole(2), times(whole(most), whole(each))), d)
	return besideProducts(Simplex(2, 2, each), times(whole(products), one), products)
}

// byCluster adds sums of products over clusters to the two sums of a ratio.
func (q *Average) byCluster(cells Cells, req sdk.PlanRequest, w Weights) error {
	t, column, err := newClusterTotals(req, cells, q.interval, w, q.high, 2)
	if err != nil {
		return err
	}
	// All products together move by half of what the sums do.
	t.divide = 4 * products * t.most
	q.clusters, q.Values = t, append(q.Values, column)
	q.Reach = Products(q.high, t.most, t.divide)
	parts := q.Reach.Parts
	q.Add = func(b Block, sums []int64) {
		clusters, numbers := b.Columns[1].Codes, q.numbers(b)
		for i, y := range numbers {
			c := b.Cell(i)
			if c < 0 {
				continue
			}
			w := 1.0
			if b.Weights != nil {
				w = q.lattice.Weight(b.Weights[i])
			}
			v, whole := q.lattice.Value(y, w), q.lattice.Value(q.Column.Upper, w)
			sums[c*parts] += v
			sums[c*parts+1] += whole - v
			total := t.of(c, clusters[i])
			total[0] += 2*v - whole
			total[1] += whole
		}
	}
	q.Done = func(sums []int64) {
		for c := range cells.N {
			part := sums[c*parts : (c+1)*parts]
			part[2] += t.product(c, 0, 0)
			part[3] += t.product(c, 0, 1)
			part[4] += t.product(c, 1, 1)
		}
	}
	return nil
}

// betweenClusters is the mean in a cell with its interval (Fieller's): with z the totals of a − b and n
// those of a + b of clusters, it holds all shares (1 + r)/2 for which Σ(z − r·n) is within its error.
func (q *Average) betweenClusters(sums []int64, n Noise) Estimate {
	lower, width := q.Column.Lower, q.Column.Upper-q.Column.Lower
	a, b := float64(sums[0]), float64(sums[1])
	e := Estimate{Count: (a + b) * q.maxWeight / float64(q.high)}
	if n.Hides(a+b, math.Sqrt2*n.SD) {
		return e.Blank()
	}
	share := math.Min(math.Max(a/(a+b), 0), 1)
	e.Value = lower + width*share
	e.SD = math.Min(width, width*n.SD*math.Hypot(1-share, share)/math.Max(a+b, q.lightest()))
	unit := float64(q.clusters.divide)
	zz, zn, nn, sd := unit*float64(sums[2]), unit*float64(sums[3]), unit*float64(sums[4]), unit*n.SD
	iv := q.interval
	matter := iv.Rows // how many clusters matter
	if nn > 0 {
		matter = math.Max(2, math.Min(matter, (a+b)*(a+b)/nn))
	}
	lucky := iv.lucky(n, a+b, math.Sqrt2*n.SD, q.maxWeight/float64(q.high), false)
	at := func(share float64) (float64, spread) {
		r := 2*share - 1
		u, noise := (1-share)*a-share*b, n.SD*math.Hypot(1-share, share) // u is half of Σ(z − r·n)
		s := spread{noise: noise, lucky: lucky * math.Max(share, 1-share)}
		s.draw, s.unsure = iv.Clusters.finite(iv.Square*(zz-2*r*zn+r*r*nn)/4-iv.Mean*(u*u-noise*noise),
			math.Hypot(iv.Square*sd*math.Sqrt(1+4*r*r+r*r*r*r)/4, iv.Mean*2*u*noise), float64(q.high)/q.maxWeight*math.Max(share, 1-share))
		return u, s
	}
	_, own := at(share)
	e.Error, e.Freedom = math.Min(width, width*own.whole()/math.Max(a+b, q.lightest())), iv.freedom()
	low, high := iv.solve(share, 0, 1, 1, n, matter, at)
	e.Low, e.High = lower+width*low, lower+width*high
	return e.Within(lower, lower+width)
}
