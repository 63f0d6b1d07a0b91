package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

const root = "../.."

// lean are the flags of go build with which plugin new tells to build, without -trimpath: that would compile the standard
// library and gRPC once more, for a minute of a processor.
var lean = []string{"-ldflags=-s", "-tags=grpcnotrace"}

// goRun runs the go command without a network in a module of its own.
func goRun(t *testing.T, dir string, args ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("the fast tier builds no plugins")
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off", "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=readonly -buildvcs=false")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// command runs one command line of the program in this process; built-in mechanisms
// are served by this test binary.
func commandLine(t *testing.T, args ...string) (exit int, stdout, stderr string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out, errw bytes.Buffer
	e := &environment{Environment: &command.Environment{In: strings.NewReader(""), Out: &out, Errw: &errw, Getenv: os.LookupEnv, Self: self}, jobs: pipelineJobs{}}
	exit = e.execute(context.Background(), args)
	return exit, out.String(), errw.String()
}

// digestOf returns the digest by which a job pins a plugin.
func digestOf(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// TestThirdParty is the story of a mechanism from elsewhere: built in its own module,
// pinned in a job by its digest, run, and checked.
func TestThirdParty(t *testing.T) {
	const source = root + "/examples/plugins/trimmed-mean"
	dir := t.TempDir()
	bin := filepath.Join(dir, "trimmed-mean")
	goRun(t, source, "build", "-ldflags=-s", "-o", bin, ".")
	goRun(t, source, "test", ".")

	pinned := digestOf(t, bin)
	job := filepath.Join(dir, "job.yaml")
	write := func(digest string) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(source, "job.yaml.tmpl"))
		if err != nil {
			t.Fatal(err)
		}
		data, err := filepath.Abs(root + "/examples/data/schools.parquet")
		if err != nil {
			t.Fatal(err)
		}
		s := strings.NewReplacer("sha256: SHA256}", "sha256: "+digest+"}", "../../data/schools.parquet", data).Replace(string(text))
		if !strings.Contains(s, digest) || !strings.Contains(s, data) {
			t.Fatal("the template has no place for the digest or the data")
		}
		if err := os.WriteFile(job, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	write(strings.Repeat("0", 64))
	if exit, _, stderr := commandLine(t, "run", job); exit != 5 || !strings.Contains(stderr, "PLUGIN_CHECKSUM") ||
		!strings.Contains(stderr, "its digest is "+pinned) {
		t.Errorf("another digest: exit %d: %s", exit, stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "out")); err == nil {
		t.Error("another digest: something was released")
	}

	write(pinned)
	if exit, _, stderr := commandLine(t, "run", job); exit != 0 {
		t.Fatalf("run: exit %d: %s", exit, stderr)
	}
	text, err := os.ReadFile(filepath.Join(dir, "out", "api_trimmed.csv"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(text))
	if len(lines) != 2 || lines[0] != "estimate,status" {
		t.Fatalf("the release: %q", text)
	}
	value, _, _ := strings.Cut(lines[1], ",")
	// The mean of the middle 90 % is 664.6; the noise has a scale of 0.29 and exceeds
	// 12 with a probability below 1e-17.
	if x, err := strconv.ParseFloat(value, 64); err != nil || x < 652 || x > 677 {
		t.Errorf("estimate %v, %v", x, err)
	}
	report, err := os.ReadFile(filepath.Join(dir, "out", "report.json"))
	if err != nil || !bytes.Contains(report, []byte(pinned)) {
		t.Errorf("the report does not name the plugin's digest: %v", err)
	}

	for _, args := range [][]string{{"--job", job}, nil} {
		exit, stdout, stderr := commandLine(t, append([]string{"plugin", "check", bin, "--pairs", "5", "--releases", "120"}, args...)...)
		if exit != 0 || !strings.Contains(stdout, "\nNOT REFUTED") || !strings.Contains(stdout, pinned) {
			t.Errorf("check %v: exit %d\n%s%s", args, exit, stdout, stderr)
		}
		if strings.Contains(strings.ToLower(stdout), "passed") {
			t.Errorf("the suite passes nothing: %s", stdout)
		}
	}
}

// TestPluginNew: what new writes builds and is not refuted; broken, it is.
func TestPluginNew(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my-total")
	if exit, _, stderr := commandLine(t, "plugin", "new", "my-total", "--dir", dir); exit != 0 {
		t.Fatalf("new: exit %d: %s", exit, stderr)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) != 3 {
		t.Fatalf("files %v, %v", files, err)
	}
	if out, err := exec.Command("gofmt", append([]string{"-l"}, files...)...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("gofmt: %s, %v", out, err)
	}
	bin := filepath.Join(dir, "my-total")
	check := []string{"plugin", "check", bin, "--pairs", "5", "--releases", "120"}
	if !testing.Short() { // TestThirdParty checks another good one
		goRun(t, dir, "vet", ".") // compiles the test too, which the third party's story runs
		goRun(t, dir, append([]string{"build"}, lean...)...)
		if info, err := os.Stat(bin); err != nil || info.Size() >= 12_000_000 {
			t.Errorf("the plugin has %d bytes, %v", info.Size(), err)
		}
		if exit, stdout, stderr := commandLine(t, check...); exit != 0 {
			t.Errorf("check: exit %d\n%s%s", exit, stdout, stderr)
		}
		overTime(t, bin)
	}
	if exit, _, stderr := commandLine(t, "plugin", "new", "my-total", "--dir", dir); exit != 2 || !strings.Contains(stderr, "exists") {
		t.Errorf("new on top of it: exit %d: %s", exit, stderr)
	}

	replaced := filepath.Join(t.TempDir(), "my-total")
	if exit, _, stderr := commandLine(t, "plugin", "new", "my-total", "--dir", replaced, "--replace", root); exit != 0 {
		t.Errorf("--replace: exit %d: %s", exit, stderr)
	}
	if out, err := os.ReadDir(filepath.Join(replaced, "dprelease")); err == nil {
		t.Errorf("--replace copies the SDK: %v", out)
	}

	// An expression that the host cannot read.
	file := filepath.Join(dir, "mechanism.go")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	broken := strings.Replace(string(text), "Value: c.Expression()", `Value: c.Expression() + " +"`, 1)
	if n := strings.Count(string(text)+string(mustRead(t, filepath.Join(dir, "main.go"))), "\n"); n > 40 {
		t.Errorf("mechanism and main have %d lines", n)
	}
	if broken == string(text) {
		t.Fatal("there is no expression to break")
	}
	if err := os.WriteFile(file, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	goRun(t, dir, append([]string{"build"}, lean...)...)
	exit, stdout, stderr := commandLine(t, append(check, "--json")...)
	var v struct {
		Verdict  string
		SHA256   string
		Findings []struct{ Check, Detail string }
	}
	if err := json.Unmarshal([]byte(stdout), &v); err != nil || exit != 5 || v.Verdict != "REFUTED" {
		t.Fatalf("broken: exit %d, %v\n%s%s", exit, err, stdout, stderr)
	}
	if len(v.Findings) == 0 || v.Findings[0].Check != "plan" || !strings.Contains(v.Findings[0].Detail, "coordinate of query 1") {
		t.Errorf("the expression is not found: %+v", v.Findings)
	}
}

// overTime plans a series of the mechanism that new writes, by groups.
func overTime(t *testing.T, bin string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "job.yaml")
	text := fmt.Sprintf(`version: 1
job: over-time
variables: {month: {type: text, default: "2026-01"}}
dataset:
  id: t
  source: {path: t.csv}
  relation: add-remove
  slice: {column: month, is: "$(month)"}
  unit: {column: person, name: person}
  fold: {income: max, sex: mode}
  columns: {income: {lower: 0, upper: 60000}, sex: {domain: [f, m]}}
budget: {limit: {epsilon: "1"}}
plugins: {my-total: {path: %q, sha256: %s}}
series:
  s: {periods: {from: 2026-01, to: 2026-12}, publish: [month, running], periods_of_unit: {at_most: 12}}
releases:
  - {name: income, series: s, mechanism: my-total, params: {column: income}, by: [sex], guarantee: {epsilon: "1"}}
output: {dir: out, formats: [csv]}
`, bin, digestOf(t, bin))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if exit, stdout, stderr := commandLine(t, "plan", file); exit != 0 {
		t.Errorf("a series: exit %d\n%s%s", exit, stdout, stderr)
	}
}

// TestDeclaredQuery is the story of the example whose query is declared: by groups, behind a filter and on a sample, of
// which its author says nothing. The report calls what it releases enforced, and believes nothing of it.
func TestDeclaredQuery(t *testing.T) {
	const source = root + "/examples/plugins/slope"
	bin := filepath.Join(t.TempDir(), "slope")
	goRun(t, source, "build", "-ldflags=-s", "-o", bin, ".")
	goRun(t, source, "test", ".")
	generous := filepath.Join(t.TempDir(), "job.yaml.tmpl") // with little noise
	text := regexp.MustCompile(`epsilon: "(\d)"`).ReplaceAll(mustRead(t, filepath.Join(source, "job.yaml.tmpl")), []byte(`epsilon: "${1}00"`))
	if err := os.WriteFile(generous, text, 0o600); err != nil {
		t.Fatal(err)
	}
	releases := runPinned(t, bin, generous)
	// The lines have the slopes -3.480, -3.764, -4.011, -3.410 and -3.251. The noise on a slope has a deviation of less than
	// 0.01 in the whole table. That of the sample has one of 0.07, so that 1 is more than 14: below 1e-40.
	for name, want := range map[string][]float64{"line": {-3.480}, "by_type": {-3.764, -4.011, -3.410}, "poor": {-3.251}} {
		lines := strings.Fields(string(releases[name+".csv"]))
		if len(lines) != len(want)+1 {
			t.Fatalf("%s: %q", name, lines)
		}
		for i, x := range want {
			fields := strings.Split(lines[i+1], ",")
			if got, err := strconv.ParseFloat(fields[len(fields)-2], 64); err != nil || math.Abs(got-x) > 1 {
				t.Errorf("%s: %q, want %v", name, lines[i+1], x)
			}
		}
	}
	report := mustRead(t, filepath.Join(filepath.Dir(bin), "out", "report.json"))
	if n := bytes.Count(report, []byte(`"result": "enforced"`)); n != 3 || bytes.Contains(report, []byte(`"believed"`)) {
		t.Errorf("the report: %d results are enforced\n%s", n, report)
	}
	if exit, stdout, stderr := commandLine(t, "plugin", "check", bin, "--pairs", "2", "--releases", "-1"); exit != 0 ||
		strings.Contains(stdout, "owes") || !strings.Contains(strings.Join(strings.Fields(stdout), " "), "Privacy does not rest on the author") {
		t.Errorf("check: exit %d\n%s%s", exit, stdout, stderr)
	}
}

// The requests of a job's releases; TestHonestProcesses of internal/plugin/conformance has all others.
func TestPluginCheckBuiltin(t *testing.T) {
	tier.Full(t, "TestCheckEnds")
	exit, stdout, stderr := commandLine(t, "plugin", "check", "--pairs", "3", "--releases", "-1", "--builtin", "mean", "--job", root+"/examples/schools/job.yaml")
	if exit != 0 || !strings.Contains(stdout, "NOT REFUTED") {
		t.Errorf("exit %d\n%s%s", exit, stdout, stderr)
	}
}

func TestPluginUsage(t *testing.T) {
	for _, c := range []struct {
		exit int
		want string
		args []string
	}{
		{2, "either the path", []string{"plugin", "check"}},
		{2, "either the path", []string{"plugin", "check", "x", "--builtin", "mean"}},
		{2, "no built-in mechanism", []string{"plugin", "check", "--builtin", "nobody"}},
		{2, "a command is missing", []string{"plugin"}},
		{2, "one name", []string{"plugin", "new", "../escape"}},
		{2, "source of dprelease", []string{"plugin", "new", "x", "--replace", t.TempDir()}},
		{5, "cannot be checked", []string{"plugin", "check", "/nonexistent"}},
	} {
		if exit, stdout, stderr := commandLine(t, c.args...); exit != c.exit || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit %d\n%s%s", c.args, exit, stdout, stderr)
		}
	}
	exit, stdout, _ := commandLine(t, "plugin", "check", "/bin/true")
	if exit != 5 || !strings.Contains(stdout, "describe:") {
		t.Errorf("a program that is no plugin: exit %d: %s", exit, stdout)
	}
	exit, stdout, _ = commandLine(t, "plugin", "list", "--json")
	var all []struct {
		Name                string
		Weighted, Intervals bool
	}
	if err := json.Unmarshal([]byte(stdout), &all); err != nil || exit != 0 || len(all) != len(command.BuiltinNames()) {
		t.Errorf("list: exit %d, %v: %s", exit, err, stdout)
	}
	able := map[string][2]bool{}
	for _, l := range all {
		able[l.Name] = [2]bool{l.Weighted, l.Intervals}
	}
	if able["count"] != [2]bool{true, true} || able["marginals"] != [2]bool{true, false} || able["median"] != [2]bool{} {
		t.Errorf("weights and intervals: %v", able)
	}
}
