package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/builtin"
	"github.com/dprelease/dprelease/plugins/columns"
	"github.com/dprelease/dprelease/plugins/linear"
)

// The two canaries: a number beyond the declared bounds and a text outside the
// declared domain.
const (
	canaryNumber = 31337.25
	canaryText   = "CANARY-7f3a"
)

// privateCase is a job that runs on tables that differ.
type privateCase struct {
	relation string // with its public facts
	samples  string
	unit     string // with its cap; "" for rows
	releases []string
	also     string // a mechanism that comes with something else than a release of its own
	secret   bool   // the number of rows is: a neighbour has one fewer
	words    bool   // run for people, and a second time; else once, for programs
}

// canary finds a canary. Among the digits of a released number or of a digest its digits may
// stand by chance.
var canary = regexp.MustCompile(`(^|[^0-9a-f.])31337([^0-9a-f]|$)|` + canaryText)

// privateCases have every mechanism, with each of its ways to add noise, and every
// design, under each relation.
var privateCases = map[string]privateCase{
	"replace-one": {
		relation: "replace-one\n  size: 400",
		samples:  "some: {method: srswor, size: 100}\n  geo: {method: multistage, stages: [{unit: u, take: 5}, {take: 10}]}\n  strata: {method: stratified, strata: u, take: {%s}}",
		releases: []string{
			"{name: mean_all, mechanism: mean, params: {column: x}",
			"{name: mean_groups, from: some, mechanism: mean, params: {column: x, by: g, noise: gaussian}",
			"{name: mean_geo, from: geo, mechanism: mean, params: {column: z}",
			"{name: mean_strata, from: strata, mechanism: mean, params: {column: z}",
			"{name: counts, from: some, mechanism: count, params: {by: [g, h]}",
			"{name: sums, mechanism: sum, params: {column: x, by: h, noise: gaussian}",
			"{name: median_smooth, from: some, mechanism: median, params: {column: x, method: smooth-laplace}",
			"{name: quartiles, mechanism: median, params: {column: x, quantiles: [0.25, 0.75], method: exponential, points: 1001}",
			"{name: answers, mechanism: randomized-response, params: {column: h}",
			"{name: answers_shuffled, from: some, mechanism: randomized-response, params: {column: h, shuffle: true}",
			"{name: line, mechanism: sgd, params: {model: linear, target: z, features: [h], epochs: 2}",
			"{name: squares, from: some, mechanism: regression, params: {target: z, features: [h]}",
			"{name: line_last, mechanism: sgd, params: {model: logistic, target: y, features: [h], accounting: last-iterate, steps: 20, step_size: 1, l2: 0.1, radius: 5}",
		},
	},
	"replace-one with weights": {
		relation: "replace-one\n  size: 400\n  weights: {column: x, at_most: 40, shrink: {to: 5, keep: 0.5}}",
		samples:  "strata: {method: stratified, strata: u, take: {%s}}",
		releases: []string{"{name: weighed, mechanism: mean, params: {column: z}"},
	},
	"add-remove with weights": {
		relation: "add-remove\n  at_least: 300\n  weights: {column: x, at_most: 40, first_stage: unit}",
		samples:  "some: {method: poisson, rate: 0.25}\n  strata: {method: stratified, strata: u, rates: {%s}}",
		secret:   true,
		releases: []string{"{name: weighed, from: some, mechanism: count, by: [g], interval: 95"},
	},
	"persons": {
		relation: "add-remove\n  at_least: 100",
		unit:     "{column: who, name: person}\n  cap: {groups: 1, rows: 2, measure: {epsilon: 1, at_most: 6}}",
		samples:  "some: {method: poisson, rate: 0.5}",
		secret:   true,
		also:     "unit_rows",
		releases: []string{
			"{name: counts, from: some, mechanism: count, by: [h]",
			"{name: total, mechanism: sum, by: [g], params: {column: x}",
			"{name: means, mechanism: mean, by: [g], params: {column: x}",
		},
	},
	"in words": {
		relation: "replace-one\n  size: 400",
		samples:  "some: {method: srswor, size: 100}\n  strata: {method: stratified, strata: u, take: {%s}}",
		words:    true,
		releases: []string{
			"{name: mean_groups, from: some, mechanism: mean, params: {column: x, by: g}",
			"{name: counts, from: strata, mechanism: count, params: {by: h}",
			"{name: quartiles, mechanism: median, params: {column: x, quantiles: [0.25, 0.75], method: exponential, points: 1001}",
		},
	},
	"add-remove": {
		relation: "add-remove\n  at_least: 300",
		samples:  "some: {method: poisson, rate: 0.25}\n  fixed: {method: srswor, size: 100}\n  strata: {method: stratified, strata: u, rates: {%s}}",
		secret:   true,
		releases: []string{
			"{name: mean_all, mechanism: mean, params: {column: x, noise: gaussian}",
			"{name: mean_groups, from: some, mechanism: mean, params: {column: x, by: g}",
			"{name: mean_fixed, from: fixed, mechanism: mean, params: {column: z}",
			"{name: counts, from: strata, mechanism: count, params: {by: g}",
			"{name: sums, mechanism: sum, params: {column: x, by: [g, h]}",
			"{name: total, mechanism: sum, by: [g, h], params: {column: x}",
			"{name: share, from: some, mechanism: proportion, where: \"z > 3\", by: [h], params: {column: g, values: [a]}",
			"{name: quotient, mechanism: ratio, params: {numerator: x, denominator: z}",
			"{name: spread, mechanism: variance, params: {column: x}",
			"{name: spread_sd, mechanism: sd, by: [h], params: {column: x}",
			"{name: bars, mechanism: histogram, params: {column: x, edges: [0, 2, 5, 10]}",
			"{name: bars_within, from: some, mechanism: histogram, interval: 95, params: {column: x, edges: [0, 5, 10]}",
			"{name: tables, from: some, mechanism: marginals, params: {columns: [g, h], finish: whole}",
			"{name: people, mechanism: distinct, where: \"x > 5\"",
			"{name: medians, from: some, mechanism: median, by: [h], params: {column: x}",
			"{name: deciles, mechanism: quantiles, by: [h], params: {column: x, quantiles: deciles}",
			"{name: medians_within, from: some, mechanism: quantiles, interval: 95, by: [h], params: {column: x, quantiles: [0.5]}",
			"{name: widest, from: some, mechanism: bounds, params: {column: z}",
			"{name: total_found, from: some, mechanism: sum, by: [h], params: {column: v}",
			"{name: median_smooth, from: some, mechanism: median, params: {column: x, method: smooth-laplace}",
			"{name: quartiles, from: strata, mechanism: median, params: {column: x, quantiles: [0.25, 0.75], method: exponential, points: 1001}",
			"{name: line, mechanism: sgd, params: {model: logistic, target: y, features: [z, h], rows: 400, batch_size: 50, epochs: 2}",
		},
	},
}

const privateJob = `version: 1
job: private
dataset:
  id: private
  source: {path: table.parquet}
  relation: %s
  unit: %s
  columns:
    x: {lower: 0, upper: 10, missing: drop}
    z: {lower: 0, upper: 10, missing: {impute: 5}, assume: {mean: 5, sd: 3}}
    y: {lower: 0, upper: 1, missing: {impute: 0}}
    g: {domain: [a, b], missing: drop, outside: drop}
    h: {domain: [a, b, c], missing: {impute: c}, outside: {impute: c}}
    u: {domain: [u0, u1, u2, u3, u4, u5, u6, u7]}
  derive:
    v: {as: "z * 2", bounds: {private: {epsilon: 1}, at_most: 1e6}}
budget: {limit: {epsilon: 100, delta: 1e-3}}
samples:
  %s
releases:
%s
output: {dir: out, formats: [csv, json, arrow, parquet]}
`

// text is the job file of a case.
func (c privateCase) text() string {
	var strata, releases []string
	for u := range 8 {
		amount := "10"
		if c.secret {
			amount = []string{"0.5", "0.25"}[u%2]
		}
		strata = append(strata, fmt.Sprintf("u%d: %s", u, amount))
	}
	for _, r := range c.releases {
		releases = append(releases, "  - "+r+", guarantee: {epsilon: 1, delta: 1e-6}}")
	}
	unit := c.unit
	if unit == "" {
		unit = "row\n  unit_name: person\n  frame: {path: frame.csv, records: rows}"
	}
	return fmt.Sprintf(privateJob, c.relation, unit, strings.ReplaceAll(c.samples, "%s", strings.Join(strata, ", ")), strings.Join(releases, "\n"))
}

// frame lists eight units of fifty rows.
func frame() string {
	lines := []string{"u,rows"}
	for u := range 8 {
		lines = append(lines, fmt.Sprintf("u%d,50", u))
	}
	return strings.Join(lines, "\n") + "\n"
}

// person is one row of the private table. Where the unit is a column, who says whose it is.
type person struct {
	x, z, y float64
	g, h    string
	who     string
	present bool // x, z, g and h are
}

// people makes a table of n rows; some of them are changed.
func people(n int, change func(i int, p *person)) table.Release {
	x, z, y, g, h, u, who := make([]float64, n), make([]float64, n), make([]float64, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	blank := make([]bool, n)
	for i := range n {
		p := person{x: float64(i % 11), z: float64(i % 7), y: float64(i % 2), g: []string{"a", "b"}[i%2], h: []string{"a", "b", "c"}[i%3], who: fmt.Sprint("p", i%150), present: true}
		if change != nil {
			change(i, &p)
		}
		x[i], z[i], y[i], g[i], h[i], blank[i], u[i] = p.x, p.z, p.y, p.g, p.h, !p.present, fmt.Sprint("u", i%8)
		who[i] = p.who
	}
	return table.Release{Columns: []columns.Column{{Name: "x", Float64: x, Blank: blank}, {Name: "z", Float64: z, Blank: blank},
		{Name: "y", Float64: y}, {Name: "g", Texts: g}, {Name: "h", Texts: h}, {Name: "u", Texts: u}, {Name: "who", Texts: who},
		{Name: "secret", Texts: slices.Repeat([]string{canaryText}, n)}}}
}

// seen is all that leaves a run but the released values.
type seen struct {
	output string            // exit code, standard output and error, of every run
	files  map[string]string // what is in the job's folder, values masked
	blank  map[string]bool   // the files of releases that have blank values
	raw    []byte            // everything, for the search for canaries
}

var (
	// Digests and the ledger's own marks follow from the released bytes or from chance.
	marks = regexp.MustCompile(`[0-9a-f]{16,}|"ledger":\s*"[^"]*"|<dt>Ledger</dt><dd class="digest">[^<]*`)
	// The released values on a terminal: between the line of a release and its charge.
	printedValues = regexp.MustCompile(`(?ms)(^\w+: [\w-]+ from [\w ]+\n).*?(\n  Charged)`)
	// The verdict on a release, beside its values.
	briefs = regexp.MustCompile(`(?m)^[✗!✓] .*$`)
)

func observe(t *testing.T, c privateCase, content table.Release) seen {
	t.Helper()
	dir := t.TempDir()
	var b bytes.Buffer
	if err := table.WriteParquet(&b, content); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"table.parquet": b.Bytes(), "job.yaml": []byte(c.text()), "frame.csv": []byte(frame())} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "dprelease")
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	s := seen{files: map[string]string{}, blank: map[string]bool{}}
	runs := [][]string{{"run", "--json", "job.yaml"}}
	if c.words { // the second run finds the releases there
		runs = [][]string{{"run", "job.yaml"}, {"run", "job.yaml"}, {"run", "-v", "job.yaml"}, {"run", "--json", "job.yaml"}}
	}
	var verdicts [][]string
	for _, args := range runs {
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v\n%s%s", err, out.String(), errs.String())
		}
		if found := briefs.FindAllString(out.String(), -1); len(found) > 0 {
			verdicts = append(verdicts, found)
		}
		text := briefs.ReplaceAllString(printedValues.ReplaceAllString(out.String(), "$1$2"), "VERDICT")
		lines := strings.Split(text, "\n")
		if args[1] == "--json" {
			slices.Sort(lines) // releases of one draw run side by side
		}
		s.output += mask(fmt.Sprint(cmd.ProcessState.ExitCode(), "\n", strings.Join(lines, "\n"), errs.String()), dir)
		s.raw = append(s.raw, append(out.Bytes(), errs.Bytes()...)...)
	}
	// What a summary says of the values follows from what is stored: a run that reads no
	// table says the same.
	if c.words && (len(verdicts) != 3 || !slices.Equal(verdicts[0], verdicts[1]) || !slices.Equal(verdicts[0], verdicts[2])) {
		t.Errorf("the summary of a run is not that of what is stored: %q", verdicts)
	}
	drawnAgain(t, program, dir)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		if err != nil || d.IsDir() || name == "table.parquet" || name == "job.yaml" || name == "frame.csv" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		s.raw = append(s.raw, b...)
		switch filepath.Ext(name) {
		case ".html":
			s.files[name] = "follows from the other files"
		case ".arrow":
			s.files[name] = fmt.Sprint(len(b), " bytes")
			s.blank[name], err = hasBlank(strings.TrimSuffix(path, ".arrow") + ".csv")
			if err != nil {
				return err
			}
		case ".csv":
			s.files[name] = fmt.Sprint(bytes.Count(b, []byte("\n")), " lines")
		case ".json":
			s.files[name] = mask(string(b), dir)
			if name != filepath.Join("out", "report.json") && !strings.HasSuffix(name, ".meta.json") {
				s.files[name] = fmt.Sprint(bytes.Count(b, []byte("\n")), " lines")
			}
		default:
			s.files[name] = "there" // the ledger, which no one publishes, and parquet, whose size follows the values
		}
		info, err := d.Info()
		if err == nil {
			s.files[name] += fmt.Sprint(" mode ", info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// hasBlank reports whether a value of a release is blank, as its CSV file says.
func hasBlank(path string) (bool, error) {
	b, err := os.ReadFile(path)
	return bytes.Contains(b, []byte(linear.TooFew)) || bytes.Contains(b, []byte(linear.NearZero)), err
}

// drawnAgain makes the pages of a run again, from its report and its releases alone: if they
// are the same, nothing else is in them.
func drawnAgain(t *testing.T, program, dir string) {
	t.Helper()
	names := []string{"report.html", "report-public.html"}
	pages := map[string][]byte{}
	for _, name := range names {
		path := filepath.Join(dir, "out", name)
		b, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, nil, 0o644)
		}
		if err != nil || len(b) == 0 {
			t.Fatalf("%s has %d bytes: %v", name, len(b), err)
		}
		pages[name] = b
	}
	cmd := exec.Command(program, "report", "out")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range names {
		if b, err := os.ReadFile(filepath.Join(dir, "out", name)); err != nil || !bytes.Equal(b, pages[name]) {
			t.Errorf("%s has something that is neither in report.json nor in the releases (%v)", name, err)
		}
	}
}

func mask(s, dir string) string {
	return marks.ReplaceAllString(strings.ReplaceAll(s, dir, "DIR"), "MARK")
}

// Runs on neighbouring tables, and on one stuffed with canaries, differ in the
// released values and in nothing else: not in a page, a message, the progress, a
// file's name or size, or the exit code (P19).
func TestNothingButTheReleasesDependsOnData(t *testing.T) {
	tier.Full(t, "TestFailures")
	used := ""
	for name, c := range privateCases {
		used += c.text() + "mechanism: " + c.also + ","
		// The accountant's work on what a job costs in all grows faster than its releases: several jobs take less time than one.
		const most = 6
		for part := range slices.Chunk(c.releases, most) {
			c.releases = part
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				nothingElse(t, c)
			})
		}
	}
	for name := range builtin.Mechanisms() {
		if !strings.Contains(used, "mechanism: "+name+",") {
			t.Errorf("no case has the mechanism %s", name)
		}
	}
}

// nothingElse runs a case on a table, on a neighbour and on one with canaries.
func nothingElse(t *testing.T, c privateCase) {
	base := observe(t, c, people(400, nil))
	// Each release in four formats with its sidecar, the report and its two pages.
	shown := `"progress"`
	if c.words {
		shown = "already released"
	}
	made := len(c.releases)
	if c.also != "" {
		made++
	}
	if want := 5*made + 3; len(base.files) < want || !strings.Contains(base.output, shown) {
		t.Fatalf("the run shows too little: %d files, not %d\n%s", len(base.files), want, base.output)
	}
	neighbour := people(400, func(i int, p *person) {
		if i == 17 {
			*p = person{x: 10, z: 10, y: 1 - p.y, g: "b", h: "c", present: true}
		}
	})
	if c.secret {
		neighbour = people(399, nil)
	}
	same(t, "a neighbour", base, observe(t, c, neighbour))
	canaries := observe(t, c, people(400, func(i int, p *person) {
		switch i % 4 {
		case 0:
			p.x, p.z = canaryNumber, -canaryNumber
		case 1:
			p.g, p.h = canaryText, canaryText
		case 2:
			p.present = false
		case 3:
			p.who = canaryText
		}
	}))
	same(t, "canaries", base, canaries)
	if at := canary.FindIndex(canaries.raw); at != nil {
		t.Errorf("a canary is in what the run left: …%q", canaries.raw[max(0, at[0]-60):at[1]+20])
	}
}

// blanks is a verdict on released values of which some are blank. Which are follows from noisy values alone, which differ
// from run to run. So does the size of an Arrow file with blank values, and of no other file.
var blanks = regexp.MustCompile(`\\?"verdict\\?":\s*\\?"[^"]*(?:` + linear.TooFew + `|` + linear.NearZero + `)[^"]*?\\?",?\s*`)

var size = regexp.MustCompile(`^\d+ bytes `)

func plain(text string) string { return blanks.ReplaceAllString(text, "") }

func same(t *testing.T, what string, a, b seen) {
	t.Helper()
	if plain(a.output) != plain(b.output) {
		t.Errorf("%s: the output differs%s", what, firstDifference(a.output, b.output))
	}
	for name := range b.files {
		if _, ok := a.files[name]; !ok {
			t.Errorf("%s: only one run has %s", what, name)
		}
	}
	for name, text := range a.files {
		if other, ok := b.files[name]; !ok {
			t.Errorf("%s: only one run has %s", what, name)
		} else {
			text, other = plain(text), plain(other)
			if a.blank[name] || b.blank[name] {
				text, other = size.ReplaceAllString(text, ""), size.ReplaceAllString(other, "")
			}
			if other != text {
				t.Errorf("%s: %s differs%s", what, name, firstDifference(text, other))
			}
		}
	}
}

func firstDifference(a, b string) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	cut := func(s string) string { return s[min(len(s), max(0, i-80)):min(len(s), i+80)] }
	return fmt.Sprintf(":\n  …%q\n  …%q", cut(a), cut(b))
}
