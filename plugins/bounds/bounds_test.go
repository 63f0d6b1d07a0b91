package bounds

import (
	"math"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// small is a search over a few candidates.
func small(epsilon float64) *search {
	return &search{bounds: []float64{1, 2, 4}, offsets: []int64{0, 3 * unit / 2, 3 * unit}, rows: 1, rate: sdk.SelectRate(epsilon, unit)}
}

// cost is the range of log P/Q over all candidates, for two tables as counts.
func (s *search) cost(a, b []int64, factor float64) float64 {
	lo, hi := math.Inf(1), math.Inf(-1)
	p, q := s.pieces(a), s.pieces(b)
	for i := range p {
		d := factor * s.rate * float64(p[i].Score-q[i].Score)
		lo, hi = math.Min(lo, d), math.Max(hi, d)
	}
	return hi - lo
}

// worst is the largest cost between neighbours among all tables of up to three rows.
func (s *search) worst(replace bool, factor float64) (worst float64) {
	counts := make([]int64, len(s.bounds)+1)
	var fill func(at, left int)
	fill = func(at, left int) {
		if at == len(counts) {
			for i := range counts {
				more := append([]int64(nil), counts...)
				more[i]++
				worst = math.Max(worst, s.cost(counts, more, factor))
				for j := range counts {
					if replace {
						other := append([]int64(nil), counts...)
						other[j]++
						worst = math.Max(worst, s.cost(more, other, factor))
					}
				}
			}
			return
		}
		for k := range left + 1 {
			counts[at] = int64(k)
			fill(at+1, left-k)
		}
		counts[at] = 0
	}
	fill(0, 3)
	return worst
}

// TestCost enumerates all neighbours among tiny tables under both relations. The twin
// draws at twice the rate.
func TestCost(t *testing.T) {
	for _, replace := range []bool{false, true} {
		const epsilon = 0.7
		s := small(epsilon)
		if got := s.worst(replace, 1); got > epsilon*(1+1e-12) || got < 0.99*epsilon {
			t.Errorf("replaced %v: a search costs up to %v of %v", replace, got, epsilon)
		}
		if s.worst(replace, 2) <= epsilon {
			t.Errorf("replaced %v: the twin is not refuted", replace)
		}
	}
}

// TestCandidates: they ascend up to at_most, and the offsets cannot overflow a score.
func TestCandidates(t *testing.T) {
	for _, most := range []float64{1e-240, 3, 1000, 1e12, 1e249} {
		for _, epsilon := range []float64{0x1.1p-20, 0.1, 1 << 19} {
			s, err := newSearch(sdk.PlanRequest{Params: []byte(`{"column":"x"}`), Target: privacy.Point{Epsilon: epsilon},
				Public: sdk.Public{Columns: []sdk.Column{{Name: "x", Type: sdk.Number, Lower: -most, Upper: most}}}})
			if err != nil {
				t.Fatal(err)
			}
			last := len(s.bounds) - 1
			if s.bounds[last] > most*(1+1e-9) || s.bounds[last] < most*0.74 || s.offsets[last] >= 1<<50 {
				t.Errorf("%v: the last candidate is %v with offset %d", most, s.bounds[last], s.offsets[last])
			}
			for i := range last {
				if s.bounds[i] >= s.bounds[i+1] || s.offsets[i] > s.offsets[i+1] {
					t.Fatalf("%v: candidates do not ascend at %d", most, i)
				}
			}
		}
	}
}
