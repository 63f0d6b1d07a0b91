package sdktest

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// alarm is the probability with which a sound mechanism is refuted by chance, over
// all statistics of one report. It is split over the most that a report can hold.
const (
	alarm         = 1e-6
	maxStatistics = 6
)

// pilots is the number of pairs that are tried before one is looked at closely.
const pilots = 10

// Statistic is the result of many runs on one pair of tables, for a mechanism that draws
// its own noise.
type Statistic struct {
	Request string `json:"request"`
	// Claimed is the ε of the plan's event at Delta.
	Claimed float64 `json:"claimed_epsilon"`
	Delta   float64 `json:"delta"`
	// LowerBound is shown with that Confidence: the mechanism's ε is no smaller.
	LowerBound float64 `json:"lower_bound"`
	Confidence float64 `json:"confidence"`
	// Ceiling is the most that this many runs could have shown.
	Ceiling float64 `json:"ceiling"`
	Runs    int     `json:"runs"`
	Event   string  `json:"event"`
}

// feature is one number that can be read off a result.
type feature struct {
	name string
	of   func([]float64) float64
}

// event is a set of results: those whose feature lies on one side of a threshold, or
// equals it.
type event struct {
	feature
	side int // −1: at most, 0: equal to, 1: above
	at   float64
}

func (e event) holds(x []float64) bool {
	v := e.of(x)
	switch e.side {
	case -1:
		return v <= e.at
	case 1:
		return v > e.at
	}
	return v == e.at
}

func (e event) String() string {
	return fmt.Sprintf("%s %s %v", e.name, []string{"<=", "=", ">"}[e.side+1], e.at)
}

// falsify looks for an event that is too much likelier on one table than on its
// neighbour. Pairs and events are chosen on one set of runs, and judged on another
// that is drawn afterwards, so that the choice does not bias the judgement.
func (r *Report) falsify(ctx context.Context, rep *replayer, g *generator, cfg Config) {
	if len(r.Statistics) == maxStatistics {
		return
	}
	type choice struct {
		pair  pair
		event event
		score float64
	}
	var best choice
	few := max(50, cfg.Runs/10)
	for range pilots {
		p := g.pair()
		for p.distance != 1 {
			p = g.pair()
		}
		a, v := rep.sample(ctx, p.left, few)
		b, w := rep.sample(ctx, p.right, few)
		r.Pairs++
		if v == nil {
			v = w
		}
		if v != nil {
			r.add(Finding{Check: v.check, Detail: v.detail, Request: describeRequest(rep.req), Tables: rep.layout.print(p)})
			return
		}
		for _, side := range []bool{false, true} {
			x, y := a, b
			if side {
				x, y, p.left, p.right = b, a, p.right, p.left
			}
			if e, score := bestEvent(x, y, rep.req.Target.Delta); best.event.of == nil || score > best.score {
				best = choice{p, e, score}
			}
		}
	}
	a, v := rep.sample(ctx, best.pair.left, cfg.Runs)
	b, w := rep.sample(ctx, best.pair.right, cfg.Runs)
	if v != nil || w != nil || ctx.Err() != nil {
		return // the pilots ran; a failure by chance is not repeatable
	}
	const alpha = alarm / maxStatistics / 2
	claimed, err := privacy.EpsilonAt(rep.plan.Event, best.pair.relation, rep.req.Target.Delta)
	if err != nil {
		return // price says so
	}
	s := Statistic{
		Request: describeRequest(rep.req), Claimed: claimed.Epsilon, Delta: rep.req.Target.Delta,
		LowerBound: shown(count(a, best.event), count(b, best.event), cfg.Runs, rep.req.Target.Delta, alpha),
		Confidence: 1 - 2*alpha, Ceiling: shown(cfg.Runs, 0, cfg.Runs, rep.req.Target.Delta, alpha),
		Runs: cfg.Runs, Event: best.event.String(),
	}
	r.Statistics = append(r.Statistics, s)
	if s.LowerBound > s.Claimed {
		r.add(Finding{
			Check: "epsilon", Request: s.Request, Tables: rep.layout.print(best.pair),
			Detail: fmt.Sprintf("%s (%s): %s in %d of %d runs on table A and %d of %d on table B: epsilon is at least %.4g, claimed is %.4g, "+
				"with confidence 1 - %.2g",
				best.pair.what, best.pair.relation, best.event, count(a, best.event), cfg.Runs, count(b, best.event), cfg.Runs, s.LowerBound,
				s.Claimed, 2*alpha),
		})
	}
}

// sample runs a table n times and returns the results as numbers.
func (r *replayer) sample(ctx context.Context, rows []record, n int) ([][]float64, *violation) {
	table := r.layout.table(rows, 0)
	all := make([][]float64, 0, n)
	for range n {
		out, err := r.subject.Release(ctx, r.req, r.plan, table, NoNoise{Rows: len(rows)})
		if err != nil {
			return nil, failure("A or B", err)
		}
		all = append(all, numbers(out.Result))
	}
	return all, nil
}

// numbers are all values of a result in one row, texts by a hash.
func numbers(r sdk.Result) []float64 {
	var out []float64
	for _, c := range r.Columns {
		out = append(out, c.Float64...)
		for _, v := range c.Int64 {
			out = append(out, float64(v))
		}
		for _, s := range c.Texts {
			h := fnv.New32a()
			h.Write([]byte(s))
			out = append(out, float64(h.Sum32()))
		}
	}
	return out
}

func count(all [][]float64, e event) int {
	n := 0
	for _, x := range all {
		if e.holds(x) {
			n++
		}
	}
	return n
}

// bestEvent is the event that the runs a show most about against b, judged mildly:
// it is a choice, not a finding.
func bestEvent(a, b [][]float64, delta float64) (event, float64) {
	const mild = 0.05
	var best event
	score := math.Inf(-1)
	for _, f := range features(len(a[0])) {
		values := make([]float64, 0, 2*len(a))
		for _, x := range slices.Concat(a, b) {
			values = append(values, f.of(x))
		}
		slices.Sort(values)
		last := math.NaN()
		for i := 0; i < len(values); i += max(1, len(values)/40) {
			at := values[i]
			if at == last {
				continue
			}
			last = at
			for side := -1; side <= 1; side++ {
				e := event{f, side, at}
				k, l := count(a, e), count(b, e)
				p, q := lowerBound(k, len(a), mild)-delta, upperBound(l, len(b), mild)
				s := math.Inf(-1)
				if p > 0 {
					s = math.Log(p / q)
				}
				if s > score || best.of == nil {
					best, score = e, s
				}
			}
		}
	}
	return best, score
}

// features are every value, up to a number of them, and what all sum up to.
func features(width int) []feature {
	var all []feature
	for i := range min(width, 16) {
		all = append(all, feature{fmt.Sprintf("value %d", i+1), func(x []float64) float64 { return x[i] }})
	}
	if width > 1 {
		all = append(all,
			feature{"sum", func(x []float64) (s float64) {
				for _, v := range x {
					s += v
				}
				return s
			}},
			feature{"largest", func(x []float64) float64 { return slices.Max(x) }},
			feature{"smallest", func(x []float64) float64 { return slices.Min(x) }})
	}
	return all
}

// lowerBound and upperBound are the one-sided Clopper–Pearson bounds on the probability of
// success, from k successes in n independent runs. Each bound is right with probability
// at least 1 − alpha.

func lowerBound(k, n int, alpha float64) float64 {
	if k == 0 {
		return 0
	}
	lo, _ := bisect(func(x float64) bool { return mathext.RegIncBeta(float64(k), float64(n-k+1), x) < alpha })
	return lo
}

func upperBound(k, n int, alpha float64) float64 {
	if k == n {
		return 1
	}
	// 1 − I_x(k+1, n−k) = I_{1−x}(n−k, k+1), which keeps its digits.
	_, hi := bisect(func(x float64) bool { return mathext.RegIncBeta(float64(n-k), float64(k+1), 1-x) > alpha })
	return hi
}

// bisect finds where below turns false in [0, 1].
func bisect(below func(x float64) bool) (lo, hi float64) {
	lo, hi = 0, 1
	for range 60 {
		if mid := lo + (hi-lo)/2; below(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo, hi
}

// shown is the ε that k of n runs in an event, against l of n on the neighbour, show
// at that δ with probability 1 − 2·alpha; at least 0.
func shown(k, l, n int, delta, alpha float64) float64 {
	p, q := lowerBound(k, n, alpha)-delta, upperBound(l, n, alpha)
	if !(p > q) {
		return 0
	}
	return math.Log(p / q)
}
