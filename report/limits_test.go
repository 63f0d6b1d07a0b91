package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/say/figure"
)

// What limits a value is said in sentences, in both languages, from one place.
func TestLimits(t *testing.T) {
	lower, upper, below := 0.0, 60_000.0, -5.0
	people := Dataset{Unit: "row", UnitName: "person", UnitColumn: "id"}
	income := ColumnLimit{Column: "income", Lower: &lower, Upper: &upper, Missing: Drop}
	for _, c := range []struct {
		e    Release
		want []string
	}{
		{Release{}, nil},
		{Release{Where: "age > 17"}, []string{"Only rows where age > 17 count"}},
		{Release{Limits: &Limits{Ends: EndsLower, Cap: &CapLimit{Rows: 2}}}, []string{"At most 2 rows of each person count",
			"Rows may be left out and none can be added: intervals have their lower end alone, “at least”"}},
		{Release{Limits: &Limits{Cap: &CapLimit{Rows: 1, Binds: BindsDefinition}}}, []string{"At most 1 row of each person counts (this is part of what is published)"}},
		{Release{Interval: "95", Limits: &Limits{Of: []string{"x"}}}, []string{"Intervals are about the values within these limits"}},
		{Release{Limits: &Limits{Cap: &CapLimit{Rows: 2, Groups: 1}}}, []string{"Each person counts in at most one group, with at most 2 rows there"}},
		{Release{Interval: "95", Suppress: &Suppress{Below: 80, Column: "count"}},
			[]string{"A group is shown if its noisy number reaches 80: of groups of about that size or smaller, intervals miss more often than they say"}},
		{Release{Interval: "95", Suppress: &Suppress{Below: 80}, Mechanism: Mechanism{Builtin: true}}, nil}, // these hold given that they are shown
		{Release{Suppress: &Suppress{Below: 80}}, nil},
		{Release{Interval: "95", Limits: &Limits{Blank: 0.3}}, []string{"Values with a relative error above 30 % are blank: of values near that, " +
			"and of those that luck shows, intervals miss more often than they say"}},
		{Release{Interval: "95", Suppress: &Suppress{Below: 80}, Limits: &Limits{Ends: EndsNone}},
			[]string{"Rows may be left out, and nobody knows how far a value lies from that of all: there is no interval"}},
		{Release{Limits: &Limits{Ends: EndsNone, Cap: &CapLimit{Rows: 1, Groups: 3}}},
			[]string{"Each person counts in at most 3 groups, with at most 1 row in each", "Rows may be left out, and nobody knows how far a value lies from that of all: there is no interval"}},
		{Release{Having: "n > 1", Weights: &Weights{AtMost: 40}, Limits: &Limits{Columns: []ColumnLimit{income,
			{Column: "score", Lower: &below, Upper: &upper, Missing: Drop}, {Column: "port", Missing: As("none"), Outside: Drop}}}},
			[]string{"Only units where n > 1 count", "income limited to 0–60\u202f000, score limited to the range from −5 to 60\u202f000, weights limited to 1–40",
				"A missing port counts as none", "Rows without income or score are left out", "Rows with a value of port that is not listed are left out"}},
		{Release{Limits: &Limits{Columns: []ColumnLimit{{Column: "x", Lower: &lower, Upper: &upper, Found: true}}}},
			[]string{"x limited to bounds that are found in private, between 0 and 60\u202f000"}},
	} {
		if got := LimitText(c.e, people); !slices.Equal(got, c.want) {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
		for _, text := range limitText(wordsIn("de"), c.e, people, true) {
			if strings.Contains(text, "limit") || strings.Contains(text, "%!") {
				t.Errorf("in German: %s", text)
			}
		}
	}
	r := Report{Dataset: people, Releases: []Release{
		{Name: "a", Limits: &Limits{Columns: []ColumnLimit{income}}}, {Name: "b", Where: "x", Limits: &Limits{Columns: []ColumnLimit{income}}}}}
	all := r.AllLimits()
	if len(all) != 3 || all[0].Releases != nil || !slices.Equal(all[2].Releases, []string{"b"}) {
		t.Errorf("%+v", all)
	}
}

// A selection that let no value through is no result, whatever it read.
func TestVerdictOfNoKey(t *testing.T) {
	e := Release{Name: "n", From: "all", Keys: &Keys{Column: "town"}}
	one := result{w: wordsIn("en"), release: e, table: Table{Columns: []Column{{Name: "town", Texts: []string{}}, {Name: "estimate", Float64: []float64{}}}}}
	one.index()
	if v := one.verdict(&Report{}, 0); v.Grade != "poor" || v.Label != "no value" || !strings.Contains(v.Text, "town") {
		t.Errorf("%+v", v)
	}
	one.table = Table{} // a plan
	if v := one.verdict(&Report{}, 0); v.Grade != "good" {
		t.Errorf("of a plan: %+v", v)
	}
}

// The first screen keeps the order of the job, but for what is of no use, and has room for so many values.
func TestFirstScreen(t *testing.T) {
	var all []verdictView
	var results []*result
	for i, n := range []int{1, 30, 2, 0, 30, 30, 1} {
		one := newResult(wordsIn("en"), Release{Name: string(rune('a' + i))}, Table{Columns: []Column{{Name: "estimate", Float64: make([]float64, n)}}})
		all, results = append(all, verdictView{Release: one.release.Name, ID: i}), append(results, &one)
	}
	poor := slices.Clone(all)
	poor[6].Grade = "poor"
	if got, _ := firstScreen(poor, results); got[0].Release != "g" || got[1].Release != "a" {
		t.Errorf("a release of no use stands behind %s", got[0].Release)
	}
	got, left := firstScreen(all, results)
	rows := 0
	for i, v := range got {
		rows += len(v.First)
		if v.Release != all[i].Release {
			t.Errorf("%s stands at place %d", v.Release, i)
		}
	}
	if rows != shownVerdicts || len(got) != 5 || left != 2 || got[1].More != 30-shownValues || got[4].More != 26 {
		t.Errorf("%d rows, %d left: %+v", rows, left, got)
	}
	if text := noiseText(wordsIn("en"), 0.0001, false); text != "noise below 0.1 %" {
		t.Error(text)
	}
}

// Marks of an axis never look alike, however narrow it is.
func TestMarksDiffer(t *testing.T) {
	for _, c := range [][2]float64{{110_100_000, 110_600_000}, {0, 1}, {9_999_990, 10_000_010}, {1e9, 1e9 + 5e4}} {
		var labels []string
		for _, tick := range (briefly{}).Ticks(c[0], c[1]) {
			labels = append(labels, tick.Label)
		}
		if n := len(labels); n < 4 || len(slices.Compact(slices.Sorted(slices.Values(labels)))) != n {
			t.Errorf("%v: %v", c, labels)
		}
	}
	if figure.Even(brief).Ticks(110_100_000, 110_600_000)[0].Label != "110M" {
		t.Error("three digits tell these marks apart: the test has no point")
	}
}

func TestArticle(t *testing.T) {
	for noun, want := range map[string]string{"person": "a person", "airport": "an airport", "unit": "a unit", "": "a "} {
		if got := A(noun); got != want {
			t.Errorf("%q", got)
		}
	}
}
