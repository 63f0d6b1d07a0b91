package linear

import (
	"math"
	"math/bits"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// Additive adds up one lattice value of each row, by cell. For an interval it also adds up the
// squares of the values and, where the draw has strata, the values by stratum.
type Additive struct {
	Query
	lattice  Lattice
	interval *Interval
	// zeroOne says that a row adds 1 or nothing, so the sum and base are also the sum of the squares.
	zeroOne  bool
	base     float64        // the number of rows that count is base and the sum
	positive bool           // no row adds less than 0, so no sum lies below 0
	square   int64          // the step in which squares are counted; 0: there are no squares
	top      int64          // the largest square, in these steps
	strata   int            // the number of sums by stratum, each in steps of stratumStep
	factor   float64        // the largest factor of a square in any stratum
	clusters *clusterTotals // whose squares are added up in the place of those of rows; or nil
	all      *[2]float64    // an interval that holds both is blank; nil: none is
}

// stratumStep divides the values in the sums by stratum, so that they take less of the budget.
const stratumStep = 2

// NewAdditive sums a column whose numbers, less the centre of the lattice, lie between low and
// high. A nil column counts rows. A nil interval adds no squares.
func NewAdditive(l Lattice, low, high float64, column *sdk.Column, cells Cells, req sdk.PlanRequest, iv *Interval,
	noise string) (*Additive, error) {
	a := &Additive{lattice: l, interval: iv, factor: 1}
	if column != nil {
		a.Values = []sdk.Column{*column}
	}
	least, most := l.Ends(low, high)
	a.Reach, a.Add, a.positive = Scalar(least, most), a.plain, least >= 0
	if iv == nil || !iv.sampled() {
		return a, nil
	}
	if iv.Clusters != nil {
		return a, a.byCluster(least, most, cells, req)
	}
	if a.zeroOne = column == nil && iv.Strata == nil && req.Public.Design.EqualWeights; a.zeroOne {
		return a, nil
	}
	m := max(-least, most, 1)
	a.square, a.Add = 2*m, a.withSquares
	if u := cells.Units(req.Public, a.Values...); noise == Gaussian && OnlyReplace(req.Public) && !u.Switches && u.Rows == 1 {
		a.square = m // where a row is replaced by another, larger squares cost nothing either
	}
	a.top = a.squared(m, 1)
	switch {
	case iv.Strata != nil:
		column, ok := req.Public.Column(iv.Strata.Column)
		if !ok || len(column.Domain) != len(iv.Strata.Square) {
			return nil, errStrata
		}
		a.Values = append(a.Values, column)
		a.strata, a.factor = len(column.Domain), slices.Max(iv.Strata.Square)
		a.Reach = Beneath(Box([2]int64{least, most}, [2]int64{0, a.top}), Single(a.strata, m/stratumStep))
	case !req.Public.Design.EqualWeights:
		a.Reach = Box([2]int64{least, most}, [2]int64{0, a.top})
	default:
		a.Reach = Squared(least, most, a.square)
	}
	return a, nil
}

// byCluster adds up the squares of the totals of clusters, in steps in which a row moves them by half
// of what it adds itself.
func (a *Additive) byCluster(least, most int64, cells Cells, req sdk.PlanRequest) error {
	w, known := WeightsOf(req.Public.Design)
	if !known && !req.Public.Design.EqualWeights {
		return errWeight
	}
	m := max(-least, most, 1)
	t, column, err := newClusterTotals(req, cells, a.interval, w, m, 1)
	if err != nil {
		return err
	}
	if a.square = 2 * (2*t.most - m); m == 1 { // a half is rounded up to one
		a.square /= 2
	}
	t.divide, t.bound, a.clusters = a.square, float64(m)/w.Most, t
	a.Values = append(a.Values, column)
	a.Reach, a.Add, a.Done = Squares(least, most, t.most, a.square), a.withTotals, func(sums []int64) {
		for c := range cells.N {
			sums[2*c+1] += t.product(c, 0, 0)
		}
	}
	return nil
}

// withTotals adds the value of each row to its cell, and to its cluster in that cell.
func (a *Additive) withTotals(b Block, sums []int64) {
	clusters := b.Columns[len(b.Columns)-1].Codes
	numbers := b.Columns[0].Float64 // nil where the only column is that of clusters
	for i := range b.Rows {
		c := b.Cell(i)
		if c < 0 {
			continue
		}
		y, w := 1.0, 1.0
		if numbers != nil {
			y = numbers[i]
		}
		if b.Weights != nil {
			w = a.lattice.Weight(b.Weights[i])
		}
		v := a.lattice.Value(y, w)
		sums[2*c] += v
		a.clusters.of(c, clusters[i])[0] += v
	}
}

// squared is ⌊v²/square⌋ times f ≤ 1.
func (a *Additive) squared(v int64, f float64) int64 {
	if v < 0 {
		v = -v
	}
	hi, lo := bits.Mul64(uint64(v), uint64(v))
	q, _ := bits.Div64(hi, lo, uint64(a.square)) // v ≤ square
	if f == 1 {
		return int64(q)
	}
	return int64(f * float64(q))
}

// plain adds the lattice values and no squares.
func (a *Additive) plain(b Block, sums []int64) {
	if len(a.Values) == 0 {
		a.lattice.Count(b, sums)
		return
	}
	a.lattice.Add(b, 0, sums)
}

// withSquares adds the value of each row, its square, and the value once more in its stratum.
func (a *Additive) withSquares(b Block, sums []int64) {
	parts := a.Reach.Parts
	var numbers []float64
	var strata []int32
	if len(b.Columns) > 0 && b.Columns[0].Float64 != nil {
		numbers = b.Columns[0].Float64
	}
	if a.strata > 0 {
		strata = b.Columns[len(b.Columns)-1].Codes
	}
	for i := range b.Rows {
		c := b.Cell(i)
		if c < 0 {
			continue
		}
		y, w, f := 1.0, 1.0, 1.0
		if numbers != nil {
			y = numbers[i]
		}
		if b.Weights != nil {
			w = a.lattice.Weight(b.Weights[i])
			f = a.interval.Part(w)
		}
		v, part := a.lattice.Value(y, w), sums[c*parts:(c+1)*parts]
		if strata != nil {
			f = a.interval.Strata.Square[strata[i]] / a.factor
			part[2+strata[i]] += v / stratumStep
		}
		part[0] += v
		part[1] += min(a.squared(v, f), a.top)
	}
}

// spread estimates the error of the sum of a cell, in the units of the lattice.
func (a *Additive) spread(sums []int64, n Noise) spread {
	iv, step := a.interval, a.lattice.Step
	x := step * float64(sums[0])
	s := spread{noise: step * n.SD}
	if a.zeroOne {
		x += a.base
		s.draw = iv.Square*x - iv.Mean*x*x
		return s
	}
	if len(sums) < 2 {
		return s
	}
	unit := step * step * float64(a.square) * a.factor
	s.draw, s.unsure = unit*float64(sums[1]), unit*n.SD
	if a.strata == 0 {
		s.draw, s.unsure = iv.Square*s.draw-iv.Mean*x*x, iv.Square*s.unsure
		if iv.Replacement || a.clusters != nil { // the sum is not centred, so its noise is large in its square
			s.draw += iv.Mean * s.noise * s.noise
			s.unsure = math.Hypot(s.unsure, iv.Mean*2*x*s.noise)
		}
		if a.clusters != nil {
			s.draw, s.unsure = iv.Clusters.finite(s.draw, s.unsure, a.clusters.bound*step)
		}
		return s
	}
	unit, unsure := step*stratumStep, s.unsure*s.unsure
	for h, b := range iv.Strata.Mean {
		x, noise := unit*float64(sums[2+h]), unit*n.SD
		s.draw -= b * (x*x - noise*noise)
		unsure += b * b * 4 * x * x * noise * noise
	}
	s.unsure = math.Sqrt(unsure)
	return s
}

// Unsure returns what the interval for scale·(the sum of a cell) adds to the variance, because it
// knows the variance of the draw only with noise.
func (a *Additive) Unsure(n Noise, scale float64) float64 {
	if a == nil || a.interval == nil || !a.interval.sampled() || a.square == 0 {
		return 0
	}
	step := a.lattice.Step
	unsure, noise := a.interval.Square*step*step*float64(a.square)*a.factor*n.SD, step*n.SD
	return scale * scale * a.interval.Added(unsure, noise)
}

// Added returns what the interval for a sum with noise of a standard deviation adds to the variance, where that of the draw has
// noise of the standard deviation unsure.
func (iv *Interval) Added(unsure, noise float64) float64 {
	if iv == nil || !iv.sampled() {
		return 0
	}
	return iv.margin(unsure/(noise*noise)) * unsure
}

// Error is the standard deviation, of noise and draw together, of scale·(the sum of a cell), and the degrees of freedom of the draw.
func (a *Additive) Error(sums []int64, n Noise, scale float64) (sd, freedom float64) {
	return math.Abs(scale) * a.spread(sums, n).whole(), a.interval.freedom()
}

// newOnes adds up rows that have a property, less a half for each of all rows, whose number is public: the sum is a number of rows
// less half of all, so it has the interval of a number of rows.
func newOnes(l Lattice, column sdk.Column, rows float64, iv *Interval) *Additive {
	a := &Additive{lattice: l, interval: iv, zeroOne: true, base: rows * l.Centre}
	low, high := l.Ends(column.Lower, column.Upper)
	a.Values, a.Reach, a.Add = []sdk.Column{column}, Scalar(low, high), a.plain
	return a
}

// Interval is the interval for offset + scale·(the sum of a cell).
func (a *Additive) Interval(sums []int64, n Noise, offset, scale float64) (low, high float64) {
	step := a.lattice.Step
	x := step * float64(sums[0])
	if a.zeroOne {
		low, high = a.score(a.base+x, n)
		low, high = low-a.base, high-a.base
	} else {
		rows := a.interval.freedom()
		if rows > 0 { // of strata, one is lost for each
			rows++
		}
		if a.square > 0 && a.positive && a.clusters == nil { // the effective number of rows
			most := step * step * float64(a.square) * a.factor * math.Max(float64(sums[1]), 1)
			rows = math.Max(2, x*x/most)
		}
		s := a.spread(sums, n)
		if a.all != nil {
			s.more = a.interval.more(func(more float64) bool {
				s.more = more
				low, high := a.interval.around(x, s, n, step, rows)
				return low <= a.all[0] && high >= a.all[1]
			})
		}
		low, high = a.interval.around(x, s, n, step, rows)
		if a.positive {
			low, high = math.Max(low, math.Min(0, x)), math.Max(high, 0)
		}
	}
	if a.interval.shows(math.Inf(1)) > 0 {
		low, high = a.shown(sums[0], n, offset, scale, low, high)
	}
	return offset + scale*low, offset + scale*high
}

// shown is the interval of a sum, given that its value is shown because it is large enough (Interval.shows): that of the law of the
// noise (tails.Law). Where a draw adds to the error, low and high are the ends without that condition. The upper end holds as it is, for
// the condition only makes low sums rarer. The lower end is that of the law of noise and draw, with the variance that the interval takes
// at the noisy sum: no smaller number of rows has a larger one. It is made of the noisy sum and public facts, so it is free.
func (a *Additive) shown(sum int64, n Noise, offset, scale, low, high float64) (float64, float64) {
	iv, step, each, side := a.interval, a.lattice.Step, int64(max(n.each, 1)), int64(1)
	unit, smallest := step*scale, int64(-1)<<52
	if offset+unit*float64(sum) < 0 && iv.Shown == 0 { // a large negative value is shown too
		side, offset = -1, -offset
	} else if a.positive {
		smallest = 0
	}
	sum *= side
	limit, far := iv.shows(unit*n.SD), float64(1<<52)
	least := int64(math.Ceil(math.Max(-far, math.Min((limit-offset)/unit, far))))
	for offset+float64(least-1)*unit >= limit { // as the host compares it
		least--
	}
	for offset+float64(least)*unit < limit && float64(least) < far {
		least++
	}
	if sum < least {
		return low, high
	}
	first, above := sum*each-each/2, least*each-each/2-1 // the sums that are divided to this one
	if !iv.sampled() {
		smallest = max(smallest, least*each-int64(20*n.SD)*each) // smaller ones are never shown
		from, _ := n.law.Interval(first, above, smallest, iv.Level/100)
		_, to := n.law.Interval(first+each-1, above, smallest, iv.Level/100)
		if side < 0 {
			from, to = -to, -from
		}
		return step * float64(from) / float64(each), step * float64(to) / float64(each)
	}
	x := math.Max(step*float64(sum), 1)
	draw := math.Pow((high-x)/distuv.UnitNormal.Quantile(0.5+iv.Level/200), 2) - step*step*n.SD*n.SD
	if a.zeroOne {
		if iv.Mean > 0 {
			x = math.Min(x, iv.Square/iv.Mean/2)
		}
		draw = iv.Square*x - iv.Mean*x*x
	}
	deviation := math.Sqrt(math.Max(draw, 0)) / step
	smallest = max(smallest, least*each-int64(math.Min(20*math.Hypot(n.SD, deviation), far))*each)
	from, _ := n.law.Drawn(deviation).Interval(first, above, smallest, iv.Level/100)
	return math.Min(low, step*float64(from)), high
}

// score is the interval for a number of rows. It holds every number λ that is near enough to the
// noisy one by the variance that λ itself would have over the draw, so it has some width even
// where no row was drawn. Its ends solve (x ± ½ − λ)² = h²·(noise² + Square·λ − Mean·λ²). An end beyond
// which no number lies that is nearer to x than half a row is the last number that there can be.
func (a *Additive) score(x float64, n Noise) (low, high float64) {
	iv, noise, half := a.interval, a.lattice.Step*n.SD, a.lattice.Step/2
	if a.lattice.Most == 1 && a.lattice.Least == 1 { // numbers of rows are whole; half a row is the correction for that
		half = 0.5
	}
	all := math.Inf(1) // so many rows are drawn
	if iv.Mean > 0 {
		all = iv.Square / iv.Mean
	}
	inner := math.Min(math.Max(x, 1), math.Max(1, all-1))
	draw := math.Max(iv.Square*inner-iv.Mean*inner*inner, 0)
	h := iv.width(noise/math.Sqrt(draw+noise*noise), n)
	end := func(x, side float64) float64 {
		p, q, r := 1+h*h*iv.Mean, 2*x+h*h*iv.Square, x*x-h*h*noise*noise
		return (q + side*math.Sqrt(math.Max(q*q-4*p*r, 0))) / (2 * p)
	}
	if low = math.Min(0, x); x > half {
		low = math.Max(end(x-half, -1), low)
	}
	if high = math.Max(all, x); x < all-half {
		high = math.Max(end(x+half, 1), math.Max(x, 0))
	}
	return low, high
}
