package quantiles

import (
	"fmt"
	"math"
	"testing"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

// asked is a request for an interval from a draw of so many rows, of which the draw leaves
// this part of the variance.
func asked(params string, relation privacy.Relation, rows int64, square float64, columns ...sdk.Column) sdk.PlanRequest {
	x := sdk.Column{Name: "x", Type: sdk.Number, Lower: 0, Upper: 1000, Missing: sdk.MissingRefuse}
	return sdk.PlanRequest{
		Params: fmt.Appendf(nil, `{"column":"x",%s"interval":{"level":95,"square":%g,"rows":%d}}`, params, square, rows),
		Target: privacy.Point{Epsilon: 1},
		Public: sdk.Public{Relation: relation, SampleRelations: []privacy.Relation{relation}, Columns: append([]sdk.Column{x}, columns...),
			Design: sdk.Design{Kind: "srswor", Rate: 1, SampleSize: rows, MinWeight: 1, MaxWeight: 1, EqualWeights: true, LargestCount: rows}},
	}
}

// evenTable has so many values, evenly between the bounds.
func evenTable(n int) sdktest.Table {
	t := sdktest.Table{Rows: n, Columns: map[string]sdk.Values{"x": {Float64: make([]float64, n)}, "g": {Codes: make([]int32, n)}}}
	for i := range n {
		t.Columns["x"].Float64[i], t.Columns["g"].Codes[i] = 1000*(float64(i)+0.5)/float64(n), int32(i%2)
	}
	return t
}

// Ends lie on either side of the estimate, ascend with the rank, and move away from it with
// the variance of the draw; those near a bound reach it. A number of rows that is not public
// is paid for.
func TestEnds(t *testing.T) {
	g := sdk.Column{Name: "g", Type: sdk.Category, Domain: []string{"a", "b"}, Missing: sdk.MissingRefuse}
	const n = 4000
	for _, c := range []struct {
		params  string
		counted bool
	}{{``, false}, {`"by":"g",`, true}, {`"quantiles":[0.0001,0.5,0.9999],`, false}} {
		wide := 0.0
		for _, square := range []float64{0, 1} {
			req := asked(c.params, privacy.ReplaceOne, n, square, g)
			plan, err := Mechanism{}.Plan(req)
			if err != nil {
				t.Fatal(err)
			}
			if first, is := plan.Event.(privacy.Compose).Events[0].(privacy.DiscreteLaplace); is != c.counted {
				t.Errorf("%s: counts %v", c.params, first)
			}
			if a, err := privacy.EpsilonAt(plan.Event, privacy.ReplaceOne, 0); err != nil || a.Epsilon > 1 || a.Epsilon < 0.999 {
				t.Errorf("%s: costs %v (%v)", c.params, a.Epsilon, err)
			}
			out, err := sdktest.Run(Mechanism{}, req, evenTable(n), nil)
			if err != nil {
				t.Fatal(err)
			}
			column := func(name string) []float64 {
				for _, r := range out.Result.Columns {
					if r.Name == name {
						return r.Float64
					}
				}
				return nil
			}
			value, low, high := column("estimate"), column(linear.LowField), column(linear.HighField)
			for i := range value {
				if !(low[i] <= value[i] && value[i] <= high[i]) || i%3 > 0 && low[i] < low[i-1] {
					t.Errorf("%s: %v to %v around %v", c.params, low, high, value)
				}
			}
			if wide >= high[1]-low[1] {
				t.Errorf("%s: a draw does not widen the interval", c.params)
			}
			wide = high[1] - low[1]
			if len(c.params) > 20 && (low[0] != 0 || high[2] != 1000) {
				t.Errorf("%s: %v to %v does not reach the bounds", c.params, low, high)
			}
		}
	}
}

// There is no interval for units with several rows, of a tree, or of very many ranks.
func TestNoInterval(t *testing.T) {
	for _, params := range []string{`"method":"tree",`, `"quantiles":"percentiles","step":1,`} {
		req := asked(params, privacy.AddRemove, 0, 1)
		if _, err := (Mechanism{}).Plan(req); (err == nil) != (params[1] == 'q') {
			t.Errorf("%s: %v", params, err)
		}
		req.Public.Cap = &sdk.Cap{Groups: 1, Rows: 2}
		if _, err := (Mechanism{}).Plan(req); err == nil {
			t.Errorf("%s: a cap is accepted", params)
		}
	}
}

// All values lie at 50 to 69 of 0 to 200. The exact probability that the lower end lies above them
// all, over the cuts of both levels, is small for each rank and size. The twin forgets the empty
// part, as if values lay densely up to the bound.
func TestEndsKeepToTheValues(t *testing.T) {
	for _, c := range []struct {
		rank    string
		rows    int64
		epsilon float64
	}{{"0.75", 60, 1}, {"0.9", 80, 1}, {"0.9", 200, 0.5}, {"0.97", 150, 1}} {
		req := asked(`"quantiles":[`+c.rank+`],"step":1,`, privacy.ReplaceOne, c.rows, 0)
		req.Public.Columns[0].Upper, req.Target.Epsilon = 200, c.epsilon
		l, err := newLayout(req)
		if err != nil {
			t.Fatal(err)
		}
		s, err := newSearch(l, req)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.spend(req); err != nil {
			t.Fatal(err)
		}
		p := new([page]int64)
		for i := range c.rows {
			p[50+i%20]++
		}
		g := newGroup(s.points, &tally{pages: []*[page]int64{p}})
		held := s.widened(float64(c.rows))
		dense, flat := *s, *s.layout
		flat.lattice.cells = 1
		dense.layout = &flat
		twin := dense.widened(float64(c.rows))
		if got := s.above(g, held); !held.at[0].bottom && got > stray {
			t.Errorf("rank %s of %d rows: the lower end is above all values with a probability of %v", c.rank, c.rows, got)
		}
		if got := s.above(g, twin); twin.at[0].bottom || got < 3*stray {
			t.Errorf("rank %s of %d rows: the twin is above all values with a probability of %v", c.rank, c.rows, got)
		}
	}
}

// above is the probability that the lowest of three cuts lies above all values. The cuts in a cell
// are taken for the one in its middle.
func (s *search) above(g group, w wide) float64 {
	end := s.lattice.cells * s.points
	first := g.cells[len(g.cells)-1] + 1 // the first cell above the values
	// chances returns the probability of each cell for the cut of a node between 0 and hi.
	chances := func(n node, level int, hi int64) []float64 {
		num, den := n.share(w.ranks)
		rate := sdk.SelectRate(s.epsilons[level], s.sensitivity(level, num, den))
		out, sum := make([]float64, s.lattice.cells+1), 0.0
		for _, piece := range g.pieces(0, hi, num, den, rate) {
			const parts = 64
			for lo := piece.Lo; lo <= piece.Hi; lo += s.points / parts {
				width := math.Min(float64(s.points/parts), float64(piece.Hi-lo+1))
				x := width * math.Exp(-rate*float64(piece.Score+piece.Slope*(lo-piece.Lo)))
				out[lo/s.points] += x
				sum += x
			}
		}
		for i := range out {
			out[i] /= sum
		}
		return out
	}
	levels := w.levels()
	total := 0.0
	for c, x := range chances(levels[0][0], 0, end) {
		if x > 0 && int64(c) >= first {
			for at, y := range chances(levels[1][0], 1, min(int64(c)*s.points+s.points/2, end)) {
				if int64(at) >= first {
					total += x * y
				}
			}
		}
	}
	return total
}
