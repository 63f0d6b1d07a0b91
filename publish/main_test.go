package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/storedtest"
	"github.com/dprelease/dprelease/report"
)

// folder is the output folder of a run of schools.
func folder(t *testing.T, change func(*report.Report, map[string]report.Table)) string {
	t.Helper()
	return storedtest.Folder(t, filepath.Join("..", "report", "testdata", "schools"), change)
}

// try runs one command line.
func try(args ...string) (exit int, out, errs string) {
	var o, e bytes.Buffer
	exit = execute(args, &o, &e)
	return exit, o.String(), e.String()
}

// expect runs one command line, and wants patterns in what it prints: on standard error where the exit code is not 0.
func expect(t *testing.T, exit int, patterns []string, args ...string) {
	t.Helper()
	got, out, errs := try(args...)
	text, other := out, errs
	if exit != exitDone {
		text, other = errs, out
		patterns = append(patterns, `(?m)^failed: code [A-Z_]+, exit \d+; spent: none; retry: (yes|no|after a person looked); \S+Z$`)
	}
	if got != exit || other != "" {
		t.Errorf("publish %v: exit %d, want %d\n%s%s", args, got, exit, out, errs)
	}
	for _, p := range patterns {
		if !regexp.MustCompile(p).MatchString(text) {
			t.Errorf("publish %v does not print %q:\n%s", args, p, text)
		}
	}
}

func put(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func holds(t *testing.T, path, part string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), part) {
		t.Errorf("%s does not hold %q: %v", path, part, err)
	}
}

const words = `job: schools
dataset: {anything: 1}
publication:
  title: Ages of people
  publisher: Office
  contact: A. Clerk
  intended_use: Planning of schools.
  region: Everywhere
  sector: Government
  sources: [https://example.org/ages]
  published: "2026-10-31"
`

func TestRegistry(t *testing.T) {
	dir := folder(t, func(r *report.Report, _ map[string]report.Table) { r.Publication = nil })
	expect(t, exitUsage, []string{"publication needs publisher, intended_use, region, contact; add them to the job and name it with --words", "code REGISTRY_INCOMPLETE, exit 2;"}, "registry", dir)
	expect(t, exitDone, []string{`ages_of_people.yaml\ntier 2 of 3\ntier 3 lacks deployment.implementation.justification: only a person knows; publication: justification\n$`},
		"registry", dir, "--words", put(t, "job.yaml", words))
	holds(t, filepath.Join(dir, "ages_of_people.yaml"), "url_slug: ages-of-people-office-2026\n")
	expect(t, exitDone, []string{`^{"entry":".*ages_of_people.yaml","event":"done","exit":0,"missing":\[.*\],"tier":2}\n$`}, "registry", "--json", dir, "--words", put(t, "job.yaml", words))
	expect(t, exitDone, []string{`^$`}, "registry", "-q", dir, "--words", put(t, "job.yaml", words))
}

// The words are held to the job's schema, with the place of each problem. A file that is no job is not quoted. // P33
func TestWords(t *testing.T) {
	dir := folder(t, nil)
	for _, c := range []struct{ old, new, want string }{
		{"sector: Government", "sector: Moon", `job.yaml:9:3: publication.sector: must be `},
		{"published: \"2026-10-31\"", "published: tomorrow", `publication.published: must match `},
		{"title: Ages of people", "title: 7", `publication.title: must be `},
		{"title: Ages of people", "titel: x", `publication.titel: `},
		{"title: Ages of people", "title: Ages in $(month)", `job.yaml:4:3: publication.title: has a variable, and only a run knows its value \(name a file`},
		{"sources: [https://example.org/ages]", "sources: []", `publication.sources`},
		{"sources: [https://example.org/ages]", "sources: {a: b}", `publication.sources`},
		{"publication:", "output:", `has no publication`},
		{"  region: Everywhere", "\tregion: Everywhere", `job.yaml:7:3: is not YAML`},
	} {
		text := strings.Replace(words, c.old, c.new, 1)
		if text == words {
			t.Fatalf("%q is not there", c.old)
		}
		expect(t, exitInvalidJob, []string{c.want, "code INVALID_JOB, exit 3;"}, "registry", dir, "--words", put(t, "job.yaml", text))
	}
	expect(t, exitInvalidJob, []string{"absent.yaml cannot be read", "code JOB_UNREADABLE"}, "registry", dir, "--words", "absent.yaml")
	for name, text := range map[string]string{"csv": "name;age\nSCHNEEHUHN;1\n", "yaml": "SCHNEEHUHN: 1\nage: SCHNEEHUHN\n", "list": "[SCHNEEHUHN]", "anchor": "a: *SCHNEEHUHN"} {
		if exit, out, errs := try("registry", dir, "--words", put(t, "x", text)); exit != exitInvalidJob || strings.Contains(out+errs, "SCHNEEHUHN") {
			t.Errorf("%s: exit %d\n%s%s", name, exit, out, errs)
		}
	}
}

func TestHazardsAndAttestation(t *testing.T) {
	dir := folder(t, nil)
	expect(t, exitDone, []string{`(?m)^4 +warning +Rows are protected, not persons$`, `hazards.html\n$`}, "nist", dir)
	holds(t, filepath.Join(dir, "hazards.html"), "The unit is a row")
	expect(t, exitDone, []string{`^{"event":"done","exit":0,"statement":".*attestation.json"}\n$`}, "attest", "--json", dir)
	holds(t, filepath.Join(dir, "attestation.json"), `"_type": "https://in-toto.io/Statement/v1"`)
	holds(t, filepath.Join(dir, "attestation.json"), `"name": "api_mean.json"`)
}

func TestCompare(t *testing.T) {
	a, b := folder(t, nil), folder(t, func(r *report.Report, _ map[string]report.Table) {
		r.Releases[0].Where, r.Budget = "age > 1", nil
	})
	page, table := filepath.Join(t.TempDir(), "compared.html"), filepath.Join(t.TempDir(), "compared.csv")
	expect(t, exitDone, []string{`release api_mean, where +– +→ age > 1`, `api_mean: 2 differences`, `both together: at most ε`}, "compare", a, b, "--html", page, "--csv", table)
	holds(t, page, "What both cost together")
	holds(t, table, "release,value,a,b,difference,noise_low,noise_high,interval_low,interval_high,verdict\napi_mean,")
	expect(t, exitDone, []string{`"together":"both folders hold the releases of one run, which was charged once`}, "compare", a, a, "--json")
	// Releases in Parquet and Arrow alone are said to be left out.
	c := folder(t, func(r *report.Report, _ map[string]report.Table) {})
	report := filepath.Join(c, "report.json")
	text, err := os.ReadFile(report)
	if err != nil || os.Rename(filepath.Join(c, "api_mean.json"), filepath.Join(c, "api_mean.parquet")) != nil ||
		os.WriteFile(report, bytes.ReplaceAll(text, []byte("api_mean.json"), []byte("api_mean.parquet")), 0o600) != nil {
		t.Fatal(err)
	}
	expect(t, exitDone, []string{`api_mean: its values are in Parquet or Arrow files alone`}, "compare", a, c)
	expect(t, exitDone, []string{`left out: the values of api_mean are in Parquet or Arrow files alone`}, c)
}

func TestRefused(t *testing.T) {
	dir := folder(t, nil)
	expect(t, exitUsage, []string{`name the output folder of a run, or a command: registry, nist, attest or compare\nsee dprelease publish --help`})
	expect(t, exitUsage, []string{`"nits" is neither a folder nor a command`}, "nits")
	expect(t, exitUsage, []string{`./nits does not exist`, "code REPORT_UNREADABLE"}, "./nits")
	expect(t, exitUsage, []string{`takes one folder, not 2`}, "nits", "nats")
	expect(t, exitUsage, []string{`--flag: must be a share`}, dir, "--flag", "-1")
	expect(t, exitUsage, []string{`--blank: must be a share`}, dir, "--blank", "inf")
	expect(t, exitUsage, []string{`--blank: must be larger than --flag`}, dir, "--blank", "0.1")
	expect(t, exitUsage, []string{`accepts 2 arg`, `see dprelease publish compare --help`}, "compare", dir)
	expect(t, exitUsage, []string{`unknown flag: --html`, "code USAGE"}, "nist", dir, "--html", "x")
	expect(t, exitUsage, []string{`nowhere does not exist; name the output folder of a run`, "code REPORT_UNREADABLE"}, "nist", "nowhere")
	expect(t, exitUsage, []string{`cannot be written`, "code OUTPUT_UNWRITABLE"}, "compare", dir, dir, "--html", filepath.Join(dir, "no", "page.html"))
	if err := os.WriteFile(filepath.Join(dir, "api_mean.json"), []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{dir}, {"registry", dir}, {"nist", dir}, {"attest", dir}, {"compare", dir, dir}} {
		expect(t, exitUsage, []string{`api_mean.json is not the file that report.json names`, "code RELEASE_CHANGED"}, args...)
	}
	if err := os.Remove(filepath.Join(dir, "api_mean.json")); err != nil {
		t.Fatal(err)
	}
	expect(t, exitUsage, []string{`holds no file of the release api_mean`, "code RELEASE_CHANGED"}, "attest", dir)
	if exit, out, _ := try("--help"); exit != exitDone || !strings.Contains(out, "dprelease publish registry out") {
		t.Errorf("exit %d\n%s", exit, out)
	}
	if _, out, _ := try("__complete", ""); !strings.Contains(out, "registry\tWrite an entry") || strings.Contains(out, "completion") {
		t.Error(out)
	}
}

// Private rows in the place of a report stay there. // P33
func TestNothingIsQuoted(t *testing.T) {
	const bird = "SCHNEEHUHN"
	for _, text := range []string{bird, "name;diag\nMaria " + bird + ";HIV\n", `{"name": "` + bird + `", "diag": [` + bird + `]}`, `{"version": "` + bird + `"}`,
		`{"version": 1, "job": "` + bird + `"}`, `["` + bird + `"]`, "PAR1" + bird + "PAR1"} {
		dir := filepath.Dir(put(t, "report.json", text))
		for _, args := range [][]string{{dir}, {"registry", dir}, {"nist", dir}, {"attest", dir}, {"compare", dir, dir}} {
			if exit, out, errs := try(args...); exit != exitUsage || strings.Contains(out+errs, bird) {
				t.Errorf("%v: exit %d\n%s%s", args, exit, out, errs)
			}
		}
	}
}

// The program links nothing that reads a table, a job's plan or a ledger: it can be given no private row and spends nothing.
func TestLinksNoTableAndNoLedger(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	const house = "github.com/dprelease/dprelease/"
	if len(deps) < 100 || !slices.Contains(deps, house+"report") {
		t.Fatalf("%d packages", len(deps))
	}
	// The kernel of texts, the check against a schema, the columns of results, and the reader of stored folders hold nothing private.
	light := []string{house + "internal/job/lang", house + "internal/job/params", house + "internal/output/stored", house + "plugins/columns"}
	for _, d := range deps {
		if slices.Contains(light, d) {
			continue
		}
		for _, never := range []string{house + "ledger", house + "pipeline", house + "plugins", house + "samplers", house + "internal/plan", house + "internal/run", house + "internal/data/table",
			house + "internal/job", house + "internal/rows", house + "internal/noise", house + "internal/plugin/host", "modernc.org", "github.com/jackc", "github.com/apache",
			"google.golang.org", "github.com/hashicorp", "database/sql"} {
			if d == never || strings.HasPrefix(d, never+"/") {
				t.Errorf("it links %s", d)
			}
		}
	}
}

// The commands that the pages show are there, with the flags that they show.
func TestPages(t *testing.T) {
	used := regexp.MustCompile("dprelease publish ([a-z][^\n`|;&>]*)")
	flag := regexp.MustCompile(`--([a-z][a-z-]*)`)
	seen := 0
	look := func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range used.FindAllStringSubmatch(string(text), -1) {
			c, _, err := commands().Find(strings.Fields(m[1]))
			if err != nil || !c.HasParent() {
				continue // a sentence about the program
			}
			seen++
			for _, f := range flag.FindAllStringSubmatch(m[1], -1) {
				if c.Flags().Lookup(f[1]) == nil {
					t.Errorf("%s: %s has no flag --%s", path, c.CommandPath(), f[1])
				}
			}
		}
		return err
	}
	for _, root := range []string{"../docs", "../specs", "../README.md"} {
		if err := filepath.WalkDir(root, look); err != nil {
			t.Fatal(err)
		}
	}
	if seen < 8 {
		t.Errorf("only %d commands", seen)
	}
}

// publish alone writes the tables, into a folder of its own or one that is named.
func TestTables(t *testing.T) {
	dir := folder(t, nil)
	expect(t, exitDone, []string{`published/api_mean.csv\n`, `published/tables.xlsx\n`, `published/dcat.jsonld\n$`}, dir)
	holds(t, filepath.Join(dir, "published", "api_mean.csv"), ",status\n")
	other := filepath.Join(t.TempDir(), "website")
	expect(t, exitDone, []string{`"event":"done","exit":0,"files":\["_tables.csv",.*"left_out":\[\]}\n$`}, "--json", dir, "-o", other, "--flag", "0", "--blank", "0.3")
	holds(t, filepath.Join(other, "api_mean.csv-metadata.json"), "more than 30\u00a0% of the value")
	expect(t, exitUsage, []string{`cannot be written`, "code OUTPUT_UNWRITABLE"}, dir, "-o", filepath.Join(dir, "report.json", "x"))
}
