package report_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/report"
)

// The sentence follows the relation, names the unit as people do, and says δ in
// words, rounded so that it promises no more than the guarantee.
func TestMeaning(t *testing.T) {
	school := report.Dataset{Unit: "row", UnitName: "school", UnitColumn: "cds"}
	for _, c := range []struct {
		g    report.Guarantee
		d    report.Dataset
		want string
	}{
		{report.Guarantee{Epsilon: 0.5, Relation: privacy.AddRemove}, school,
			"whether or not any one school is in the table changes the chance of any result by at most a factor 1.649"},
		{report.Guarantee{Epsilon: 0.5, Relation: privacy.AddRemove}, report.Dataset{Unit: "row", Collected: &report.Collected{Method: "poisson"}},
			"whether or not any one row is in the population changes the chance of any result by at most a factor 1.649"},
		{report.Guarantee{Epsilon: 0.5, Relation: privacy.AddRemove}, report.Dataset{Unit: "row", Collected: &report.Collected{Method: "rotation"}, Panel: &report.Panel{Wave: 1, Waves: 4, Collected: true}},
			"whether or not any one row is in the panel changes the chance of any result by at most a factor 1.649"},
		{report.Guarantee{Epsilon: 0.5, Relation: privacy.AddRemove}, report.Dataset{Unit: "row"},
			"whether or not any one row is in the table changes the chance of any result by at most a factor 1.649"},
		{report.Guarantee{Epsilon: 0.5, Relation: privacy.AddRemove}, report.Dataset{Unit: "row", UnitName: "household"}, // nothing checked it
			"whether or not any one row is in the table changes the chance of any result by at most a factor 1.649"},
		{report.Guarantee{Epsilon: 1, Delta: 1e-6, Relation: privacy.ReplaceOne}, school,
			"changing any one school’s record changes the chance of any result by at most a factor 2.719, and by a further 1e-6 at most (1 in 1\u202f000\u202f000)"},
		{report.Guarantee{Epsilon: 1, Delta: 3e-7, Relation: privacy.ReplaceOne}, report.Dataset{Unit: "row"},
			"changing the values in any one row changes the chance of any result by at most a factor 2.719, and by a further 3e-7 at most (1 in 3\u202f330\u202f000)"},
		{report.Guarantee{Epsilon: 1, Relation: privacy.ReplaceOne}, report.Dataset{Unit: "row", UnitName: "school", UnitColumn: "cds", PublicColumns: []string{"county"}},
			"changing any one school’s record (except county, which is public) changes the chance of any result by at most a factor 2.719"},
		{report.Guarantee{Epsilon: 1, Relation: privacy.ReplaceOne}, report.Dataset{Unit: "row", UnitName: "school", UnitColumn: "cds", PublicColumns: []string{"county", "district"}},
			"changing any one school’s record (except county and district, which are public) changes the chance of any result by at most a factor 2.719"},
		{report.Guarantee{Epsilon: 1, Delta: 0.75, Relation: privacy.AddRemove}, school,
			"whether or not any one school is in the table changes the chance of any result by at most a factor 2.719, and by a further 0.75 at most"},
	} {
		if got := report.Meaning(c.g, c.d); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// A guarantee that hardly hinders an attacker is called weak, in words.
func TestCaution(t *testing.T) {
	people := report.Dataset{Unit: "row", UnitName: "person", UnitColumn: "id", Population: 1000}
	for _, c := range []struct {
		eps, delta float64
		want       string
	}{
		{1, 0, ""}, {2, 1e-6, ""}, {2.5, 0, "a weak guarantee"}, {3, 0, "a very weak guarantee"}, {50, 0, "in 100 % of cases"},
		{1, 1e-3, "δ is large for a table of 1\u202f000 persons"}, {1, 0.9, "very weak"}, {1000, 1e-9, "very weak"},
	} {
		got := report.Caution(report.Guarantee{Epsilon: c.eps, Delta: c.delta, Relation: privacy.AddRemove}, people)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("ε %g, δ %g: %q, want %q", c.eps, c.delta, got, c.want)
		}
	}
}

// What is printed of a charge is never below it and hardly above, and of a limit the
// other way round; a short decimal is printed as it is.
func TestPrintedFigures(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		x := math.Exp(60*rng.Float64() - 40)
		up, err1 := strconv.ParseFloat(report.Spent(x), 64)
		down, err2 := strconv.ParseFloat(report.Allowed(x), 64)
		if err1 != nil || err2 != nil || up < x || up > x*1.001001 || down > x*(1+4e-9) || down < x/1.001001 {
			t.Fatalf("%v is printed as %s and %s", x, report.Spent(x), report.Allowed(x))
		}
		short := float64(1+rng.IntN(9999)) * math.Pow10(rng.IntN(12)-9)
		short, _ = strconv.ParseFloat(strconv.FormatFloat(short, 'g', 4, 64), 64)
		if back, err := strconv.ParseFloat(report.Spent(short), 64); err != nil || back != short {
			t.Fatalf("%v is printed as %s", short, report.Spent(short))
		}
	}
	for x, want := range map[float64]string{0: "0", 2e-6: "2e-6", 0.1: "0.1", 1.00001: "1.001", math.Inf(1): "+Inf"} {
		if got := report.Spent(x); got != want {
			t.Errorf("%v is printed as %s, not %s", x, got, want)
		}
	}
}
