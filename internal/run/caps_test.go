package run

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/noise/insecurenoise"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/plugins/asked"
	"github.com/dprelease/dprelease/plugins/count"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/unitrows"
	"github.com/dprelease/dprelease/privacy"
)

// chosen is a mechanism whose noise is decided by the test: the first query gets numbers of the test's.
type chosen struct {
	within
	bins []int64
}

type pretended struct {
	noted
	bins []int64
}

func (p pretended) AddLaplace(ctx context.Context, ev privacy.DiscreteLaplace, v []int64) ([]int64, error) {
	out, err := p.noted.AddLaplace(ctx, ev, v)
	if p.bins != nil {
		out = p.bins
	}
	return out, err
}

func (c chosen) Release(ctx context.Context, r sdk.ReleaseRequest, feed func(context.Context, host.RowWriter) error, _ host.Drawer) (sdk.Result, error) {
	fed := &collected{}
	if err := feed(ctx, fed); err != nil {
		return sdk.Result{}, err
	}
	return c.Mechanism.Release(ctx, r, fed, pretended{noted{calls: c.calls}, c.bins})
}

type cappedShelf struct{}

func (cappedShelf) Get(_ context.Context, name string) (planned.Mechanism, error) {
	return within{map[string]sdk.Mechanism{"count": count.Mechanism{}, "unit_rows": unitrows.Mechanism{}}[name], nil}, nil
}

// cappedTable is a job with a cap that is chosen in private, on a tiny table.
type cappedTable struct {
	tiny
	t    *testing.T
	plan *plan.Priced
	file string
}

func newCappedTable(t *testing.T, relation, from string, units int) *cappedTable {
	c := &cappedTable{t: t, file: filepath.Join(t.TempDir(), "t.csv")}
	size := ""
	if relation == "replace-one" {
		size = fmt.Sprintf("\n  size: %d", units)
	}
	j, err := language.Parse("job.yaml", fmt.Appendf(nil, `version: 1
job: tiny
dataset:
  id: tiny
  source: {path: "%s"}
  relation: %s%s
  unit: {column: u, name: person, missing: drop}
  cap: {rows: {private: {epsilon: "0.8"}, at_most: 3}}
  columns: {x: {lower: 0, upper: 1}}
budget: {limit: {epsilon: 100}}
samples: {half: {method: poisson, rate: 0.5}}
releases:
  - {name: rows, from: %s, mechanism: count, guarantee: {epsilon: "0.5"}}
output: {dir: out}
`, c.file, relation, size, from), language.Options{})
	if err == nil {
		c.plan, err = plan.Make(t.Context(), j, cappedShelf{}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// seen holds the numbers that noise is added to: the histogram, and the count under the cap that was chosen.
type seen struct {
	bins   []int64
	rows   int64 // the cap
	vector int64
	scales [2]float64
	cap    int64 // that the exact histogram would choose
	result sdk.Result
}

// run carries the job out on units with so many rows each. The histogram that is published is bins.
func (c *cappedTable) run(units []int, bins []int64) seen {
	t, text := c.t, "u,x\n"
	for u, n := range units {
		for range n {
			text += fmt.Sprintf("%d,1\n", u)
		}
	}
	opened, err := c.tiny.open(t, c.plan.Plan, map[string]string{c.file: text})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	var calls []call
	r := New(c.plan.Plan, opened, &Mechanisms{known: map[string]func() (*mechanism, error){}}, Options{Observe: func(Progress) {}})
	for name, m := range map[string]chosen{"count": {within{count.Mechanism{}, &calls}, nil}, "unit_rows": {within{unitrows.Mechanism{}, &calls}, bins}} {
		known := &mechanism{idle: []Process{m}}
		r.set.known[name] = func() (*mechanism, error) { return known, nil }
	}
	if err := r.drawAll(t.Context(), insecurenoise.NewSeeded(1)); err != nil || len(calls) != 2 {
		t.Fatal(calls, err)
	}
	exact := make([]float64, len(calls[0].vector))
	for i, n := range calls[0].vector {
		exact[i] = float64(n)
	}
	out := seen{bins: calls[0].vector, rows: r.Plan.Job.Dataset.Cap.Rows, vector: calls[1].vector[0], cap: r.Plan.Planner.Choose("", exact, 0), result: r.Results["rows"]}
	for i, call := range calls {
		out.scales[i] = call.event.(privacy.DiscreteLaplace).Scale
	}
	return out
}

// The noisy histograms from which the caps 1, 2 and 3 are chosen: of many units with so many rows.
var histograms = map[int64][]int64{1: {500, 0, 0}, 2: {500, 500, 0}, 3: {0, 0, 500}}

// TestPrivateCap enumerates neighbours among tiny tables of units with up to three rows under both relations: a histogram and
// a count under the cap that follows from it never tell them apart by more than what is charged, whichever cap that is. The
// twins choose the cap from the exact histogram; keep three rows of a unit beside noise for the cap that was chosen; and
// choose a cap for each of two releases, paid once.
func TestPrivateCap(t *testing.T) {
	for _, relation := range []string{"add-remove", "replace-one"} {
		worst, charged := 0.0, 0.0
		exact, kept, twice := false, 0.0, 0.0
		for _, base := range [][]int{{1}, {1, 3, 3}} {
			c := newCappedTable(t, relation, "all", len(base)+1)
			charged = c.plan.Answer.Epsilon
			for rows, bins := range histograms {
				var all []seen
				for n := range 4 {
					if n == 0 && relation == "replace-one" {
						continue // a unit has a row
					}
					all = append(all, c.run(append(append([]int(nil), base...), n), bins))
				}
				for i, a := range all {
					if a.rows != rows {
						t.Fatalf("the histogram %v chooses %d rows, want %d", bins, a.rows, rows)
					}
					for k, b := range all[:i] {
						if relation == "add-remove" && k > 0 {
							break // only the table without the unit is a neighbour
						}
						moved := 0.0
						for at := range a.bins {
							moved += math.Abs(float64(a.bins[at] - b.bins[at]))
						}
						moved /= a.scales[0]
						counted := math.Abs(float64(a.vector-b.vector)) / a.scales[1]
						worst = math.Max(worst, moved+counted)
						twice = math.Max(twice, 2*moved+counted)
						kept = math.Max(kept, moved+float64(i-k)*float64(asked.MostRows/rows)/a.scales[1])
						exact = exact || a.cap != b.cap
					}
				}
			}
		}
		// Under replace-one a unit keeps a row here, and the plan is for one that may lose all.
		if worst > charged*(1+1e-9) || worst < 0.85*charged {
			t.Errorf("%s: neighbours are told apart by %v, charged %v", relation, worst, charged)
		}
		if !exact || kept <= charged || twice <= charged {
			t.Errorf("%s: a twin is not refuted: exact %v, more rows %v, twice %v of %v", relation, exact, kept, twice, charged)
		}
	}
}

// What comes back counts the rows that the cap keeps, and the noise is in proportion to the cap.
func TestPrivateCapUnits(t *testing.T) {
	c := newCappedTable(t, "add-remove", "all", 0)
	if names := c.plan.Releases(); len(names) != 2 || !strings.HasPrefix(names[1].Job.Name, "rows_left_out_by_cap") {
		t.Fatal("nothing chooses the cap")
	}
	one := 0.0
	for _, rows := range []int64{1, 2, 3} {
		got := c.run([]int{3, 1, 2}, histograms[rows])
		want := map[int64]float64{1: 3, 2: 5, 3: 6}[rows]
		if x := got.result.Columns[0].Float64[0]; x != want {
			t.Errorf("a cap of %d rows counts %v rows, want %v", rows, x, want)
		}
		sd := got.result.Columns[1].Float64[0]
		if rows == 1 {
			one = sd
		}
		if math.Abs(sd/one/float64(rows)-1) > 0.01 {
			t.Errorf("a cap of %d rows has noise of %v, and one row of %v", rows, sd, one)
		}
	}
}

// A cap for a sample is chosen from the units that were drawn, and paid for inside of the draw: under a cap that keeps all rows
// of a unit the rows of the histogram are those of the count.
func TestPrivateCapOfASample(t *testing.T) {
	c := newCappedTable(t, "add-remove", "half", 0)
	if len(c.plan.Draws) != 1 || len(c.plan.Draws[0].Releases) != 2 {
		t.Fatalf("the choice is not in the draw: there are %d draws", len(c.plan.Draws))
	}
	var units []int
	for u := range 60 {
		units = append(units, 1+u%3)
	}
	got := c.run(units, histograms[3])
	rows := int64(0)
	for i, n := range got.bins {
		rows += int64(i+1) * n
	}
	if want := got.vector / (asked.MostRows / 3); rows != want || rows == 0 || rows == 120 {
		t.Errorf("the units of the histogram have %d rows, and %d rows were drawn", rows, want)
	}
}
