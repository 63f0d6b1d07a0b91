package median

import (
	"math"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// law is the distribution of the points of a selection.
func law(r rank, counts []int64, rate float64) []float64 {
	var out []float64
	sum := 0.0
	for _, p := range r.pieces(counts) {
		for j := p.Lo; j <= p.Hi; j++ {
			out = append(out, math.Exp(-rate*float64(p.Score)))
			sum += out[len(out)-1]
		}
	}
	for j := range out {
		out[j] /= sum
	}
	return out
}

// ratioRange is max − min of log P/Q over all points.
func ratioRange(p, q []float64) float64 {
	lo, hi := math.Inf(1), math.Inf(-1)
	for j := range p {
		l := math.Log(p[j] / q[j])
		lo, hi = math.Min(lo, l), math.Max(hi, l)
	}
	return hi - lo
}

// profile is δ(x) of P against Q.
func profile(p, q []float64, x float64) float64 {
	sum := 0.0
	for j := range p {
		sum += math.Max(0, p[j]-math.Exp(x)*q[j])
	}
	return sum
}

// tables calls visit for every table of at most n units on the points, as counts.
func tables(points, n int, visit func(counts []int64)) {
	counts := make([]int64, points)
	var fill func(at, left int)
	fill = func(at, left int) {
		if at == points {
			visit(counts)
			return
		}
		for k := range left + 1 {
			counts[at] = int64(k)
			fill(at+1, left-k)
		}
		counts[at] = 0
	}
	fill(0, n)
}

// eachNeighbour calls visit for every neighbour of a table under the relation.
func eachNeighbour(counts []int64, rel privacy.Relation, visit func([]int64)) {
	other := make([]int64, len(counts))
	for i := range counts {
		copy(other, counts)
		if rel == privacy.AddRemove {
			other[i]++
			visit(other)
			continue
		}
		if other[i] == 0 {
			continue
		}
		other[i]--
		for j := range counts {
			if j != i {
				other[j]++
				visit(other)
				other[j]--
			}
		}
	}
}

// Every table of up to five units on four points, every neighbour, both relations and
// several ranks: the log ratios of the law that the host draws lie in an interval of
// length ε, and the profile is below that of the event. Twice the rate, and the half
// sensitivity that would be right for scores that move in one direction only, are the
// broken twins: they must be caught.
func TestSelectionIsBoundedRange(t *testing.T) {
	const points, units = 4, 5
	for _, rel := range []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne} {
		for _, place := range []string{"0.5", "0.25", "0.9"} {
			_, ranks, err := parseParams([]byte(`{"column":"x","method":"exponential","quantile":` + place + `}`))
			if err != nil {
				t.Fatal(err)
			}
			r := ranks[0]
			for _, eps := range []float64{0.3, 1, 4} {
				g := grid{points: points, largest: 1}
				delta := g.sensitivity(r, []privacy.Relation{rel})
				at := sdk.SelectRate(eps, delta)
				xs := []float64{-eps / 2, 0, eps / 3, 0.9 * eps}
				limits := make([]float64, len(xs))
				for i, x := range xs {
					limits[i] = bound(x, eps)
				}
				widest, twice, oneWay := 0.0, 0.0, 0.0
				tables(points, units, func(counts []int64) {
					p, p2, p1 := law(r, counts, at), law(r, counts, 2*at), law(r, counts, eps/float64(delta))
					eachNeighbour(counts, rel, func(other []int64) {
						q := law(r, other, at)
						widest = math.Max(widest, ratioRange(p, q))
						twice = math.Max(twice, ratioRange(p2, law(r, other, 2*at)))
						oneWay = math.Max(oneWay, ratioRange(p1, law(r, other, eps/float64(delta))))
						for i, x := range xs {
							if d := math.Max(profile(p, q, x), profile(q, p, x)); d > limits[i]*(1+1e-9)+1e-15 {
								t.Fatalf("%s, rank %s, ε=%g: %v → %v has δ(%g) = %.12g, the event %.12g", rel, place, eps, counts, other, x, d, limits[i])
							}
						}
					})
				})
				if widest > eps*(1+1e-12) {
					t.Errorf("%s, rank %s: log ratios spread by %.12g, ε = %g", rel, place, widest, eps)
				}
				if twice <= eps || oneWay <= eps {
					t.Errorf("%s, rank %s, ε=%g: the broken twins spread by %g and %g and are not caught", rel, place, eps, twice, oneWay)
				}
			}
		}
	}
}

// bound is the profile of the event bounded_range{ε} at x, as its proof has it.
func bound(x, eps float64) float64 {
	if x <= -eps {
		return -math.Expm1(x)
	}
	half := math.Expm1((x - eps) / 2)
	return half * half / -math.Expm1(-eps)
}

// Several quantiles with a δ get more than equal parts of ε, and together no more than
// the target. One quantile, and any without a δ, get what they got as pure events.
func TestSelectionsCompose(t *testing.T) {
	for _, c := range []struct {
		quantiles string
		n         float64
		delta     float64
		more      float64
	}{
		{"[0.5]", 1, 1e-6, 1}, {"[0.5]", 1, 0, 1}, {"[0.25,0.5,0.75]", 3, 0, 1},
		{"[0.25,0.5,0.75]", 3, 1e-6, 1.001}, {"[0.05,0.1,0.15,0.2,0.25,0.3,0.35,0.4,0.45,0.5,0.55,0.6,0.65,0.7,0.75,0.8,0.85,0.9,0.95,0.99]", 20, 1e-6, 1.7},
	} {
		req := request(`{"column":"x","method":"exponential","quantiles":`+c.quantiles+`}`, privacy.AddRemove, privacy.ReplaceOne)
		req.Target.Delta = c.delta
		l, err := newLayout(req)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.share.Epsilon * c.n; got < c.more || c.more == 1 && got != 1 {
			t.Errorf("%s, δ=%g: ε %g each, %g times an equal part, want %g", c.quantiles, c.delta, l.share.Epsilon, got, c.more)
		}
		for _, rel := range req.Public.SampleRelations {
			if a, err := privacy.EpsilonAt(l.event(), rel, c.delta); err != nil || a.Epsilon > 1 {
				t.Errorf("%s, δ=%g under %s: ε %v, %v", c.quantiles, c.delta, rel, a.Epsilon, err)
			}
			// The broken twin: two parts in a hundred more are over the target.
			if a, err := privacy.EpsilonAt(l.selections(1.02*l.share.Epsilon), rel, c.delta); err != nil || a.Epsilon <= 1 {
				t.Errorf("%s, δ=%g under %s: ε %v with 2 %% more, %v", c.quantiles, c.delta, rel, a.Epsilon, err)
			}
		}
	}
}

// Where a sample demands both relations, a unit that comes or goes makes losses in an interval of
// length Come, and hardly less in the worst table. Twice that is what two groups cost.
func TestSelectionWhereUnitsCome(t *testing.T) {
	both := []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne}
	for _, place := range []string{"0.5", "0.25", "0.9"} {
		_, ranks, err := parseParams([]byte(`{"column":"x","method":"exponential","quantile":` + place + `}`))
		if err != nil {
			t.Fatal(err)
		}
		g := grid{points: 4, largest: 1}
		l := layout{ranks: ranks, under: both}
		e := l.selection(1)
		at, widest := sdk.SelectRate(1, g.sensitivity(ranks[0], both)), 0.0
		tables(4, 5, func(counts []int64) {
			p := law(ranks[0], counts, at)
			eachNeighbour(counts, privacy.AddRemove, func(other []int64) { widest = math.Max(widest, ratioRange(p, law(ranks[0], other, at))) })
		})
		if e.Eps != 1 || widest > e.Come*(1+1e-12) || widest < 0.7*e.Come {
			t.Errorf("rank %s: %+v, log ratios spread by %v", place, e, widest)
		}
		if l.under = both[1:]; l.selection(1).Come != 0 {
			t.Errorf("rank %s: %+v without groups", place, l.selection(1))
		}
	}
}
