package run

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/noise/insecurenoise"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/internal/plugin/inprocess"
	"github.com/dprelease/dprelease/plugins/asked"
	"github.com/dprelease/dprelease/plugins/count"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/unitrows"
	"github.com/dprelease/dprelease/privacy"
)

// inTurn publishes histograms of the test's, one after the other.
type inTurn struct {
	within
	bins *[][]int64
}

func (c inTurn) Release(ctx context.Context, r sdk.ReleaseRequest, feed func(context.Context, host.RowWriter) error, d host.Drawer) (sdk.Result, error) {
	one := chosen{c.within, (*c.bins)[0]}
	*c.bins = (*c.bins)[1:]
	return one.Release(ctx, r, feed, d)
}

// cappedTables is a job on two tables whose caps are both chosen in private.
type cappedTables struct {
	tiny
	t    *testing.T
	plan *plan.Priced
	dir  string
}

const cappedReleases = `
  - {name: visits, table: visits, mechanism: count, guarantee: {epsilon: "0.5"}}
  - {name: stays, table: stays, mechanism: count, guarantee: {epsilon: "0.5"}}`

func cappedTablesJob(t *testing.T, dir, relation, releases string, units int) *job.Job {
	size := ""
	if relation == "replace-one" {
		size = fmt.Sprintf("\n  size: %d\n  population: persons", units)
	}
	j, err := language.Parse("job.yaml", fmt.Appendf(nil, `version: 1
job: tiny
dataset:
  id: tiny
  relation: %s%s
  unit: {column: u, name: person}
  tables:
    persons: {source: {path: "%s/persons.csv"}, unit: {rows: 1}, columns: {x: {lower: 0, upper: 1}}}
    visits:
      source: {path: "%s/visits.csv"}
      cap: {rows: {private: {epsilon: "0.8"}, at_most: 3}}
      columns: {x: {lower: 0, upper: 1}}
    stays:
      source: {path: "%s/stays.csv"}
      cap: {rows: {private: {epsilon: "0.8"}, at_most: 3}}
      columns: {x: {lower: 0, upper: 1}}
budget: {limit: {epsilon: 100}}
samples: {half: {method: poisson, rate: 0.5}, other: {method: poisson, rate: 0.5}}
releases:%s
output: {dir: out}
`, relation, size, dir, dir, dir, releases), language.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func newCappedTables(t *testing.T, relation, releases string, units int) *cappedTables {
	c := &cappedTables{t: t, dir: t.TempDir()}
	var err error
	if c.plan, err = plan.Make(t.Context(), cappedTablesJob(t, c.dir, relation, releases, units), cappedShelf{}, inprocess.NoPast{}); err != nil {
		t.Fatal(err)
	}
	return c
}

// run carries the job out on units with so many visits and stays each, and returns what noise is added to. The histograms
// that are published are those of the two caps.
func (c *cappedTables) run(units [][2]int, caps [2]int64) (*Runner, []call) {
	t, texts := c.t, map[string]string{"persons.csv": "u,x\n", "visits.csv": "u,x\n", "stays.csv": "u,x\n"}
	for u, n := range units {
		texts["persons.csv"] += fmt.Sprintf("%d,1\n", u)
		texts["visits.csv"] += strings.Repeat(fmt.Sprintf("%d,1\n", u), n[0])
		texts["stays.csv"] += strings.Repeat(fmt.Sprintf("%d,1\n", u), n[1])
	}
	files := map[string]string{}
	for name, text := range texts {
		files[filepath.Join(c.dir, name)] = text
	}
	opened, err := c.tiny.open(t, c.plan.Plan, files)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	var calls []call
	bins := [][]int64{histograms[caps[0]], histograms[caps[1]]}
	r := New(c.plan.Plan, opened, &Mechanisms{known: map[string]func() (*mechanism, error){}}, Options{Observe: func(Progress) {}})
	for name, m := range map[string]Process{"count": within{count.Mechanism{}, &calls}, "unit_rows": inTurn{within{unitrows.Mechanism{}, &calls}, &bins}} {
		known := &mechanism{idle: []Process{m, m, m}}
		r.set.known[name] = func() (*mechanism, error) { return known, nil }
	}
	if err := r.drawAll(t.Context(), insecurenoise.NewSeeded(1)); err != nil {
		t.Fatal(err)
	}
	return r, calls
}

// TestPrivateCapsOfTables enumerates neighbours of two tables whose caps are chosen in private: two histograms and two counts
// under the caps that follow from them never tell apart tables that differ in the visits and the stays of one person by more
// than what is charged (P32). The twins cap each table as the other one; keep three rows beside noise for the cap that was
// chosen; and choose for two releases apart, paid once.
func TestPrivateCapsOfTables(t *testing.T) {
	for _, relation := range []string{"add-remove", "replace-one"} {
		base := [][2]int{{1, 3}, {3, 0}}
		c := newCappedTables(t, relation, cappedReleases, len(base)+1)
		charged := c.plan.Answer.Epsilon
		worst, swapped, kept, unpaid := 0.0, 0.0, 0.0, 0.0
		for _, caps := range [][2]int64{{1, 1}, {1, 3}, {2, 1}, {3, 1}, {2, 3}} {
			type table struct {
				unit  [2]int
				calls []call
			}
			var all []table
			add := func(units [][2]int, unit [2]int) {
				r, calls := c.run(units, caps)
				if got := [2]int64{r.Plan.Job.Of("visits").Dataset.Cap.Rows, r.Plan.Job.Of("stays").Dataset.Cap.Rows}; got != caps || len(calls) != 4 {
					t.Fatalf("the caps are %v and not %v, and noise was added %d times", got, caps, len(calls))
				}
				all = append(all, table{unit, calls})
			}
			if relation == "add-remove" {
				add(base, [2]int{})
			}
			for visits := range 4 {
				for stays := range 4 {
					unit := [2]int{visits, stays}
					add(append(base[:2:2], unit), unit)
				}
			}
			for i, a := range all {
				for k, b := range all[:i] {
					if relation == "add-remove" && k > 0 {
						break // only the tables without the unit are neighbours
					}
					moved := [4]float64{}
					broken, loose := 0.0, 0.0
					for n := range moved {
						scale := a.calls[n].event.(privacy.DiscreteLaplace).Scale
						for at, x := range a.calls[n].vector {
							moved[n] += math.Abs(float64(x-b.calls[n].vector[at])) / scale
						}
						if n >= 2 { // a count
							of, other := n-2, 3-n
							rows := func(u [2]int, cap int64) float64 { return float64(min(int64(u[of]), cap)) }
							each := float64(asked.MostRows/caps[of]) / scale
							broken += math.Abs(rows(a.unit, caps[other])-rows(b.unit, caps[other])) * each
							loose += math.Abs(rows(a.unit, 3)-rows(b.unit, 3)) * each
						}
					}
					worst = math.Max(worst, moved[0]+moved[1]+moved[2]+moved[3])
					swapped = math.Max(swapped, moved[0]+moved[1]+broken)
					kept = math.Max(kept, moved[0]+moved[1]+loose)
					unpaid = math.Max(unpaid, 2*moved[0]+moved[1]+moved[2]+moved[3])
				}
			}
		}
		if worst > charged*(1+1e-9) || worst < 0.8*charged {
			t.Errorf("%s: neighbours are told apart by %v, charged %v", relation, worst, charged)
		}
		if swapped <= charged || kept <= charged || unpaid <= charged {
			t.Errorf("%s: a twin is not refuted: swapped %v, more rows %v, unpaid %v of %v", relation, swapped, kept, unpaid, charged)
		}
	}
}

// A cap is chosen in the first draw from which a release reads its table, although that draw begins with a release from another
// one; a choice in a later draw is refused, because rows would be read that nothing caps.
func TestCapsAreChosenBeforeTheirTableIsRead(t *testing.T) {
	const releases = `
  - {name: a, table: visits, from: half, mechanism: count, guarantee: {epsilon: "0.5"}}
  - {name: b, table: stays, from: other, mechanism: count, guarantee: {epsilon: "0.5"}}
  - {name: c, table: stays, from: half, mechanism: count, guarantee: {epsilon: "0.5"}}`
	c := newCappedTables(t, "add-remove", releases, 0)
	for _, rel := range c.plan.Releases() {
		if rel.Job.ChoosesCap() && rel.Job.From != "half" {
			t.Errorf("the cap of %s is chosen in draw %s", rel.Job.Table, rel.Job.From)
		}
	}
	units := make([][2]int, 40)
	for i := range units {
		units[i] = [2]int{1 + i%3, 3}
	}
	r, calls := c.run(units, [2]int64{3, 2})
	drawn := calls[3].vector[0] / (asked.MostRows / 2) // of c: two stays of each drawn person
	if r.Results["c"].Columns[0].Float64[0] != float64(drawn)*2 || drawn%2 != 0 || drawn == 0 || drawn >= 80 {
		t.Errorf("c counts %v rows, and %d rows were kept in the sample", r.Results["c"].Columns[0].Float64, drawn)
	}
	j := cappedTablesJob(t, c.dir, "add-remove", releases, 0)
	for i := range j.Releases {
		if rel := &j.Releases[i]; rel.ChoosesCap() && rel.Table == "stays" {
			rel.From = "other"
		}
	}
	want := "dataset.tables.stays.cap.rows: is chosen in a draw that comes after that of release c"
	if _, err := plan.Make(t.Context(), j, cappedShelf{}, inprocess.NoPast{}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a choice after its releases is planned: %v", err)
	}
}
