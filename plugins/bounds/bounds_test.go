package bounds

import (
	"math"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// small is a search over a few candidates, for units with so many rows.
func small(epsilon float64, own int64) *search {
	return &search{bounds: []float64{1, 2, 4}, offsets: []int64{0, 3 * unit / 2, 3 * unit}, rows: 1, rate: sdk.SelectRate(epsilon, own*unit/2)}
}

// span is the range of log P/Q over all candidates, for two tables as counts, with these
// scores.
func (s *search) span(a, b []int64, pieces func([]int64) []sdk.Piece) float64 {
	lo, hi := math.Inf(1), math.Inf(-1)
	p, q := pieces(a), pieces(b)
	for i := range p {
		d := s.rate * float64(p[i].Score-q[i].Score)
		lo, hi = math.Min(lo, d), math.Max(hi, d)
	}
	return hi - lo
}

// vectors are the counts of all sets of at most so many rows.
func vectors(cells, most int) [][]int64 {
	out := [][]int64{nil}
	for range cells {
		var longer [][]int64
		for _, v := range out {
			left := int64(most)
			for _, n := range v {
				left -= n
			}
			for n := range left + 1 {
				longer = append(longer, append(append([]int64(nil), v...), n))
			}
		}
		out = longer
	}
	return out
}

func plus(a, b []int64) []int64 {
	out := append([]int64(nil), a...)
	for i := range b {
		out[i] += b[i]
	}
	return out
}

// worst is the largest range between neighbours among all tables of up to three rows beside
// a unit of up to own rows.
func (s *search) worst(own int, replace bool, pieces func([]int64) []sdk.Piece) (worst float64) {
	cells := len(s.bounds) + 1
	for _, rest := range vectors(cells, 3) {
		for _, u := range vectors(cells, own) {
			worst = math.Max(worst, s.span(rest, plus(rest, u), pieces))
			if !replace {
				continue
			}
			for _, v := range vectors(cells, own) {
				worst = math.Max(worst, s.span(plus(rest, u), plus(rest, v), pieces))
			}
		}
	}
	return worst
}

// TestCost enumerates all neighbours among tiny tables under both relations, for units with
// one row and with two. The twins draw for units with half as many rows, and score the
// distance to a rank at the rate of a score that moves in one direction.
func TestCost(t *testing.T) {
	const epsilon = 0.7
	for own := 1; own <= 2; own++ {
		for _, replace := range []bool{false, true} {
			s := small(epsilon, int64(own))
			if got := s.worst(own, replace, s.pieces); got > epsilon*(1+1e-12) || got < 0.99*epsilon {
				t.Errorf("%d rows, replaced %v: a search costs up to %v of %v", own, replace, got, epsilon)
			}
			if s.worst(2*own, replace, s.pieces) <= epsilon {
				t.Errorf("%d rows, replaced %v: the twin with more rows is not refuted", own, replace)
			}
			both := func(counts []int64) []sdk.Piece {
				out, beyond := s.pieces(counts), int64(0)
				for _, n := range counts {
					beyond += n
				}
				for i := range out {
					beyond -= counts[i]
					off := beyond - s.rows
					out[i].Score = unit*max(off, -off) + s.offsets[i]
				}
				return out
			}
			if s.worst(own, replace, both) <= epsilon {
				t.Errorf("%d rows, replaced %v: the twin that moves both ways is not refuted", own, replace)
			}
		}
	}
}

// TestCandidates: they ascend up to at_most, and the offsets cannot overflow a score.
func TestCandidates(t *testing.T) {
	for _, most := range []float64{1e-240, 3, 1000, 1e12, 1e249} {
		for _, epsilon := range []float64{0x1.1p-20, 0.1, 1 << 19} {
			s, err := newSearch(sdk.PlanRequest{Params: []byte(`{"column":"x"}`), Target: privacy.Point{Epsilon: epsilon},
				Public: sdk.Public{Columns: []sdk.Column{{Name: "x", Type: sdk.Number, Lower: -most, Upper: most}}, Cap: &sdk.Cap{Groups: 1, Rows: 100}}})
			if err != nil {
				t.Fatal(err)
			}
			last := len(s.bounds) - 1
			if s.bounds[last] > most*(1+1e-9) || s.bounds[last] < most*0.82 || s.offsets[last] > 1<<60 {
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

// TestOverflow: a score that does not fit in 64 bits wraps around, and no noise covers that. The
// largest offset of the first request lies next to 2^63, where a few rows more make the score
// negative. That of the second fits no int64.
func TestOverflow(t *testing.T) {
	for _, c := range []struct {
		epsilon float64
		rows    int64
	}{{0.0927556, 1 << 30}, {0x1.1p-20, 1 << 30}} {
		_, err := newSearch(sdk.PlanRequest{Params: []byte(`{"column":"x","times":8}`), Target: privacy.Point{Epsilon: c.epsilon},
			Public: sdk.Public{Columns: []sdk.Column{{Name: "x", Type: sdk.Number, Lower: -1, Upper: 1}}, Cap: &sdk.Cap{Groups: 1, Rows: c.rows}}})
		if err == nil {
			t.Errorf("epsilon %v for units with %d rows is accepted", c.epsilon, c.rows)
		}
	}
}
