package report_test

import (
	"strings"
	"testing"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/report"
)

// The sentence follows the relation, names the unit as people do, and says δ in
// words, rounded so that it promises no more than the guarantee.
func TestMeaning(t *testing.T) {
	school := report.Dataset{Unit: "row", UnitName: "school"}
	for _, c := range []struct {
		g    report.Guarantee
		d    report.Dataset
		want string
	}{
		{report.Guarantee{Epsilon: 0.5, Relation: privacy.AddRemove}, school,
			"whether or not any one school is in the table changes the chance of any result by at most a factor 1.649"},
		{report.Guarantee{Epsilon: 0.5, Relation: privacy.AddRemove}, report.Dataset{Unit: "row"},
			"whether or not any one row is in the table changes the chance of any result by at most a factor 1.649"},
		{report.Guarantee{Epsilon: 1, Delta: 1e-6, Relation: privacy.ReplaceOne}, school,
			"changing any one school’s record changes the chance of any result by at most a factor 2.719, and by a further 1e-6 at most (1 in 1\u202f000\u202f000)"},
		{report.Guarantee{Epsilon: 1, Delta: 3e-7, Relation: privacy.ReplaceOne}, report.Dataset{Unit: "row"},
			"changing the values in any one row changes the chance of any result by at most a factor 2.719, and by a further 3e-7 at most (1 in 3\u202f330\u202f000)"},
		{report.Guarantee{Epsilon: 1, Relation: privacy.ReplaceOne}, report.Dataset{Unit: "row", UnitName: "school", PublicColumns: []string{"county"}},
			"changing any one school’s record (but for county, which is public) changes the chance of any result by at most a factor 2.719"},
		{report.Guarantee{Epsilon: 1, Relation: privacy.ReplaceOne}, report.Dataset{Unit: "row", UnitName: "school", PublicColumns: []string{"county", "district"}},
			"changing any one school’s record (but for county and district, which are public) changes the chance of any result by at most a factor 2.719"},
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
	people := report.Dataset{Unit: "row", UnitName: "person", Population: 1000}
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
