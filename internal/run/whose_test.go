package run

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/noise/insecurenoise"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/plugins/count"
	"github.com/dprelease/dprelease/plugins/histogram"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/proportion"
	"github.com/dprelease/dprelease/plugins/ratio"
	"github.com/dprelease/dprelease/plugins/sdk"
	sumof "github.com/dprelease/dprelease/plugins/sum"
	"github.com/dprelease/dprelease/privacy"
)

// drawing is a mechanism in the process of the test, with Laplace noise from a seeded generator. Raw is its last result as it is
// before the host says whose value it is.
type drawing struct {
	within
	rng *rand.Rand
	raw *sdk.Result
}

type drawnHost struct {
	noted
	rng *rand.Rand
}

func (h drawnHost) AddLaplace(_ context.Context, e privacy.DiscreteLaplace, v []int64) ([]int64, error) {
	out := slices.Clone(v)
	for i := range out {
		geometric := func() int64 { return int64(math.Floor(h.rng.ExpFloat64() * e.Scale)) }
		up, down := geometric(), geometric()
		out[i] += up - down
	}
	return out, nil
}

func (d drawing) Release(ctx context.Context, r sdk.ReleaseRequest, feed func(context.Context, host.RowWriter) error, _ host.Drawer) (sdk.Result, error) {
	fed := &collected{}
	if err := feed(ctx, fed); err != nil {
		return sdk.Result{}, err
	}
	result, err := d.Mechanism.Release(ctx, r, fed, drawnHost{rng: d.rng})
	*d.raw = result
	return result, err
}

var answering = map[string]sdk.Mechanism{"count": count.Mechanism{}, "sum": sumof.Mechanism{}, "mean": mean.Mechanism{},
	"proportion": proportion.Mechanism{}, "histogram": histogram.Mechanism{}, "ratio": ratio.Mechanism{}}

type answeringShelf struct{ d drawing }

func (s answeringShelf) Get(_ context.Context, name string) (planned.Mechanism, error) {
	s.d.Mechanism = answering[name]
	return s.d, nil
}

// stay is a row of the table of the test: persons with up to 20 stays, each person in wards of its own choice.
type stay struct {
	person int
	ward   string
	cost   float64
	none   bool // its cost is missing
	weight float64
}

func stays() (out []stay) {
	rng := rand.New(rand.NewPCG(3, 3))
	for p := range 400 {
		home := rng.IntN(2)
		for range 1 + int(min(19, rng.ExpFloat64()*6)) {
			s := stay{p, []string{"a", "b"}[home], math.Floor(rng.ExpFloat64() * 8), rng.IntN(4) == 0, 0.5}
			if rng.IntN(2) == 0 {
				s.ward = []string{"a", "b"}[rng.IntN(2)]
			}
			if s.ward == "b" {
				s.cost = -s.cost / 2
			}
			out = append(out, s)
		}
	}
	return out
}

// ends counts how often the ends of the first row of a release were shown, and held the value that a reader means.
type ends struct {
	low, high, lowHeld, bothHeld int // as published
	rawLow, rawBoth              int // of the mechanism's own ends
	tries                        int
	status                       string
}

// cover carries a job out many times.
func cover(t *testing.T, table, release string, truth float64) (out ends) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "t.csv")
	text := "u,ward,cost,w\n"
	for _, s := range stays() {
		cost := fmt.Sprint(s.cost)
		if s.none {
			cost = ""
		}
		text += fmt.Sprintf("%d,%s,%s,%v\n", s.person, s.ward, cost, s.weight)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var raw sdk.Result
	d := drawing{within{nil, nil}, rand.New(rand.NewPCG(1, 2)), &raw}
	j, err := language.Parse("job.yaml", fmt.Appendf(nil, `version: 1
job: stays
dataset:
  id: stays
  source: {path: "%s"}
  relation: add-remove
  unit: {column: u, name: person}
  %s
budget: {limit: {epsilon: 1000}}
releases: [%s]
output: {dir: out}
`, file, table, release), language.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Make(t.Context(), j, answeringShelf{d}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(200) {
		opened, err := OpenTable(t.Context(), p.Plan, 0)
		if err != nil {
			t.Fatal(err)
		}
		r := New(p.Plan, opened, &Mechanisms{known: map[string]func() (*mechanism, error){}}, Options{Observe: func(Progress) {}})
		for name, m := range answering {
			one := d
			one.Mechanism = m
			known := &mechanism{idle: []Process{one}}
			r.set.known[name] = func() (*mechanism, error) { return known, nil }
		}
		if err := r.drawAll(t.Context(), insecurenoise.NewSeeded(seed)); err != nil {
			t.Fatal(err)
		}
		opened.Close()
		at := func(result sdk.Result, name string) (float64, bool) {
			for _, c := range result.Columns {
				if c.Name == name {
					return c.Float64[0], !(len(c.Blank) > 0 && c.Blank[0])
				}
			}
			return 0, false
		}
		out.tries++
		result := plan.Published(r.Plan, r.Results)["r"]
		low, hasLow := at(result, "interval_low")
		high, hasHigh := at(result, "interval_high")
		if hasLow {
			out.low++
		}
		if hasHigh {
			out.high++
		}
		if hasLow && low <= truth {
			out.lowHeld++
		}
		if hasLow && hasHigh && low <= truth && truth <= high {
			out.bothHeld++
		}
		low, _ = at(raw, "interval_low")
		high, _ = at(raw, "interval_high")
		if low <= truth {
			out.rawLow++
		}
		if low <= truth && truth <= high {
			out.rawBoth++
		}
		for _, c := range result.Columns {
			if c.Name == "status" {
				out.status = c.Texts[0]
			}
		}
	}
	return out
}

// TestWhoseIntervals measures, for each trap of P41, how often the published ends hold the value that a reader means, given that
// they are shown; and that the mechanism's own ends, which a host that does not blank would publish, miss it.
func TestWhoseIntervals(t *testing.T) {
	var rows, inA, cost, costA float64
	kept := map[int]int{}
	wards := map[int]map[string]float64{}
	for _, s := range stays() {
		rows++
		if kept[s.person]++; wards[s.person] == nil {
			wards[s.person] = map[string]float64{}
		}
		wards[s.person][s.ward]++
		if s.ward == "a" {
			inA++
		}
		if !s.none {
			cost += s.cost
			if s.ward == "a" {
				costA += s.cost
			}
		}
	}
	share, n := 0.0, 0.0 // that is expected of at most 3 rows of each person
	for p, k := range kept {
		share += math.Min(3, float64(k)) * wards[p]["a"] / float64(k)
		n += math.Min(3, float64(k))
	}
	three := "cap: {groups: 1, rows: 3}\n  columns: {ward: {domain: [a, b]}, cost: {lower: 0, upper: 20, missing: drop}}"
	loose := func(cost string) string {
		return "cap: {groups: 2, rows: 30}\n  columns: {ward: {domain: [a, b]}, cost: " + cost + "}"
	}
	of := func(mechanism, more string) string {
		return "{name: r, mechanism: " + mechanism + ", guarantee: {epsilon: 20}" + more + "}"
	}
	const sum = ", params: {column: cost}"
	// A ratio that is twice the share of stays in ward a.
	halves := "columns: {ward: {domain: [a, b]}, w: {lower: 0, upper: 0.5, binds: definition}}\n" +
		"  derive: {in_a: {as: \"ward == 'a' ? 1 : 0\", lower: 0, upper: 1, binds: definition}}"
	inHalves := of("ratio", ", params: {numerator: in_a, denominator: w}")
	for _, c := range []struct {
		name, table, release string
		truth                float64
		shown                string // the ends that are shown
		status               string
		lowTwin              bool // the lower end by itself misses, too
	}{
		{"count", three, of("count", ", by: [ward]"), inA, "low", "at least: cap", false},
		{"count without groups", three, of("count", ""), rows, "low", "at least: cap", false},
		{"share", three, of("proportion", ", params: {column: ward, values: [a]}"), inA / rows, "", "cap", false},
		{"ratio", "cap: {groups: 1, rows: 3}\n  " + halves, inHalves, 2 * inA / rows, "", "cap missing", false},
		{"lower bound of 10", loose("{lower: 10, upper: 20, missing: drop}"), of("sum", sum+", by: [ward]"), costA, "", "cap limits missing", true},
		{"negative values", loose("{lower: 0, upper: 20, missing: drop}"), of("sum", sum), cost, "", "cap limits missing", true},
		{"missing as the centre", loose("{lower: 0, upper: 20, missing: {impute: 10}}"), of("sum", sum), cost, "", "cap limits missing", true},
		{"weights raised", "cap: {groups: 2, rows: 30}\n  weights: {column: w, at_most: 2}\n  columns: {ward: {domain: [a, b]}, w: {lower: 0, upper: 2}}",
			of("count", ", by: [ward]"), inA / 2, "", "cap limits", false},
		{"values moved into the first bin", loose("{lower: 0, upper: 20, missing: drop}"), of("histogram", ", params: {column: cost, edges: [0, 5, 20]}"), 0, "", "cap limits missing", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := cover(t, c.table, c.release, c.truth)
			shown := ""
			if e.low == e.tries {
				shown = "low"
			}
			if e.high > 0 {
				shown += "high"
			}
			if shown != c.shown || e.status != c.status {
				t.Errorf("shown %q, status %q, want %q, %q", shown, e.status, c.shown, c.status)
			}
			if c.shown == "low" && e.lowHeld < e.tries*95/100 {
				t.Errorf("the lower end held in %d of %d", e.lowHeld, e.tries)
			}
			if c.name != "weights raised" && c.name != "values moved into the first bin" && e.rawBoth > e.tries*80/100 {
				t.Errorf("a twin that does not blank holds in %d of %d", e.rawBoth, e.tries)
			}
			if c.lowTwin && e.rawLow > e.tries/2 {
				t.Errorf("a twin that shows the lower end holds in %d of %d", e.rawLow, e.tries)
			}
		})
	}
	t.Run("promise", func(t *testing.T) { // nothing is below 0 in ward a, so only the upper bound moves values
		e := cover(t, loose("{lower: 0, upper: 20, missing: drop, binds: upper}"), of("sum", sum+`, by: [ward], where: "ward == 'a'"`), costA)
		if e.low != e.tries || e.high != 0 || e.lowHeld < e.tries*95/100 || e.status != "at least: cap limits missing" {
			t.Errorf("%+v", e)
		}
	})
	for name, c := range map[string]struct { // the random choice of rows is in the interval
		columns, release string
		truth            float64
		status           string
	}{
		"definition of a share": {"columns: {ward: {domain: [a, b]}}", of("proportion", ", params: {column: ward, values: [a]}"), share / n, ""},
		"definition of a ratio": {halves, inHalves, 2 * share / n, "missing"},
	} {
		t.Run(name, func(t *testing.T) {
			e := cover(t, "cap: {groups: 1, rows: 3, binds: definition}\n  "+c.columns, c.release, c.truth)
			if e.low != e.tries || e.high != e.tries || e.bothHeld < e.tries*93/100 || e.status != c.status {
				t.Errorf("%+v", e)
			}
			if e.rawBoth > e.tries*80/100 {
				t.Errorf("a twin without the choice holds in %d of %d", e.rawBoth, e.tries)
			}
		})
	}
	t.Run("never", func(t *testing.T) { // no person has more than 20 rows
		e := cover(t, "cap: {groups: 2, rows: 30, binds: never}\n  columns: {ward: {domain: [a, b]}}", of("count", ", by: [ward]"), inA)
		if e.low != e.tries || e.high != e.tries || e.bothHeld < e.tries*91/100 || e.status != "" {
			t.Errorf("%+v", e)
		}
	})
}
