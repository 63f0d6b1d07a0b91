package quantiles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// node is one cut. It looks for the rank with index at among the rows between the ranks low and
// high, which are given in parts of whole.
type node struct {
	at        int
	low, high int64 // the ranks whose cuts bound the rows
	from, to  int   // their indices; −1 and the number of ranks stand for the bounds
	last      bool  // no rank is looked for on either side, so that the value alone counts
}

// share is the rank among the rows between the two cuts, as num over den.
func (n node) share(q ranks) (num, den int64) { return q[n.at] - n.low, n.high - n.low }

// levels are the cuts of one group, level by level: the middle rank, then the middle ones
// on either side of it.
func (q ranks) levels() (out [][]node) {
	var cut func(depth, from, to int)
	cut = func(depth, from, to int) {
		if to-from < 2 {
			return
		}
		n := node{at: (from + to + 1) / 2, low: 0, high: whole, from: from, to: to, last: to-from == 2}
		if from >= 0 {
			n.low = q[from]
		}
		if to < len(q) {
			n.high = q[to]
		}
		if depth == len(out) {
			out = append(out, nil)
		}
		out[depth] = append(out[depth], n)
		cut(depth+1, from, n.at)
		cut(depth+1, n.at, to)
	}
	cut(0, -1, len(q))
	return out
}

// search is the recursion over ranks.
type search struct {
	*layout
	ranks    ranks // the ranks that are looked for: Quantiles, and the ends of intervals
	levels   [][]node
	epsilons []float64                // of each level
	costs    []float64                // what each level adds to the sum of the squared errors of all ranks
	counted  *privacy.DiscreteLaplace // the noise in the number of rows of each group; nil: public or not needed
	replace  bool                     // a row may be replaced
	keeps    bool                     // a row that is replaced stays in its group
	// points is the number of points in a cell, and heaviest the weight of the heaviest row in
	// steps of 1/perWeight: a row adds one such step to each point of its cell.
	points, heaviest int64
	tie              int64 // the largest weight of a cell, in steps: of all rows, or of 2^24 where their number is secret
	perWeight        float64
	scale            float64 // how many records of the population a record stands for
	heavy            float64 // the weight of the heaviest row
	rows             float64 // the public number of rows; 0: it is noisy
}

func newSearch(l *layout, req sdk.PlanRequest) (*search, error) {
	w, known := linear.WeightsOf(req.Public.Design)
	if !known && !req.Public.Design.EqualWeights {
		return nil, errors.New("the design's largest weight is not known")
	}
	s := &search{layout: l, heaviest: 1, perWeight: 1, scale: w.Scale, heavy: w.Most, keeps: !l.cells.Units(req.Public).Switches}
	for _, r := range req.Public.SampleRelations {
		s.replace = s.replace || r != privacy.AddRemove
	}
	// Scores reach den ≤ 2^14 times the weight of all rows in all their points.
	bits := 62 - 14 - int(math.Ceil(math.Log2(linear.MostRows(req.Public)+1)))
	if w.Most > 1 {
		s.heaviest = 1 << max(0, min(12, bits-8))
		s.perWeight = float64(s.heaviest) / w.Most
		bits -= int(math.Log2(float64(s.heaviest)))
	}
	if bits < 4 {
		return nil, errors.New("column: the sample may hold too many rows for scores of 64 bits")
	}
	s.points = 1 << min(16, bits)
	s.tie = s.heaviest << 24
	if n := req.Public.Design.LargestCount; n > 0 {
		s.tie = int64(linear.MostRows(req.Public)) * s.heaviest
	}
	if err := s.prepare(req); err != nil {
		return nil, err
	}
	s.levels = s.ranks.levels()
	s.costs = make([]float64, len(s.levels))
	for _, row := range s.errors(s.ranks) {
		for k, x := range row {
			s.costs[k] += x
		}
	}
	return s, nil
}

// errors returns, for each rank, the variance of the error that each level adds to it, in records
// and for an ε of 1, where values lie densely. A cut has an error of its own and parts of the
// errors of the two cuts that bound its rows.
func (s *search) errors(q ranks) [][]float64 {
	m, levels := len(q), q.levels()
	moves := make([][]float64, m) // how much of the own error of each cut is in the error of each
	level, own := make([]int, m), make([]float64, m)
	for k, nodes := range levels {
		for _, n := range nodes {
			num, den := n.share(q)
			p := float64(num) / float64(den)
			row := make([]float64, m)
			row[n.at] = 1
			for j := range m {
				if n.from >= 0 {
					row[j] += (1 - p) * moves[n.from][j]
				}
				if n.to < m {
					row[j] += p * moves[n.to][j]
				}
			}
			moves[n.at], level[n.at] = row, k
			// A two-sided exponential in rank has twice the square of its scale as variance.
			own[n.at] = 2 * float64(s.sensitivity(k, num, den)) / (float64(den*s.points) * s.perWeight)
		}
	}
	out := make([][]float64, m)
	for i, row := range moves {
		out[i] = make([]float64, len(levels))
		for j, x := range row {
			out[i][level[j]] += 2 * x * x * own[j] * own[j]
		}
	}
	return out
}

// spend divides the budget over the levels. Without a delta the parts of ε add up, and these parts
// make the sum of the squared errors smallest. With a delta all levels get the same ε, and composed
// as bounded-range events they may each have more than a part of ε (P28).
func (s *search) spend(req sdk.PlanRequest) error {
	s.epsilons = make([]float64, len(s.levels))
	if s.counted != nil {
		req.Target.Epsilon *= 1 - countShare
	}
	if req.Target.Delta > 0 && len(s.levels) > 1 {
		most := req.Target.Epsilon
		for _, rel := range req.Public.SampleRelations {
			x, _, err := privacy.Calibrate(s.alike, rel, req.Target, most/float64(len(s.levels))*(1-0x1p-40), most)
			if err != nil {
				return err
			}
			most = x // what a second relation allows is looked for below this
		}
		for k := range s.epsilons {
			s.epsilons[k] = most
		}
		return nil
	}
	total := 0.0
	for _, c := range s.costs {
		total += math.Cbrt(c)
	}
	for k, c := range s.costs { // a part is left for those who add up and round outward (P17)
		s.epsilons[k] = req.Target.Epsilon * (math.Cbrt(c) / total) * (1 - 0x1p-46)
	}
	return nil
}

// alike is the event of levels that all spend epsilon.
func (s *search) alike(epsilon float64) privacy.Event {
	return privacy.Repeat{N: int64(len(s.levels)), Event: privacy.BoundedRange{Eps: epsilon}}
}

// event is a selection for each node in every group, level by level.
func (s *search) event() privacy.Event {
	var all []privacy.Event
	if s.counted != nil {
		all = append(all, *s.counted)
	}
	for k := range s.levels {
		all = append(all, s.level(k))
	}
	if len(all) == 1 {
		return all[0]
	}
	return privacy.Compose{Events: all}
}

// planned takes the ε of each level from a plan that was made from the same request.
func (s *search) planned(e privacy.Event) error {
	events := []privacy.Event{e}
	if all, ok := e.(privacy.Compose); ok {
		events = all.Events
	}
	s.epsilons = make([]float64, len(s.levels))
	if s.counted != nil && len(events) > 0 {
		events = events[1:]
	}
	for k, e := range events {
		if b, ok := e.(privacy.BoundedRange); ok && k < len(s.levels) {
			s.epsilons[k] = b.Eps
		}
	}
	if !privacy.Equal(s.event(), e) {
		return errors.New("the plan is not one of this mechanism's")
	}
	return nil
}

// level is the event of one level: a cut for each of its nodes in every group.
func (s *search) level(k int) privacy.BoundedRange {
	e := privacy.BoundedRange{Eps: s.epsilons[k]}
	if parts := int64(len(s.levels[k]) * s.cells.N); parts > 1 {
		e.Parts = parts
	}
	return e
}

// sensitivity returns how far the score of a cut can move, for a row that is there in full.
//
// # Contract
//
// Divided by it, the changes of the scores of all cuts of a level have ranges that add up
// to at most 2 between neighbours. Proof: recursion.proof.md.
func (s *search) sensitivity(k int, num, den int64) int64 {
	row := s.points * s.heaviest
	switch {
	case !s.replace:
		return row * max(num, den-num)
	case k == 0 && s.keeps: // one cut in each group, and the row stays in its group
		return row * den
	}
	return 2 * row * max(num, den-num)
}

func (s *search) plan(req sdk.PlanRequest) (sdk.Plan, error) {
	if err := s.spend(req); err != nil {
		return sdk.Plan{}, err
	}
	steps := fmt.Sprintf("drawn in %d steps, one rank after another", len(s.levels))
	if len(s.levels) == 1 {
		steps = "drawn in one step"
	}
	note := fmt.Sprintf("%s: ranks are off by about %.3g records in the root mean square where values are dense, plus rounding to %s",
		steps, s.rankSD(), s.rounding())
	note += s.Interval.WideStrata(req.Public)
	if s.Interval != nil && s.rows > 0 {
		wide := s.widened(s.rows)
		all := wide.at
		note = s.reach(wide) + note
		if blank := slices.DeleteFunc(slices.Clone(all), func(p place) bool { return !p.bottom || !p.top }); len(blank) > 0 {
			note = fmt.Sprintf("%d of %d values will be blank, because their interval holds everything between the bounds: "+
				"take a larger epsilon, narrower bounds or a step; %s", len(blank), len(all), note)
			if len(blank) == len(all) {
				note = sdk.NoUse + note
			}
		}
	}
	e := s.expected(note, s.rankSD()/s.scale)
	if s.Interval != nil && e.Above != nil {
		s.forecast(e.Above, req.Public.Design)
	}
	return s.shaped(sdk.Plan{Event: s.event(), Errors: []sdk.ExpectedError{e}}), nil
}

// forecast has the error in rank be that of the interval of the middle quantile, which holds noise and draw: of a group, as if rows were
// spread evenly, and of as many as ranksOf counts with.
func (s *search) forecast(above *sdk.Term, d sdk.Design) {
	rows := cmp.Or(s.rows, guessed)
	if s.counted != nil && d.EqualWeights && d.SampleSize > 0 {
		sd := math.Sqrt2 * s.counted.Scale
		rows = math.Max(float64(d.SampleSize)/float64(s.cells.N)-sd/2, sd)
	}
	w := s.widened(rows)
	p := w.at[s.middle()]
	half := float64(w.ranks[p.high]-w.ranks[p.low]) / (2 * whole) * rows
	draw := s.Interval.Deviation(float64(s.Quantiles[s.middle()])/whole, rows, s.heavy) * rows
	if unsure := half*half/(1.96*1.96) - above.NoiseSD*above.NoiseSD - draw*draw; unsure > 0 && !math.IsInf(unsure, 1) {
		above.Unsure = unsure
	}
}

// reach forecasts an interval in ranks, which holds the errors of noise and draw: that of the quantile nearest the median.
func (s *search) reach(w wide) string {
	best := s.middle()
	p := w.at[best]
	low, high := float64(w.ranks[p.low])/whole, float64(w.ranks[p.high])/whole
	return fmt.Sprintf("the interval of the quantile %v reaches from about the rank %.3g to %.3g of the rows; ",
		float64(s.Quantiles[best])/whole, low, high)
}

// rankSD is about the root mean square error of the quantiles in rank, in records of the population, from the noise alone, where
// values lie densely. The ends of intervals are ranks of their own, with larger errors, and do not count.
func (s *search) rankSD() float64 {
	ranks, at := s.ranks, make([]int, len(s.Quantiles))
	for i := range at {
		at[i] = i
	}
	if s.Interval != nil {
		rows := s.rows
		if rows == 0 {
			rows = guessed
		}
		w := s.widened(rows)
		ranks = w.ranks
		for i, p := range w.at {
			at[i] = p.middle
		}
	}
	errors, sum := s.errors(ranks), 0.0
	for _, i := range at {
		for k, c := range errors[i] {
			sum += c / (s.epsilons[k] * s.epsilons[k])
		}
	}
	return s.scale * math.Sqrt(sum/float64(len(at)))
}

func (s *search) release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) (sdk.Result, error) {
	if err := s.planned(req.Plan.Event); err != nil {
		return sdk.Result{}, err
	}
	groups, err := s.count(rows, int64(linear.MostRows(req.Public)))
	if err != nil {
		return sdk.Result{}, err
	}
	found, err := s.ranksOf(ctx, groups, host)
	if err != nil {
		return sdk.Result{}, err
	}
	m := len(s.ranks)
	cuts := make([]int64, s.cells.N*m)
	end := s.lattice.cells * s.points
	for k := range s.levels {
		event := s.level(k)
		for g, q := range found {
			mine := cuts[g*m : (g+1)*m]
			for _, n := range q.levels()[k] {
				lo, hi := int64(0), end
				if n.from >= 0 {
					lo = mine[n.from]
				}
				if n.to < m {
					hi = mine[n.to]
				}
				num, den := n.share(q.ranks)
				rate := sdk.SelectRate(event.Eps, s.sensitivity(k, num, den))
				mine[n.at], err = host.Select(ctx, event, groups[g].scores(n.last, lo, hi, num, den, rate), rate)
				if err != nil {
					return sdk.Result{}, err
				}
			}
		}
	}
	estimates := make([]float64, len(cuts))
	for i, x := range cuts {
		estimates[i] = s.lattice.value(min(x/s.points, s.lattice.cells-1))
	}
	return s.finish(found, estimates), nil
}
