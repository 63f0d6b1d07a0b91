package report_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/say/sentence"
	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/report"
)

var update = flag.Bool("update", false, "write the golden pages again")

// fixtures are reports of real runs, and one made by hand for the events that no
// built-in mechanism has.
var fixtures = []string{"schools", "response", "descent", "series", "onepass"}

func load(t testing.TB, name string) (*report.Report, map[string]report.Table) {
	t.Helper()
	var r report.Report
	var values map[string]report.Table
	for file, into := range map[string]any{"report.json": &r, "values.json": &values} {
		b, err := os.ReadFile(filepath.Join("testdata", name, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, into); err != nil {
			t.Fatal(err)
		}
	}
	return &r, values
}

// drawn are the pages of the fixtures, whose figures take most of the time.
var drawn = map[string]func() (*report.Page, error){}

func pageOf(t testing.TB, name string, r *report.Report) *report.Page {
	t.Helper()
	if drawn[name] == nil {
		drawn[name] = sync.OnceValues(func() (*report.Page, error) { return report.NewPage(r) })
	}
	p, err := drawn[name]()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func html(t testing.TB, p *report.Page, r *report.Report, values map[string]report.Table, public bool) string {
	t.Helper()
	var own, others bytes.Buffer
	if err := p.WriteHTML(&own, &others, r, values); err != nil {
		t.Fatal(err)
	}
	if public {
		return others.String()
	}
	return own.String()
}

func draw(t testing.TB, r *report.Report) *report.Page {
	t.Helper()
	p, err := report.NewPage(r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The page of a fixed report is fixed, to the byte.
func TestGoldenPages(t *testing.T) {
	for _, name := range tier.Some(fixtures, 3) {
		t.Run(name, func(t *testing.T) {
			r, values := load(t, name)
			got := html(t, pageOf(t, name, r), r, values, false)
			fresh, err := report.NewPage(r)
			if err != nil {
				t.Fatal(err)
			}
			if again := html(t, fresh, r, values, false); again != got {
				t.Fatal("two pages of one report differ")
			}
			golden := filepath.Join("testdata", name, "report.html")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the page differs from %s; if that is meant, run go test ./report -update", golden)
			}
		})
	}
}

// What the page must say, in this order.
func TestPageSaysEverything(t *testing.T) {
	r, values := load(t, "schools")
	inOrder(t, html(t, pageOf(t, "schools", r), r, values, false),
		"4 releases (means) from the data set ca-schools-2000", "6\u202f194 rows",
		`id="verdicts"`, "whole table", "full table 2.2 times better", "full table 5.7 times better", // the results first
		"at most 87 times in 100", "ε\u00a01.9, δ\u00a00", // then the guarantee in words, with its number
		`id="released"`, "it is no confidence interval for the population", "<svg", "api_mean", "noise, in 95 of 100 cases",
		"api_sampled", "noise alone, in 95 of 100 cases", "noise and sampling, as the job assumes",
		"enrolment_by_type", "sampling adds more; how much is not public", "api_multistage",
		`id="protected"`, "changing the values in any one row (except county and district, which are public) changes the chance of any result by at most a factor 6.686",
		`id="numbers"`, "estimate (api99), estimate (api00)", "noise alone", "the whole table was read",
		"sampling alone, at worst", "sampling alone, assumed", "noise and sampling, at worst", "Chebyshev’s inequality",
		"is not public: it depends on how many rows of each group",
		`id="guarantee"`, "Changing the values in any one row changes the chance of any result by at most a factor 1.136", "county and district",
		"12.9 %", "ε\u00a00.5, δ\u00a00", "ε\u00a01.795, δ\u00a00", "times that of the full table", "Subsampling: Tight Analyses",
		`id="profile"`, "<svg", `id="attacker"`, "where guessing detects 5 %", "<svg", "Any attacker",
		`id="efficiency"`, "0.464", "3.87", "0.409", "<svg",
		`id="bounds"`, "(charged)", "Claimed elsewhere, not sound here", "Theorem 3", "reveal which unit was drawn",
		`id="budget"`, "Spent before", `id="provenance"`, r.Job.Digest, r.Releases[0].Files[0].SHA256, "This page has no seed")
	r, values = load(t, "response")
	inOrder(t, html(t, pageOf(t, "response", r), r, values, false), "Hiding Among the Clones", `id="local"`, "Local ε₀", "not shuffled", "14\u202f827")
	r, values = load(t, "onepass")
	inOrder(t, html(t, pageOf(t, "onepass", r), r, values, false), `id="positions"`, "<svg", "1\u202f000")
	r, values = load(t, "descent")
	inOrder(t, html(t, pageOf(t, "descent", r), r, values, false), "batches that a mechanism draws from the whole table (rate 10 %)", "before amplification")
}

// The errors of the first screen hold the chance of a draw where one was made, and the page does not call them noise alone there.
func TestPageNamesItsErrors(t *testing.T) {
	const alone, drawn = "± is the noise alone.", "± is the noise, and where a sample was drawn also the chance of the draw"
	r, values := load(t, "schools")
	lower, upper := 200.0, 1000.0
	for i := range r.Releases {
		r.Releases[i].Limits = &report.Limits{Columns: []report.ColumnLimit{{Column: "api00", Lower: &lower, Upper: &upper}}}
	}
	if page := html(t, draw(t, r), r, values, false); strings.Contains(page, alone) || !strings.Contains(page, drawn) {
		t.Error("the errors of a sample are called noise alone")
	}
	r.Draws = r.Draws[:1]
	r.Releases = slices.DeleteFunc(r.Releases, func(e report.Release) bool { return e.From != r.Draws[0].Name })
	if page := html(t, draw(t, r), r, values, false); !strings.Contains(page, alone) || strings.Contains(page, drawn) {
		t.Error("the errors of a whole table are not called noise alone")
	}
}

func inOrder(t *testing.T, page string, parts ...string) {
	t.Helper()
	rest := page
	for _, p := range parts {
		_, after, ok := strings.Cut(rest, p)
		if !ok {
			t.Errorf("%q is missing (there at all: %v)", p, strings.Contains(page, p))
			continue
		}
		rest = after
	}
}

// A reader sees the first figure after at most sixty words, in each language.
func TestFirstFigure(t *testing.T) {
	for _, name := range []string{"schools", "series"} {
		for _, language := range sentence.Languages {
			r, values := load(t, name)
			r.Publication = &report.Publication{Title: "A title of a page", Publisher: "An office", Period: "2026", Language: language}
			_, page, _ := strings.Cut(html(t, draw(t, r), r, values, false), "<header>")
			before, _, found := strings.Cut(page, `<td class="e">`)
			text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(before, " ")
			if n := len(strings.Fields(text)); !found || n > 60 {
				t.Errorf("%s in %s: the first figure comes after %d words: %s", name, language, n, text)
			}
		}
	}
}

// The public page has no ledger; neither page runs a script or asks for anything
// on a network, and the policy fits the style sheet that is there.
func TestPagesAreSelfContained(t *testing.T) {
	for _, name := range fixtures {
		r, values := load(t, name)
		r.Budget = &report.Budget{Ledger: "LEDGER-CANARY", Head: "HEAD-CANARY", Filter: "FILTER-CANARY", LimitEpsilon: "3",
			Amounts: []report.Amount{{Unit: "epsilon", Cost: "0.5", Spent: "1.25", Limit: "3", Left: "1.75"}}}
		internal, public := html(t, pageOf(t, name, r), r, values, false), html(t, pageOf(t, name, r), r, values, true)
		inOrder(t, internal, `id="budget"`, ">0.75<", ">0.5<", ">1.25<", ">3<", ">1.75<", "LEDGER-CANARY")
		if strings.Contains(public, "CANARY") || strings.Contains(public, `id="budget"`) {
			t.Errorf("%s: the public page shows the ledger", name)
		}
		for _, page := range []string{internal, public} {
			if m := regexp.MustCompile(`(?i)<script|<link|<iframe|<img|\ssrc=|\sstyle=|url\(|\son\w+=|https?://|javascript:`).FindString(page); m != "" {
				t.Errorf("%s: the page holds %q", name, m)
			}
		}
	}
}

// A hostile name or value stays text.
func TestPageEscapes(t *testing.T) {
	r, values := load(t, "schools")
	evil := `</style><script>alert(1)</script>" onload="x<!--public--><!--both-->`
	r.Job.Name, r.Dataset.ID, r.Draws[1].Name, r.Releases[0].Name = evil, evil, evil, evil
	r.Releases[0].Verdict, r.Releases[0].Expected[0].Note, r.Releases[0].Files[0].Path = evil, evil, evil
	values[evil] = report.Table{Columns: []report.Column{{Name: evil, Texts: []string{evil}}}}
	r.Budget = &report.Budget{Ledger: evil + "LEDGER-CANARY", Head: evil, Filter: evil}
	for _, public := range []bool{false, true} {
		page := html(t, draw(t, r), r, values, public)
		if strings.Contains(page, "<script") || strings.Contains(page, `" onload`) || strings.Contains(page, "<!--") {
			t.Error("a text became markup")
		}
		if strings.Contains(page, "LEDGER-CANARY") == public {
			t.Error("a text moved what one reader sees to another")
		}
	}
}

// used is the processor time of this process so far: it does not depend on what else
// the machine does.
func used(t testing.TB) time.Duration {
	t.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// A job of ten thousand releases still has a page that can be opened.
func TestPageOfManyReleases(t *testing.T) {
	tier.Full(t, "TestPageSaysEverything")
	r, values := load(t, "schools")
	release, sample := r.Releases[0], r.Draws[1]
	table := report.Table{Columns: []report.Column{{Name: "estimate"}}}
	for i := range 5000 {
		table.Columns[0].Float64 = append(table.Columns[0].Float64, float64(i))
	}
	r.Releases, r.Draws = nil, nil
	releases := tier.Of(300, 10_000)
	for i := range releases {
		e, d := release, sample
		e.Name, d.Name = fmt.Sprintf("release_%d", i), fmt.Sprintf("draw_%d", i)
		r.Releases, r.Draws = append(r.Releases, e), append(r.Draws, d)
		values[e.Name] = table
	}
	// The worst of them is the last, and stands on the first screen all the same.
	worst := &r.Releases[len(r.Releases)-1]
	worst.Expected = []report.ExpectedError{{Field: "estimate", NoiseSD: 10, Half95: 20, Range: 1}}
	start := used(t)
	page := html(t, draw(t, r), r, values, false)
	inOrder(t, page, `<tbody class="poor">`, `<th scope="rowgroup" rowspan="4">`+strings.ReplaceAll(worst.Name, "_", "_<wbr>")+` `, `<tbody class="good">`)
	if len(page) > 2<<20 {
		t.Errorf("the page has %d bytes", len(page))
	}
	if d := used(t) - start; d > 2*time.Minute {
		t.Errorf("the page took %v", d)
	}
	inOrder(t, page, fmt.Sprint(releases-200, " more releases"), fmt.Sprint(releases-50, " more draws"))
}

// A page of a hundred releases is small enough to be mailed, in every language, and what
// comes from report.json is marked as English in the others.
func TestPageOfAHundredReleases(t *testing.T) {
	tier.Full(t, "TestPageOfManyReleases")
	r, values := load(t, "schools")
	r.Publication = &report.Publication{Title: "Schulen", Publisher: "Amt", Period: "2000", Contact: "amt@example.org", Language: "de"}
	release := r.Releases[0]
	r.Releases = nil
	for i := range 100 {
		e := release
		e.Name = fmt.Sprintf("release_%d", i)
		r.Releases = append(r.Releases, e)
		values[e.Name] = values[release.Name]
	}
	page := html(t, draw(t, r), r, values, false)
	if len(page) > 300<<10 {
		t.Errorf("the page has %d bytes", len(page))
	}
	inOrder(t, page, `<html lang="de">`, "Amt", "2000", "<h1>Schulen</h1>", "100 Veröffentlichungen (Mittelwerte)", "Und 94 weitere", "87 von 100",
		`id="released"`, "Rauschen, in 95 von 100 Fällen", "Rauschen allein", "amt@example.org")
	if strings.Contains(page, "%!") {
		t.Error("a text has a blank that is not filled in")
	}
}

func BenchmarkPage(b *testing.B) {
	r, values := load(b, "schools")
	for b.Loop() {
		html(b, draw(b, r), r, values, false)
	}
}

// BenchmarkLargePage: a page shows as many values of a million rows as of ten thousand.
func BenchmarkLargePage(b *testing.B) {
	for _, rows := range []int{10_000, 1_000_000} {
		b.Run(fmt.Sprint(rows), func(b *testing.B) {
			r, values := load(b, "schools")
			table := report.Table{Columns: []report.Column{{Name: "group"}, {Name: "estimate"}, {Name: "noise_sd"}}}
			for i := range rows {
				table.Columns[0].Texts = append(table.Columns[0].Texts, fmt.Sprint("g", i))
				table.Columns[1].Float64, table.Columns[2].Float64 = append(table.Columns[1].Float64, float64(i)), append(table.Columns[2].Float64, 1)
			}
			values[r.Releases[0].Name] = table
			p := draw(b, r)
			b.ReportAllocs()
			for b.Loop() {
				html(b, p, r, values, false)
			}
		})
	}
}
