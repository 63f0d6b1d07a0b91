package run

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/internal/calculus/series"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/plugin/inprocess"
	"github.com/dprelease/dprelease/internal/rows/units"
	"github.com/dprelease/dprelease/plugins/builtin"
)

// However many periods a unit is in, it is told apart no better than the guarantee of a series says that counts units in
// their first periods; and some are told apart nearly as well.
func TestNoNeighboursBeatTheCapOnPeriods(t *testing.T) {
	for _, of := range [][2]int{{1, 1}, {2, 1}, {2, 2}} {
		y := newSeries(t, fmt.Sprintf("periods_of_unit: {at_most: %d, apart: %d}", of[0], of[1]), "rho")
		y.noUnitBeatsTheCap(of)
	}
}

// noUnitBeatsTheCap tries all units, in every set of periods.
func (y *yearly) noUnitBeatsTheCap(of [2]int) {
	y.t.Helper()
	base := y.steps(others, nil)
	nearest := map[string]float64{}
	for _, l := range lives() {
		with := y.steps(append(slices.Clone(others), l), nil)
		for _, rel := range y.plan.Releases() {
			got, most := y.apart(rel, base, with), float(rel.Series.Most)
			if got > most*slack || rel.Series.Life.Cmp(rel.Series.Most) != 0 {
				y.t.Errorf("%v, %s: %v costs ρ %g and was charged %g", of, rel.Job.Name, l, got, most)
			}
			if in := l.within(); len(in) > of[0] || len(in) > 1 && in[1]-in[0] < of[1] {
				nearest[rel.Job.Name] = math.Max(nearest[rel.Job.Name], got/most)
			}
		}
	}
	for name, share := range nearest {
		if share < 0.85 && name != "m" || share < 0.5 {
			y.t.Errorf("%v, %s: no unit that is in more periods costs more than %g of what it was charged", of, name, share)
		}
	}
}

// keptIn lets the last unit of a table count in some periods alone, whatever its cap says.
func keptIn(l life, periods ...int) func(*Slices) {
	return func(of *Slices) {
		for p, v := range of.views {
			of.counted[p] = nil
			if slices.Contains(periods, p) {
				continue
			}
			set := units.NewRowSet(v.rows.Rows())
			for row := range v.rows.Rows() - int64(len(l[p])) {
				set.Add(row)
			}
			set.Count()
			of.counted[p] = set
		}
	}
}

// A cap that looks ahead, and one whose choice is drawn anew, are caught for each mechanism: else the test above would
// show nothing.
func TestBrokenCapsOnPeriodsAreCaught(t *testing.T) {
	y := newSeries(t, "periods_of_unit: {at_most: 1}", "rho")
	base := y.steps(others, nil)
	two := []row{{2, 0}}
	l := life{two, two, two}
	var in [][]measured // what each step sees of the unit, by the one period in which it counts
	for p := range threePeriods {
		in = append(in, y.steps(append(slices.Clone(others), l), keptIn(l, p)))
	}
	honest := y.steps(append(slices.Clone(others), l), nil)
	for _, rel := range y.plan.Releases() {
		most := float(rel.Series.Most)
		if got := y.apart(rel, base, honest); got > most*slack {
			t.Errorf("%s: the first period costs %g of %g", rel.Job.Name, got, most)
		}
		// The unit counts in the last period that there is so far: a later one pushes out an earlier one.
		if got := y.apart(rel, base, []measured{in[0][0], in[1][1], in[2][2]}); got <= most*slack {
			t.Errorf("%s: a cap that looks ahead is not caught: %g of %g", rel.Job.Name, got, most)
		}
		// Each step chooses the period anew.
		worst := 0.0
		for choice := range 6 {
			worst = math.Max(worst, y.apart(rel, base, []measured{in[0][0], in[choice%2][1], in[choice/2][2]}))
		}
		if worst <= most*slack {
			t.Errorf("%s: a cap that is redrawn is not caught: %g of %g", rel.Job.Name, worst, most)
		}
	}
}

// Weights are private values of rows: what a series charges covers each weight with each value.
func TestNoNeighboursBeatAWeightedSeries(t *testing.T) {
	y := planSeries(t, "periods_of_unit: {at_most: 2}", "rho", inprocess.Mechanisms(builtin.Mechanisms()),
		"fold: {", "weights: {column: w, at_most: 3}\n  fold: {w: max, ", "columns:\n", "columns:\n    w: {type: number}\n")
	for _, rel := range y.plan.Releases() {
		if rel.Weights == nil {
			t.Fatalf("%s has no weights", rel.Job.Name)
		}
	}
	y.noUnitBeatsTheCap([2]int{2, 1})
}

// strangers are the mechanisms of this program as if somebody else had written them.
type strangers struct{ inprocess.Mechanisms }

type stranger struct{ planned.Mechanism }

func (stranger) Origin() (builtin bool, sha256 string) { return false, "00" }

func (s strangers) Get(ctx context.Context, name string) (planned.Mechanism, error) {
	m, err := s.Mechanisms.Get(ctx, name)
	return stranger{m}, err
}

// Nothing shows that a plugin makes the same sums of a slice in each run. So it is charged as rows that change are: what
// TestRevisedRowsMeetBothSigns catches where it is charged less.
func TestPluginsInSeriesMayChangeTheirSums(t *testing.T) {
	signs, err := series.NewMatrix([][]int64{{2}, {2, 2}, {-2, 2, 1}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		from plan.Mechanisms
		want int64
	}{"built in": {inprocess.Mechanisms(builtin.Mechanisms()), 20}, "plugin": {strangers{builtin.Mechanisms()}, 36}} {
		y := planSeries(t, "periods_of_unit: {at_most: 2}", "rho", c.from)
		for _, rel := range y.plan.Releases() {
			y.reprice(rel, signs)
			if got, want := float(rel.Series.Most), float(rel.Series.Slices[2])*float64(c.want); math.Abs(got-want) > 1e-9*want {
				t.Errorf("%s, %s: charged %g, want %g", name, rel.Job.Name, got, want)
			}
		}
	}
}

// All series of a job mean the same units, whichever of them says so.
func TestTheCapHoldsForAllSeriesOfAJob(t *testing.T) {
	y := planSeries(t, "periods_of_unit: {at_most: 1}", "rho", inprocess.Mechanisms(builtin.Mechanisms()),
		"series:\n  s:", "series:\n  first:\n    periods: {from: 2026-01, to: 2026-03}\n    publish: [month]\n  s:", "{name: n, series: s", "{name: n, series: first")
	two := []row{{2, 0}}
	base, with := y.steps(others, nil), y.steps(append(slices.Clone(others), life{two, two, two}), nil)
	for _, rel := range y.plan.Releases() {
		if got, most := y.apart(rel, base, with), float(rel.Series.Most); got > most*slack || rel.Series.Life.Cmp(rel.Series.Most) != 0 {
			t.Errorf("%s: a unit in all periods costs ρ %g and was charged %g", rel.Job.Name, got, most)
		}
	}
}
