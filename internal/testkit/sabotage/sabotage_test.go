//go:build linux

package sabotage

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/internal/plugin/conformance"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/internal/plugin/sandbox"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest/insecureshelf"
)

var update = flag.Bool("update", false, "write docs/sabotage.md")

// act is one thing that a hostile plugin does.
type act struct {
	name, story string
	// check names the finding that plugin check must make.
	check string
	// run is the code with which a run without the sandbox must end, "" where it goes
	// through.
	run string
	// stopped says whether the sandbox must keep it from what it wants, and code how the run
	// then ends, "" where it goes through all the same, without what it wanted.
	stopped bool
	code    string
}

// acts are the table.
var acts = []act{
	{"write-rows", "Release writes a row to a file outside its folder", "write", "", true, ""},
	{"shell", "Release has a shell write to a file", "process", "", true, ""},
	{"tcp", "Release sends a row over TCP", "network", "", true, ""},
	{"udp", "Release sends a row over UDP", "network", "", true, ""},
	{"unix-socket", "Release sends a row to another program's unix socket", "network", "", true, ""},
	{"abstract-socket", "Release sends a row to an abstract unix socket", "network", "", true, ""},
	{"table-in-plan", "Plan reads the table and writes a digest of it into a remark", "read", "", true, ""},
	{"environment-of-host", "Plan reads the environment of the host", "read", "", true, ""},
	{"processes-in-plan", "Plan sees the machine's processes", "read", "", true, ""},
	{"memory-of-host", "Plan reads the memory of the host", "trace", "", true, ""},
	{"folder-in-plan", "Plan depends on the folder of the process", "plan", host.CodeNondeterministic, true, host.CodeNondeterministic},
	{"zone-in-plan", "Plan depends on the environment", "plan", host.CodeNondeterministic, true, host.CodeNondeterministic},
	{"clock-in-plan", "Plan depends on the clock", "plan", host.CodeNondeterministic, true, host.CodeNondeterministic},
	{"second-in-plan", "Plan depends on the second of the clock", "plan", host.CodeNondeterministic, true, host.CodeNondeterministic},
	{"hang-in-plan", "Plan never ends", "plan", host.CodeTimeout, true, host.CodeTimeout},
	{"signal", "Release sends the host a signal", "trace", "", true, ""},
	{"daemon", "Release forks, leaves its session and outlives a host that is killed", "process", "", true, ""},
	{"large-memory", "Release takes three gigabytes where the job allows a quarter of one", "panic", "", true, host.CodeCrash},
	{"large-file", "Release fills the disk", "write", "", true, host.CodeFailed},
	{"print-rows", "Release prints a row", "output", "", true, ""},
	{"slow-by-row", "Release takes longer where a row is at the upper bound", "time", "", false, ""},
	{"memory-by-row", "Release takes more memory where a row is at the upper bound", "memory-by-row", "", false, ""},
	{"row-in-low-bits", "Release hides a row in the low digits of the result", "result", "", true, ""},
	{"row-in-text", "Release writes a row as a text of the result", "result", host.CodeLattice, true, host.CodeLattice},
	{"row-in-linear-result", "Release of a linear plugin that declares no finish gives a row as its result", "result", "", false, ""},
	{"random-result", "Release adds noise of its own to the result", "result", "", false, ""},
	{"half-sensitivity", "Plan declares half of what a row can do", "l1-sensitivity", "", false, ""},
	{"wrong-beyond-1000", "Release counts rows twice where there are more than a thousand", "l1-sensitivity", "", false, ""},
	{"overspent", "Plan costs twice what it may", "price", "PLAN", false, "PLAN"},
	{"crash", "Release fails on one value, and so tells that it is there", "error", host.CodeFailed, false, host.CodeFailed},
}

// scene holds the things that the acts act upon.
type scene struct {
	dir, program, table, drop string
	got                       atomic.Bool // something arrived that should not have
	marker                    string
	fences                    []func() error // each returns when what was sent before on one way has arrived
}

// The test binary is also a host that is killed.
func TestMain(m *testing.M) {
	if path := os.Getenv("SABOTAGE_JOB"); path != "" {
		j, err := pipeline.Load(path, os.LookupEnv)
		if err == nil {
			_, err = pipeline.Run(context.Background(), j, pipeline.Options{CreateLedger: true})
		}
		fmt.Println(err)
		return
	}
	os.Exit(m.Run())
}

// newScene builds the hostile plugin, which takes some seconds: one scene serves all tests.
func newScene(t *testing.T) *scene {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "sabotage-") // not where a private folder is
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &scene{dir: dir, program: filepath.Join(dir, "hostile"), drop: filepath.Join(dir, "drop"),
		table: filepath.Join(dir, "schools.parquet"), marker: "sabotage-" + filepath.Base(dir)}
	text, err := os.ReadFile("../../../examples/data/schools.parquet")
	if err = errors.Join(err, os.Mkdir(s.drop, 0o777), os.WriteFile(s.table, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	tcp, udp := s.listen(t), s.packets(t)
	socket := filepath.Join(dir, "s")
	s.accept(t, "unix", socket)
	s.accept(t, "unix", "@"+s.marker)
	signals, passed := make(chan os.Signal, 8), make(chan struct{}, 8)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2)
	t.Cleanup(func() { signal.Stop(signals) })
	go func() {
		for sig := range signals {
			if sig == syscall.SIGUSR2 { // signals are delivered in the order of their numbers
				passed <- struct{}{}
				continue
			}
			s.got.Store(true)
		}
	}()
	s.fence(passed, func() error { return syscall.Kill(os.Getpid(), syscall.SIGUSR2) })
	x := []string{"-s", "-w"} // every start copies it
	for k, v := range map[string]string{"table": s.table, "drop": s.drop, "tcp": tcp, "udp": udp, "socket": socket,
		"abstract": s.marker, "victim": fmt.Sprint(os.Getpid()), "marker": s.marker} {
		x = append(x, "-X", "main."+k+"="+v)
	}
	build := exec.Command("go", "build", "-ldflags", strings.Join(x, " "), "-o", s.program, "./testdata/hostile")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return s
}

func (s *scene) listen(t *testing.T) string { return s.accept(t, "tcp", "127.0.0.1:0") }

// fenced is the byte that a fence sends.
const fenced = 'F'

// fence keeps a way to send something and to hear that it has arrived.
func (s *scene) fence(passed chan struct{}, send func() error) {
	s.fences = append(s.fences, func() error {
		if err := send(); err != nil {
			return err
		}
		select {
		case <-passed:
			return nil
		case <-time.After(time.Minute):
			return errors.New("what was sent does not arrive")
		}
	})
}

// arrived reports whether something arrived that should not have, once all that was sent has.
func (s *scene) arrived(t *testing.T) bool {
	t.Helper()
	for _, pass := range s.fences {
		if err := pass(); err != nil {
			t.Fatal(err)
		}
	}
	return s.got.Load()
}

// sent sends the byte of a fence.
func sent(network, address string) error {
	c, err := net.Dial(network, address)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Write([]byte{fenced})
	return err
}

// accept listens and notes every connection that says something.
func (s *scene) accept(t *testing.T, network, address string) string {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	passed := make(chan struct{}, 8)
	go func() {
		for { // one after the other, in the order in which they came
			c, err := l.Accept()
			if err != nil {
				return
			}
			b := make([]byte, 1)
			if n, _ := c.Read(b); n > 0 && b[0] == fenced {
				passed <- struct{}{}
			} else if n > 0 {
				s.got.Store(true)
			}
			c.Close()
		}
	}()
	s.fence(passed, func() error { return sent(network, l.Addr().String()) })
	return l.Addr().String()
}

func (s *scene) packets(t *testing.T) string {
	t.Helper()
	p, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	passed := make(chan struct{}, 8)
	go func() {
		b := make([]byte, 64)
		for {
			n, _, err := p.ReadFrom(b)
			if err != nil {
				return
			}
			if n == 1 && b[0] == fenced {
				passed <- struct{}{}
				continue
			}
			s.got.Store(true)
		}
	}()
	s.fence(passed, func() error { return sent("udp", p.LocalAddr().String()) })
	return p.LocalAddr().String()
}

// plugin is the hostile program under the name of an act.
func (s *scene) plugin(t *testing.T, name string) host.Command {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.Link(s.program, path); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	sum, err := file.Digest(path, file.MaxProgram)
	if err != nil {
		t.Fatal(err)
	}
	return host.Command{Name: name, Path: path, SHA256: sum}
}

// check returns the findings of plugin check.
func (s *scene) check(t *testing.T, a act, requests []sdk.PlanRequest) []string {
	t.Helper()
	pairs := 10
	if strings.HasSuffix(a.name, "-by-row") {
		pairs = 40 // a row must be at the bound in one table and not in its neighbour
	}
	v, err := conformance.Check(t.Context(), s.plugin(t, a.name), sdktest.Config{Seed: 1, Requests: requests, Pairs: pairs, Releases: -1, Shrink: 2})
	if err != nil {
		t.Fatalf("%s: %v", a.name, err)
	}
	var out []string
	for _, f := range v.Findings {
		t.Logf("%s: %s", f.Check, f.Detail)
		if !slices.Contains(out, f.Check) {
			out = append(out, f.Check)
		}
	}
	slices.Sort(out)
	return out
}

// retries returns the number of further checks of an act that was not found.
func retries(a act) int {
	if strings.HasSuffix(a.name, "-by-row") {
		return 4
	}
	return 0
}

// job writes the job file of an act.
func (s *scene) job(t *testing.T, a act, mode sandbox.Mode) string {
	t.Helper()
	c := s.plugin(t, a.name)
	dir := filepath.Join(s.dir, a.name+"-"+string(mode))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	memory := ""
	if a.name == "large-memory" {
		memory = ", memory: 256MiB"
	}
	path := filepath.Join(dir, "job.yaml")
	text := fmt.Sprintf(`version: 1
job: sabotage
dataset:
  id: schools
  source: {path: %s}
  relation: replace-one
  size: 6194
  unit: row
  columns: {api00: {lower: 200, upper: 900}}
budget: {limit: {epsilon: "100"}}
sandbox: %s
plugins: {hostile: {path: %s, sha256: %s%s}}
releases: [{name: r, mechanism: hostile, params: {column: api00}, guarantee: {epsilon: "1"}}]
output: {dir: out, formats: [csv]}
`, s.table, mode, c.Path, c.SHA256, memory)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// run runs an act in a job. It returns the code of the failure, "" for none, and whether
// the act got what it wanted.
func (s *scene) run(t *testing.T, a act, mode sandbox.Mode) (code string, got bool) {
	t.Helper()
	s.got.Store(false)
	_ = os.RemoveAll(s.drop)
	_ = os.Mkdir(s.drop, 0o777)
	switch a.name {
	case "daemon":
		return "", s.outlives(t, a, mode)
	case "hang-in-plan":
		return s.hangs(t, a, mode), false
	}
	path := s.job(t, a, mode)
	j, err := pipeline.Load(path, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	apart := time.Millisecond
	if a.name == "second-in-plan" {
		apart = 0 // as in any run
	}
	_, err = pipeline.Run(t.Context(), j, pipeline.Options{CreateLedger: true, Apart: apart})
	var failed *failure.Failure
	var problems job.Problems
	switch {
	case errors.As(err, &failed):
		code = failed.Code
	case errors.As(err, &problems):
		code = "PLAN"
	case err != nil:
		t.Fatal(err)
	}
	arrived := s.arrived(t)
	dropped, _ := os.ReadDir(s.drop)
	report, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "out", "report.json"))
	got = arrived || len(dropped) > 0 || bytes.Contains(report, []byte("leak "))
	if leaks := rowIn[a.name]; leaks != nil && code == "" {
		got = leaks(s.released(t, path))
	}
	if a.name == "large-memory" || a.name == "large-file" {
		got = code == ""
	}
	return code, got
}

// rowIn says of acts on the result whether a row is in the value that was released.
var rowIn = map[string]func(x float64) bool{
	"row-in-low-bits":      func(x float64) bool { return x != float64(float32(x)) },
	"row-in-linear-result": func(x float64) bool { return 200 <= x && x <= 900 },
}

// noSecondProcess: a linear plugin hands a row, by a record lock, from a process that sees rows to one
// that does not, or remembers it, and gives it as its result. Where it declares its finish, none of its code runs after it saw
// rows, and the result is called apart. Where it does not, it gets what it wants, and its result is never called apart.
func noSecondProcess(t *testing.T, s *scene) {
	tier.Full(t, "TestThief of internal/plugin/host")
	for name, want := range map[string]string{"lock-declared": "apart", "lock-linear": "trusted"} {
		path := s.job(t, act{name: name}, sandbox.Required)
		j, err := pipeline.Load(path, os.LookupEnv)
		if err != nil {
			t.Fatal(err)
		}
		done, err := pipeline.Run(t.Context(), j, pipeline.Options{CreateLedger: true, Apart: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		leaks := rowIn["row-in-linear-result"](s.released(t, path))
		if got := done.Report.Releases[0].Mechanism.Result; got != want || leaks != (want == "trusted") {
			t.Errorf("%s: the result is called %q, and holds a row: %v", name, got, leaks)
		}
	}
}

// released is the value that a job released.
func (s *scene) released(t *testing.T, job string) float64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(filepath.Dir(job), "out", "r.csv"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(text))
	value, _, _ := strings.Cut(lines[len(lines)-1], ",") // before the marks
	x, err := strconv.ParseFloat(value, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// hangs asks for a plan that never ends.
func (s *scene) hangs(t *testing.T, a act, mode sandbox.Mode) string {
	t.Helper()
	c := s.plugin(t, a.name)
	c.Confine.Mode = mode
	p, err := host.Start(t.Context(), c, host.Limits{Plan: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	requests, err := sdktest.Requests(t.Context(), sdktest.InProcess(insecureshelf.Sound()), 1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Plan(t.Context(), requests[0])
	var e *host.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v", err)
	}
	return e.Code
}

// outlives kills a host while its plugin runs, and reports whether a process of the plugin
// is left, in any of four runs.
func (s *scene) outlives(t *testing.T, a act, mode sandbox.Mode) bool {
	t.Helper()
	for range 4 {
		path := s.job(t, a, mode)
		_ = os.RemoveAll(filepath.Join(filepath.Dir(path), "dprelease.db"))
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		h := exec.Command(self)
		h.Env = append(os.Environ(), "SABOTAGE_JOB="+path)
		if err := h.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(2 * time.Minute); len(s.daemons(t)) == 0; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the daemon did not start")
			}
		}
		_ = h.Process.Kill()
		_ = h.Wait()
		patience := 3 * time.Second
		if mode == sandbox.Required {
			patience = time.Minute // it ends, sooner or later
		}
		for deadline := time.Now().Add(patience); len(s.daemons(t)) > 0 && time.Now().Before(deadline); {
			time.Sleep(20 * time.Millisecond)
		}
		left := s.daemons(t)
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(left) > 0 {
			return true
		}
	}
	return false
}

// daemons are the processes that wait with the marker.
func (s *scene) daemons(t *testing.T) []int {
	t.Helper()
	var out []int
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range all {
		b, err := os.ReadFile(path)
		var pid int
		if err == nil && bytes.Contains(b, []byte("\x00wait\x00"+s.marker)) {
			if _, err := fmt.Sscanf(path, "/proc/%d/", &pid); err == nil {
				out = append(out, pid)
			}
		}
	}
	return out
}

// TestSabotage: every act is stopped where the table says so, and the table says what
// happened.
func TestSabotage(t *testing.T) {
	s := newScene(t)
	requests, err := sdktest.Requests(t.Context(), sdktest.InProcess(insecureshelf.Sound()), 1)
	if err != nil {
		t.Fatal(err)
	}
	var endings []string // of both runs, in the order of the acts
	endedSo := map[string]string{}
	tried := acts
	if testing.Short() { // the others in the full tests
		tried = slices.DeleteFunc(slices.Clone(acts), func(a act) bool {
			return !slices.Contains([]string{"tcp", "table-in-plan"}, a.name)
		})
	}
	t.Run("check", func(t *testing.T) { // checks wait most of the time, and do not disturb one another
		for _, a := range tier.Some(tried, len(tried)) {
			t.Run(a.name, func(t *testing.T) {
				if !strings.HasSuffix(a.name, "-by-row") { // which measure
					t.Parallel()
				}
				checks := s.check(t, a, requests[:1])
				for range retries(a) { // a busy machine hides what a row takes
					if !slices.Contains(checks, a.check) {
						checks = s.check(t, a, requests[:1])
					}
				}
				if !slices.Contains(checks, a.check) {
					t.Errorf("plugin check finds %v, want %q", checks, a.check)
				}
			})
		}
	})
	for _, a := range tried {
		t.Run(a.name, func(t *testing.T) {
			loose := ""
			if !testing.Short() { // a second pass
				code, got := s.run(t, a, sandbox.Off)
				if code != a.run {
					t.Errorf("without the sandbox the run ends with %q, want %q", code, a.run)
				}
				loose = outcome(code, got, a)
			}
			code, got := s.run(t, a, sandbox.Required)
			if code != a.code || got && a.stopped {
				t.Errorf("in the sandbox the run ends with %q, want %q; it got what it wanted: %v", code, a.code, got)
			}
			ended := fmt.Sprintf("Without the sandbox: %s; in the sandbox: %s", loose, outcome(code, got, a))
			if !slices.Contains(endings, ended) {
				endings = append(endings, ended)
			}
			endedSo[ended] += fmt.Sprintf("- %s (`%s`): %s\n", a.story, a.name, a.check)
		})
	}
	t.Run("no second process", func(t *testing.T) { noSecondProcess(t, s) })
	if testing.Short() || t.Failed() {
		return
	}
	const path = "../../../docs/sabotage.md"
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, _, ok := strings.Cut(string(old), mark)
	if !ok {
		t.Fatalf("%s has no line %q", path, mark)
	}
	text := head + mark + "\n"
	for _, ended := range endings {
		text += "\n" + ended + ".\n\n" + endedSo[ended]
	}
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if text != string(old) {
		t.Errorf("%s is not what happened; go test ./internal/testkit/sabotage -update writes\n%s", path, text)
	}
}

// TestAudit: every mechanism that the page names for a class of the published audit makes
// its mistake, and is caught by the check that the page names (TestShelf of sdktest).
func TestAudit(t *testing.T) {
	text, err := os.ReadFile("../../../docs/sabotage.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## The published audit")
	table, found, _ := strings.Cut(table, "## Defects that people found by hand")
	caught := map[string]string{}
	for _, s := range insecureshelf.All() {
		caught[s.Name] = s.Caught
	}
	named := 0
	for line := range strings.Lines(table) {
		names, check, ok := strings.Cut(line, " → ")
		if !ok {
			continue
		}
		for i, name := range strings.Split(names, "`") {
			if i%2 == 0 {
				continue
			}
			named++
			if want := strings.TrimSpace(check); caught[name] != want || want == "" {
				t.Errorf("%s is caught by %q, the page says %q", name, caught[name], want)
			}
		}
	}
	found, _, _ = strings.Cut(found, "## Hostile plugins")
	tests := ""
	for _, path := range []string{"../../pipeline/elsewhere_test.go", "../../../cmd/dprelease/elsewhere_test.go"} {
		code, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		tests += string(code)
	}
	listed := 0
	for _, word := range strings.Split(found, "`") {
		if strings.HasPrefix(word, "TestElsewhere") {
			listed++
			if !strings.Contains(tests, "func "+word+"(") {
				t.Errorf("the page names the test %s, which is not there", word)
			}
		}
	}
	if listed != strings.Count(tests, "func TestElsewhere") {
		t.Errorf("the page names %d tests of the defects that people found", listed)
	}
	if named < 15 {
		t.Errorf("the page names only %d mechanisms", named)
	}
}

// mark is the line above the table.
const mark = "<!-- go test ./internal/testkit/sabotage -update writes what follows -->"

// outcome is a run in a cell of the table.
func outcome(code string, got bool, a act) string {
	switch {
	case code == "PLAN":
		return "stopped: the plan is refused"
	case code != "":
		return "stopped: " + code
	case got:
		return "**gets what it wants**"
	case a.stopped:
		return "stopped: gets nothing"
	}
	return "**not stopped**"
}
