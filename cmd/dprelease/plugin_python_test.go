package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/plugin/approve"
	"github.com/dprelease/dprelease/internal/plugin/catalog"
	"github.com/dprelease/dprelease/internal/plugin/conformance"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/internal/testkit/scripttest"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
)

// pack makes one file of a plugin in Python with the SDK in a folder.
func pack(t *testing.T, folder, sdk, output string) {
	t.Helper()
	cmd := exec.Command(scripttest.Python, "-B", "-m", "dprelease.pack", folder, "-o", output)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+sdk)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("pack: %v\n%s", err, out)
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestPluginNewPython: what new writes can be packed, always into the same bytes, and is not
// refuted; broken, it is.
func TestPluginNewPython(t *testing.T) {
	scripttest.NeedPython(t)
	dir := filepath.Join(t.TempDir(), "my-total")
	if exit, stdout, stderr := commandLine(t, "plugin", "new", "my-total", "--dir", dir, "--lang", "python"); exit != 0 || !strings.Contains(stdout, "dprelease.pack") {
		t.Fatalf("new: exit %d: %s%s", exit, stdout, stderr)
	}
	bin, again := filepath.Join(dir, "my-total"), filepath.Join(t.TempDir(), "again")
	pack(t, dir, dir, bin)
	pack(t, dir, dir, again)
	if !bytes.Equal(mustRead(t, bin), mustRead(t, again)) {
		t.Error("the same sources make other bytes")
	}
	if exit, stdout, stderr := commandLine(t, "plugin", "check", bin, "--pairs", "1", "--releases", "-1"); exit != 0 {
		t.Errorf("check: exit %d\n%s%s", exit, stdout, stderr)
	}

	attached := func() (exit int, says string) { // in the author's own process
		cmd := exec.Command(scripttest.Python, "-B", "-m", "dprelease.check", ".")
		cmd.Dir = dir
		out, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(out)
	}
	if exit, says := attached(); exit != 0 || !strings.Contains(says, "does not rest on the author") {
		t.Errorf("dprelease.check: exit %d\n%s", exit, says)
	}

	// An expression that the host cannot read.
	file := filepath.Join(dir, "mechanism.py")
	text := string(mustRead(t, file))
	broken := strings.Replace(text, "c.expression()", "c.expression() + ' +'", 1)
	if broken == text || strings.Count(text, "\n") > 40 {
		t.Fatal("there is no expression to break, or the mechanism is long")
	}
	if err := os.WriteFile(file, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	pack(t, dir, dir, bin)
	exit, stdout, stderr := commandLine(t, "plugin", "check", bin, "--pairs", "1", "--releases", "-1")
	if exit != 5 || !strings.Contains(stdout, "coordinate of query 1") {
		t.Errorf("broken: exit %d\n%s%s", exit, stdout, stderr)
	}
	if exit, says := attached(); exit != 5 || !strings.Contains(says, "coordinate of query 1") {
		t.Errorf("dprelease.check, broken: exit %d\n%s", exit, says)
	}
	for _, args := range [][]string{{"--lang", "cobol"}, {"--lang", "python", "--replace", root}} {
		if exit, _, _ := commandLine(t, append([]string{"plugin", "new", "x", "--dir", filepath.Join(t.TempDir(), "x")}, args...)...); exit != 2 {
			t.Errorf("%v: exit %d", args, exit)
		}
	}
}

// TestCheckPython: the suite runs in the process of the author, sees what a broken mechanism raises, and a breakpoint stops there.
func TestCheckPython(t *testing.T) {
	scripttest.NeedPython(t)
	example, err := filepath.Abs(root + "/examples/plugins/histogram-mean")
	if err != nil {
		t.Fatal(err)
	}
	source := string(mustRead(t, filepath.Join(example, "mechanism.py")))
	for name, c := range map[string]struct {
		from, to, input string
		exit            int
		says            []string
	}{
		"sound":      {says: []string{"NOT REFUTED"}},
		"typo":       {from: "def plan(self, request):", to: "def plan(self, request):\n        request.parms", exit: 5, says: []string{"mechanism.py\", line ", "'parms'"}},
		"in release": {from: "def release(self, request, rows, host):", to: "def release(self, request, rows, host):\n        [][1]", exit: 5, says: []string{"mechanism.py\", line ", "IndexError"}},
		"breakpoint": {from: "def plan(self, request):", to: "def plan(self, request):\n        breakpoint()", input: "p 'here', request.target.epsilon\n", exit: 5,
			says: []string{"('here', 1.0)"}},
	} {
		dir := t.TempDir()
		text := strings.Replace(source, c.from, c.to, 1)
		if text == source && c.from != "" {
			t.Fatalf("%s: there is nothing to change", name)
		}
		for file, b := range map[string][]byte{"mechanism.py": []byte(text), "__main__.py": mustRead(t, filepath.Join(example, "__main__.py"))} {
			if err := os.WriteFile(filepath.Join(dir, file), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(scripttest.Python, "-B", "-m", "dprelease.check", dir, "--pairs", "2", "--releases", "-1")
		sdk, err := filepath.Abs(root + "/plugins/python")
		if err != nil {
			t.Fatal(err)
		}
		cmd.Env, cmd.Stdin = append(os.Environ(), "PYTHONPATH="+sdk), strings.NewReader(c.input)
		out, _ := cmd.CombinedOutput()
		if exit := cmd.ProcessState.ExitCode(); exit != c.exit {
			t.Errorf("%s: exit %d\n%s", name, exit, out)
		}
		for _, s := range c.says {
			if !strings.Contains(string(out), s) {
				t.Errorf("%s: does not say %q:\n%s", name, s, out)
			}
		}
	}
}

// TestHistogramMean is the story of the example in Python: packed, pinned in a job by its
// digest, run, checked, and taken up with the versions of what it runs on.
func TestHistogramMean(t *testing.T) {
	scripttest.NeedPython(t)
	const source = root + "/examples/plugins/histogram-mean"
	dir := t.TempDir()
	bin := filepath.Join(dir, "histogram-mean")
	pack(t, source, root+"/plugins/python", bin)
	releases := runPinned(t, bin, filepath.Join(source, "job.yaml.tmpl"))
	lines := strings.Fields(string(releases["api.csv"]))
	if len(lines) != 6 {
		t.Fatalf("the release: %q", lines)
	}
	// The noise on 64 counts has a scale of 4: in 6194 rows it moves the mean, which is 664.7,
	// by some 3, and never by 60.
	if x, err := strconv.ParseFloat(strings.TrimPrefix(lines[1], "mean,"), 64); err != nil || x < 605 || x > 725 {
		t.Errorf("%q, %v", lines[1], err)
	}

	pinned := digestOf(t, bin)
	cmd := host.Command{Name: "histogram-mean", Path: bin, SHA256: pinned}
	p := conformance.NewProcess(cmd, false)
	requests, err := sdktest.Requests(t.Context(), p, 1)
	p.Close()
	if err != nil || len(requests) < 6 {
		t.Fatalf("%d requests, %v", len(requests), err)
	}
	few := requests[:2] // of the full table, and the last, of a sample of fixed size
	few = append(few, requests[len(requests)-1])
	v, err := conformance.Check(t.Context(), cmd, sdktest.Config{Seed: 1, Pairs: 1, Releases: -1, Requests: few})
	if err != nil || v.Refuted() {
		t.Fatalf("%v\n%s", err, v.Text())
	}
	names, files, err := catalog.Runtime(v.Read)
	if err != nil || len(files) < len(names) {
		t.Fatalf("%v, %v", files, err)
	}
	for _, want := range []string{"grpcio ", "numpy ", "protobuf ", "scipy "} {
		if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, want) }) {
			t.Errorf("%s is not among %q", want, names)
		}
	}
	if v := approve.InterpreterVersion(t.Context(), scripttest.Python); len(v) != 1 || !strings.HasPrefix(v[0], "Python 3.") {
		t.Errorf("the interpreter is %q", v)
	}
}

// TestNodePlugin: the example that has no SDK at all does what the page of the protocol says.
func TestNodePlugin(t *testing.T) {
	scripttest.NeedNode(t)
	const source = root + "/examples/plugins/above-node"
	text := mustRead(t, filepath.Join(source, "above.js"))
	if n := bytes.Count(text, []byte("\n")); n >= 200 {
		t.Errorf("the plugin has %d lines", n)
	}
	bin := filepath.Join(t.TempDir(), "above.js")
	if err := os.WriteFile(bin, text, 0o700); err != nil {
		t.Fatal(err)
	}
	releases := runPinned(t, bin, filepath.Join(source, "job.yaml.tmpl"))
	// 1077 schools reach 800; noise of scale 2 is off by 60 with a probability below 1e-12.
	lines := strings.Fields(string(releases["good_schools.csv"]))
	if x, err := strconv.Atoi(lines[len(lines)-1]); err != nil || x < 1017 || x > 1137 {
		t.Errorf("%q, %v", lines, err)
	}
	if exit, stdout, stderr := commandLine(t, "plugin", "check", bin, "--pairs", "1", "--releases", "-1"); exit != 0 {
		t.Errorf("check: exit %d\n%s%s", exit, stdout, stderr)
	}
}

// runPinned runs a job with the digest of a plugin that lies beside it, and returns the files
// of the releases.
func runPinned(t *testing.T, bin, template string) map[string][]byte {
	t.Helper()
	pinned := digestOf(t, bin)
	data, err := filepath.Abs(root + "/examples/data")
	if err != nil {
		t.Fatal(err)
	}
	job := filepath.Join(filepath.Dir(bin), "job.yaml")
	text := strings.NewReplacer("sha256: SHA256}", "sha256: "+pinned+"}", "../../data", data).Replace(string(mustRead(t, template)))
	if err := os.WriteFile(job, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if exit, _, stderr := commandLine(t, "run", "--create-ledger", job); exit != 0 {
		t.Fatalf("run: exit %d: %s", exit, stderr)
	}
	out := map[string][]byte{}
	all, err := filepath.Glob(filepath.Join(filepath.Dir(bin), "out", "*.csv"))
	if err != nil || len(all) == 0 {
		t.Fatalf("no releases, %v", err)
	}
	for _, path := range all {
		out[filepath.Base(path)] = mustRead(t, path)
	}
	return out
}
