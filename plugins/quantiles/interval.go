package quantiles

import (
	"context"
	"math"
	"slices"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// The interval of a quantile reaches from the quantile of a smaller rank to that of a larger one
// (Woodruff 1952). The recursion looks for these two ranks as well. Their distance follows from the
// number of rows, which is public or noisy, from the design, and from the error in rank that the
// noise causes, which is public where values lie densely.

const (
	mostIntervals = 100
	countShare    = 0.1    // the share of ε for numbers of rows that are not public
	guessed       = 1000.0 // rows of a group, for the forecast of a plan alone
)

// wide holds the ranks that are looked for in one group, and for each quantile the indices of its
// three ranks.
type wide struct {
	ranks
	at   []place
	none bool // the group may have no rows, as far as the noise in their number shows
}

type place struct {
	low, middle, high int
	bottom, top       bool // the interval reaches to the bound
}

// prepare chooses the ranks and, for intervals, the noise in the numbers of rows.
func (s *search) prepare(req sdk.PlanRequest) error {
	s.ranks = s.Quantiles
	iv := s.Interval
	if iv == nil {
		return nil
	}
	units := s.cells.Units(req.Public, s.column)
	if err := iv.Check(req.Public, s.cells, s.column); err != nil {
		return err
	}
	if d := req.Public.Design; d.EqualWeights && d.SampleSize > 0 && len(s.cells.Groups) == 0 && !units.Leaves {
		s.rows = float64(d.SampleSize)
	} else {
		l1 := linear.Simplex(1, 1, s.heaviest).Claim(units).L1
		scale, err := sdk.LaplaceScale(sdk.Largest(l1, req.Public.SampleRelations), req.Target.Epsilon*countShare*(1-0x1p-46))
		if err != nil {
			return err
		}
		s.counted = &privacy.DiscreteLaplace{Scale: scale, Sensitivity: l1}
	}
	rows := guessed
	if s.rows > 0 {
		rows = s.rows
	}
	s.ranks = s.widened(rows).ranks
	return nil
}

// widened adds the ranks of the ends of intervals for a group, whose rows weigh so much together.
// The ranks differ by group; their levels do not.
func (s *search) widened(together float64) wide {
	m := len(s.Quantiles)
	half := make([][2]float64, m) // how far each interval reaches below and above, as a share of the rows
	var out wide
	if s.epsilons == nil { // for a plan: nobody knows yet what the noise is
		for i, q := range s.Quantiles {
			d := s.Interval.Half(s.Interval.Deviation(float64(q)/whole, together, s.heavy), 0.01)
			half[i] = [2]float64{d, d}
		}
	}
	for range 4 { // the error in rank depends on the ranks, but little
		type entry struct {
			rank int64
			to   int // 3 times the index of the quantile, plus 0 for low, 1 for middle or 2 for high
		}
		var all []entry
		out = wide{at: make([]place, m)}
		for i, q := range s.Quantiles {
			low, high := float64(q)-math.Ceil(half[i][0]*whole), float64(q)+math.Ceil(half[i][1]*whole)
			out.at[i].bottom, out.at[i].top = low < 1, high > whole-1
			all = append(all, entry{int64(math.Max(low, 1)), 3 * i}, entry{q, 3*i + 1}, entry{int64(math.Min(high, whole-1)), 3*i + 2})
		}
		slices.SortStableFunc(all, func(a, b entry) int { return int(a.rank - b.rank) })
		for i := range all { // no two are the same
			if i > 0 {
				all[i].rank = max(all[i].rank, all[i-1].rank+1)
			}
		}
		for i := len(all) - 1; i >= 0; i-- {
			next := int64(whole)
			if i+1 < len(all) {
				next = all[i+1].rank
			}
			all[i].rank = min(all[i].rank, next-1)
			out.ranks = slices.Insert(out.ranks, 0, all[i].rank)
			switch p := &out.at[all[i].to/3]; all[i].to % 3 {
			case 0:
				p.low = i
			case 1:
				p.middle = i
			default:
				p.high = i
			}
		}
		if s.epsilons == nil { // before the budget is divided
			return out
		}
		noise, scales := s.errors(out.ranks), s.scales(out.ranks)
		clear := s.clear(out.ranks, scales, together)
		for i, q := range s.Quantiles {
			p := float64(q) / whole
			for side, at := range []int{out.at[i].low, out.at[i].high} {
				variance := 0.0
				for k, x := range noise[at] {
					variance += x / (s.epsilons[k] * s.epsilons[k])
				}
				half[i][side] = s.Interval.Half(s.Interval.Deviation(p, together, s.heavy), math.Sqrt(variance)/together) + 0.5/together
				if s.lattice.finer(side) { // ten times as many public numbers there hold the same values
					half[i][side] += math.Ln10 * scales[at] / together
				}
			}
			half[i][0] = math.Max(half[i][0], p-clear[out.at[i].low][0])
			half[i][1] = math.Max(half[i][1], clear[out.at[i].high][1]-p)
		}
	}
	return out
}

// stray is the probability with which the end of an interval may lie in a part of the bounds that
// holds no value, on the side of the quantile.
const stray = 0.005

// scales returns for each rank by how many records a cut must be off, within the rows between the
// cuts that bound it, to be e times less likely.
func (s *search) scales(q ranks) []float64 {
	out := make([]float64, len(q))
	for k, nodes := range q.levels() {
		for _, n := range nodes {
			num, den := n.share(q)
			out[n.at] = 2 * float64(s.sensitivity(k, num, den)) / (float64(den*s.points) * s.perWeight * s.epsilons[k])
		}
	}
	return out
}

// clear returns for each rank the largest one, and the smallest one, that may stand in its place
// so that its cut lies above all values, or below all, with a probability of at most stray.
//
// # Contract
//
// That holds wherever the values lie, if no public number near the cut holds more rows than
// scales says. Proof: recursion.proof.md.
func (s *search) clear(q ranks, scales []float64, together float64) [][2]float64 {
	most, cells := math.Log(stray), math.Log(float64(s.lattice.cells))
	out := make([][2]float64, len(q))
	chance := make([][2]float64, len(q)) // bounds of the logarithms of these probabilities
	for _, nodes := range q.levels() {
		for _, n := range nodes {
			low, high, at := float64(n.low)/whole, float64(n.high)/whole, float64(q[n.at])/whole
			above, below := 0.0, 0.0 // of the cuts that bound its rows; the bounds themselves are there
			if n.to < len(q) {
				above = chance[n.to][0]
			}
			if n.from >= 0 {
				below = chance[n.from][1]
			}
			// Where the upper cut lies above all values, all rows from low on are between the cuts,
			// more by this factor; and likewise below.
			b := scales[n.at] / together
			up, down := b*(high-low)/(1-low), b*(high-low)/high
			out[n.at] = [2]float64{high - up*math.Max(0, cells+above-most), low + down*math.Max(0, cells+below-most)}
			if above <= most {
				out[n.at][0] = high
			}
			if below <= most {
				out[n.at][1] = low
			}
			chance[n.at] = [2]float64{above + math.Min(0, cells-(high-at)/up), below + math.Min(0, cells-(at-low)/down)}
		}
	}
	return out
}

// ranksOf are the ranks that are looked for in each group.
func (s *search) ranksOf(ctx context.Context, groups []group, host sdk.Host) ([]wide, error) {
	out := make([]wide, len(groups))
	if s.Interval == nil {
		for g := range out {
			out[g] = wide{ranks: s.Quantiles}
		}
		return out, nil
	}
	if s.counted == nil {
		one := s.widened(s.rows)
		for g := range out {
			out[g] = one
		}
		return out, nil
	}
	totals := make([]int64, len(groups))
	for g, x := range groups {
		totals[g] = x.before[len(x.before)-1]
	}
	totals, err := host.AddLaplace(ctx, *s.counted, totals)
	if err != nil {
		return nil, err
	}
	// Too large a number would make an interval too short, so a little is taken off.
	sd, noise := math.Sqrt2*s.counted.Scale, linear.Noises(sdk.Plan{Event: *s.counted})[0]
	for g, n := range totals {
		out[g] = s.widened(math.Max(float64(n)-sd/2, math.Max(sd, float64(s.heaviest))) / s.perWeight)
		out[g].none = noise.Hides(float64(n), noise.SD)
	}
	return out, nil
}

// finish tells the quantiles among the estimates from the ends of their intervals.
func (s *search) finish(found []wide, all []float64) sdk.Result {
	estimates := make([]linear.Estimate, 0, len(all))
	if s.Interval == nil {
		for _, x := range all {
			estimates = append(estimates, linear.Estimate{Value: x})
		}
		return s.result(estimates)
	}
	for g, q := range found {
		mine := all[g*len(s.ranks) : (g+1)*len(s.ranks)]
		for _, p := range q.at {
			a, b := mine[p.low], mine[p.high]
			if p.bottom {
				a = s.lattice.value(0)
			}
			if p.top {
				b = s.lattice.value(s.lattice.cells - 1)
			}
			e := linear.Estimate{Value: mine[p.middle], Low: a, High: b}
			if q.none || p.bottom && p.top { // everything is possible
				e = e.Blank()
			}
			estimates = append(estimates, s.Interval.Woodruff(e, p.bottom, p.top))
		}
	}
	return s.result(estimates)
}
