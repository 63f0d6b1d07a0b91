package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/plugins/asked"
)

// tables are units by their numbers of rows: all of them have one, most have few, most have about eight, and few have very many.
var capTables = []struct {
	name string
	rows func(r *rand.Rand) int
}{
	{"one row each", func(*rand.Rand) int { return 1 }},
	{"geometric, mean 2", func(r *rand.Rand) int { return 1 + int(r.ExpFloat64()/math.Ln2) }},
	{"geometric, mean 5", func(r *rand.Rand) int { return 1 + int(r.ExpFloat64()/-math.Log(0.8)) }},
	{"19 of 20 have 1 row, others 40", func(r *rand.Rand) int { return 1 + 39*(r.IntN(20)/19) }},
}

// errorOf is the error of a count under each cap, in ten groups.
func errorOf(units []int, caps []int64, noise float64) []float64 {
	out := make([]float64, len(caps))
	for i, r := range caps {
		left := 0.0
		for _, n := range units {
			left += math.Max(0, float64(n)-float64(r))
		}
		out[i] = math.Hypot(left/10, noise*float64(r))
	}
	return out
}

// TestChoiceOfACap holds the choice to its promise: an error of at most 1.3 times that of the largest cap, whatever the
// table, and less on average. It keeps the figures of the documentation. The noise is the same in every run.
func TestChoiceOfACap(t *testing.T) {
	const atMost, noise = 50, 2 * math.Sqrt2 // of a count at ε 0.5
	caps := asked.Caps(atMost)
	page := "| rows of a unit | choice at ε 0.05 | at ε 0.2 | largest cap, 48 |\n|---|---|---|---|\n"
	together, n := 0.0, 0.0
	for _, units := range []int{1000, 20_000} {
		for _, table := range capTables {
			rng := rand.New(rand.NewPCG(7, 1))
			var all []int
			bins := make([]float64, len(caps))
			for range units {
				rows := table.rows(rng)
				all = append(all, rows)
				at := 0
				for at < len(caps)-1 && caps[at] < int64(rows) {
					at++
				}
				bins[at]++
			}
			errs := errorOf(all, caps, noise)
			best := math.Inf(1)
			for _, e := range errs {
				best = math.Min(best, e)
			}
			line := fmt.Sprintf("| %s |", table.name)
			for _, epsilon := range []float64{0.05, 0.2} {
				square := 0.0
				for range 100 {
					noisy := make([]float64, len(bins))
					for i, b := range bins {
						noisy[i] = b + (rng.ExpFloat64()-rng.ExpFloat64())/epsilon
					}
					r := chooser{caps, []use{{cells: 10, groups: 1, noise: noise}}}.choose(noisy, math.Sqrt2/epsilon)
					for i, c := range caps {
						if c == r {
							square += errs[i] * errs[i] / 100
						}
					}
				}
				got, largest := math.Sqrt(square)/best, errs[len(errs)-1]/best
				if got > 1.3*largest {
					t.Errorf("%d units, %s, ε %v: %v times the best error, %v with the largest cap", units, table.name, epsilon, got, largest)
				}
				together, n = together+math.Log(got/largest), n+1
				line += fmt.Sprintf(" %.2f |", got)
			}
			if units == 1000 {
				page += line + fmt.Sprintf(" %.2f |\n", errs[len(errs)-1]/best)
			}
		}
	}
	if math.Exp(together/n) > 0.8 {
		t.Errorf("a choice is %v times as wrong as the largest cap on average", math.Exp(together/n))
	}
	if text, err := os.ReadFile("../../docs/mechanisms/unit_rows.md"); err != nil || !strings.Contains(string(text), page) {
		t.Errorf("docs/mechanisms/unit_rows.md has other figures (%v):\n%s", err, page)
	}
}

// Sums that grow where units with more rows must be fewer are replaced by their weighted mean, and negative ones by 0.
func TestFalling(t *testing.T) {
	for _, c := range []struct{ bins, want []float64 }{
		{[]float64{3, 2, 1}, []float64{6, 3, 1}},
		{[]float64{3, -1, 2}, []float64{4, 5. / 3, 5. / 3}},
		{[]float64{-2, -1, -4}, []float64{0, 0, 0}},
	} {
		got := falling(c.bins)
		for i := range got {
			if math.Abs(got[i]-c.want[i]) > 1e-12 {
				t.Errorf("%v: %v, want %v", c.bins, got, c.want)
			}
		}
	}
}
