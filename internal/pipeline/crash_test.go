package pipeline_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/output"
	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/ledger"
)

func child(self, job string, env ...string) *exec.Cmd {
	cmd := exec.Command(self)
	cmd.Env = append(append(os.Environ(), "PIPELINE_TEST_RUN="+job), env...)
	return cmd
}

// openLedger opens the default ledger beside a job.
func openLedger(t *testing.T, dir string) *ledger.Ledger {
	t.Helper()
	a, err := ledger.ParseAddress("", dir)
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(background, a, ledger.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// spends are the debits that a recovered ledger knows of.
func spends(t *testing.T, dir string) []ledger.Spend {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, ledger.DefaultName)); err != nil {
		return nil
	}
	a, err := ledger.ParseAddress("", dir)
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(background, a, ledger.Options{ReadOnly: true})
	var known *ledger.Error
	if errors.As(err, &known) && known.Code == ledger.CodeMissing {
		return nil // killed before its first commit
	}
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s, err := l.Spends(background, 0)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// verified holds the ledger to its chain and to everything that is visible.
func verified(t *testing.T, dir string) {
	t.Helper()
	seen, err := output.ReadReleases([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	l := openLedger(t, dir)
	defer l.Close()
	v, err := l.Verify(background, seen)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range v.Findings() {
		t.Errorf("%s: %s: %s", f.Code, f.Where, f.What)
	}
}

// checkAfterKill reports whether an output is there; then it is whole and debited.
func checkAfterKill(t *testing.T, dir string) bool {
	t.Helper()
	debits := spends(t, dir)
	files, err := os.ReadDir(filepath.Join(dir, "out"))
	if err != nil {
		return false
	}
	if len(debits) == 0 {
		t.Error("an output without a debit")
	}
	if len(files) != 2+3 {
		t.Errorf("%d files: the output is not whole", len(files))
	}
	b, err := os.ReadFile(filepath.Join(dir, "out", "report.json"))
	if err != nil || !json.Valid(b) {
		t.Errorf("the report is not whole: %v", err)
	}
	verified(t, dir)
	return true
}

// contents are all files of an output folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		out[d.Name()] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// points are the named points of a run, and what the next run does after a kill
// there: it makes the releases, refuses until it is told to spend again, or
// publishes what was sealed.
var points = []struct {
	name   string
	debits int
	then   string
}{
	{"planned", 0, "runs"},
	{"ledger", 0, "runs"},
	{"opened", 0, "runs"},
	{"debited", 1, "refuses"},
	{"drawn", 1, "refuses"},
	{"sealed", 1, "publishes"},
	{"listing", 1, "publishes"},
	{"writing", 1, "publishes"},
	{"renaming", 1, "publishes"},
	{"syncing", 1, "publishes"},
	{"visible", 1, "publishes"},
	{"published", 1, "publishes"},
}

// A run that is killed at a named point leaves nothing that is not debited, and
// the next runs end with one output.
func TestKillAtEveryPoint(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range tier.Some(points, 5) {
		t.Run(p.name, func(t *testing.T) {
			path := write(t, tinyJob, "TABLE", good(t), "limit: {epsilon: 1}", "limit: {epsilon: 5}")
			dir := filepath.Dir(path)
			err := child(self, path, "PIPELINE_TEST_KILL="+p.name).Run()
			var exit *exec.ExitError
			if !asExit(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the run was not killed: %v", err)
			}
			if n := len(spends(t, dir)); n != p.debits {
				t.Fatalf("%d debits, want %d", n, p.debits)
			}
			_, before := os.Stat(filepath.Join(dir, "out"))
			o, err := run(t, path)
			if p.then == "refuses" {
				if exit, code := exitOf(err); exit != 7 || code != "RUN_UNFINISHED" {
					t.Fatalf("exit %d, code %s", exit, code)
				}
				if _, err := os.Stat(filepath.Join(dir, "out")); err == nil || before == nil {
					t.Error("an output appeared")
				}
				o, err = runWith(t, path, func(o *pipeline.Options) { o.Again = true })
			}
			if err != nil {
				t.Fatal(err)
			}
			want := p.debits
			if p.then != "publishes" {
				want++
			}
			if o.Already != (p.then == "publishes") || len(spends(t, dir)) != want {
				t.Errorf("already %v, %d debits, want %d", o.Already, len(spends(t, dir)), want)
			}
			verified(t, dir)
			first := contents(t, o.Dir)
			if err := os.RemoveAll(o.Dir); err != nil {
				t.Fatal(err)
			}
			if o, err = run(t, path); err != nil || !o.Already || len(spends(t, dir)) != want {
				t.Fatalf("a retry: %v, already %v", err, o.Already)
			}
			for name, b := range contents(t, o.Dir) {
				if first[name] != b {
					t.Errorf("%s of the retry differs", name)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".out*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// A run that is killed at any moment leaves either the whole output or none of
// it, and never an output without a debit (P21).
func TestKillAtAnyMoment(t *testing.T) {
	tier.Full(t, "TestKillAtEveryPoint")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	table := good(t)
	path := write(t, tinyJob, "TABLE", table)
	start := time.Now()
	if out, err := child(self, path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	whole := time.Since(start)
	const kills = 40
	published, killed := 0, 0
	for i := range kills {
		path := write(t, tinyJob, "TABLE", table)
		cmd := child(self, path)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(whole * time.Duration(i) / time.Duration(kills))
		cmd.Process.Kill()
		if cmd.Wait() != nil {
			killed++
		}
		if checkAfterKill(t, filepath.Dir(path)) {
			published++
		}
	}
	if killed == 0 {
		t.Fatal("no run was killed: the test shows nothing")
	}
	t.Logf("%d runs killed, %d outputs published", killed, published)
}

func second[T any](_ T, err error) error { return err }

// A disk that fills up while the output is written shows nothing: no folder, no
// partial file. What was sealed is published when there is room again.
func TestFullDisk(t *testing.T) {
	path := write(t, tinyJob, "TABLE", good(t))
	dir := filepath.Dir(path)
	full := &faultyDisk{fail: 3, with: syscall.ENOSPC, short: true}
	_, err := runWith(t, path, func(o *pipeline.Options) { *o = pipeline.With(*o, nil, full, 0) })
	if exit, code := exitOf(err); exit != failure.ExitNotPublished || code != "NOT_PUBLISHED" || !strings.Contains(err.Error(), "the disk is full; they are stored") {
		t.Fatalf("%v", err)
	}
	left, _ := os.ReadDir(dir)
	for _, e := range left {
		if e.Name() != "job.yaml" && e.Name() != ".dprelease-releases" && !strings.HasPrefix(e.Name(), ledger.DefaultName) {
			t.Errorf("left behind: %s", e.Name())
		}
	}
	if o, err := run(t, path); err != nil || !o.Already || len(spends(t, dir)) != 1 {
		t.Fatalf("%v", err)
	}
	verified(t, dir)
}

// faultyDisk fails at its n-th step, and at none where n is 0.
type faultyDisk struct {
	pipeline.RealDisk
	fail  int
	with  error
	short bool // half of the bytes are written first

	mu    sync.Mutex // files are written side by side
	steps int
}

func (d *faultyDisk) next() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.steps++
	return d.steps == d.fail
}

func (d *faultyDisk) Write(path string, mode fs.FileMode, data []byte) error {
	if d.next() {
		if d.short {
			os.WriteFile(path, data[:len(data)/2], mode)
		}
		return d.with
	}
	return d.RealDisk.Write(path, mode, data)
}

func (d *faultyDisk) Rename(from, to string) error {
	if d.next() {
		return d.with
	}
	return d.RealDisk.Rename(from, to)
}

func (d *faultyDisk) SyncDir(path string) error {
	if d.next() {
		return d.with
	}
	return d.RealDisk.SyncDir(path)
}

// Every step of publishing fails in every way; afterwards the same bytes come out.
func TestEveryStepOfPublishingFails(t *testing.T) {
	count := &faultyDisk{}
	if _, err := runWith(t, write(t, tinyJob, "TABLE", good(t)), func(o *pipeline.Options) { *o = pipeline.With(*o, nil, count, 0) }); err != nil {
		t.Fatal(err)
	}
	if count.steps < 6 {
		t.Fatalf("only %d steps", count.steps)
	}
	table := good(t)
	for n := 1; n <= count.steps; n += tier.Of(5, 1) {
		faults := tier.Some([]*faultyDisk{{with: syscall.ENOSPC, short: true}, {with: syscall.EIO}}, 2)
		for _, fault := range faults {
			fault.fail = n
			path := write(t, tinyJob, "TABLE", table)
			dir := filepath.Dir(path)
			_, err := runWith(t, path, func(o *pipeline.Options) { *o = pipeline.With(*o, nil, fault, 0) })
			if exit, code := exitOf(err); exit != failure.ExitNotPublished || code != "NOT_PUBLISHED" {
				t.Fatalf("step %d, %v: %v", n, fault.with, err)
			}
			o, err := run(t, path)
			if err != nil || !o.Already || len(spends(t, dir)) != 1 {
				t.Fatalf("step %d, %v: then %v", n, fault.with, err)
			}
			verified(t, dir)
		}
	}
}

func asExit(err error, to **exec.ExitError) bool {
	e, ok := err.(*exec.ExitError)
	*to = e
	return ok
}

// killer ends this process at a named point of a run.
func killer(point string) pipeline.Options {
	die := func() { syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} }
	at := func(p string) {
		if p == point {
			die()
		}
	}
	return pipeline.With(options(), at, &lethalDisk{point: point, die: die}, 0)
}

// lethalDisk ends the process half way through publishing.
type lethalDisk struct {
	pipeline.RealDisk
	point string
	die   func()

	mu    sync.Mutex
	steps []string
}

// step notes a step and returns those before it.
func (d *lethalDisk) step(name string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.steps = append(d.steps, name)
	return d.steps[:len(d.steps)-1]
}

func (d *lethalDisk) Write(path string, mode fs.FileMode, data []byte) error {
	if before := d.step(path); d.point == "writing" && len(before) > 0 {
		os.WriteFile(path, data[:len(data)/2], mode)
		d.die()
	}
	return d.RealDisk.Write(path, mode, data)
}

func (d *lethalDisk) Rename(from, to string) error {
	list := filepath.Base(to) == ".dprelease-releases"
	if d.point == "renaming" && !list || d.point == "listing" && list {
		d.die()
	}
	if !list {
		d.step("renamed")
	}
	return d.RealDisk.Rename(from, to)
}

func (d *lethalDisk) SyncDir(path string) error {
	if d.point == "syncing" && slices.Contains(d.step("synced"), "renamed") {
		d.die()
	}
	return d.RealDisk.SyncDir(path)
}

// What a killed run leaves behind, the next run of the account removes, at once and
// wherever its own output goes: the folder in the making, and that of its mechanism.
func TestNextRunTidiesUp(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	temp, err := os.MkdirTemp("/tmp", "tidy-") // sockets have short names: a plugin's folder is not made below a long one
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temp)
	data := good(t)
	path := manyJob(t, data)
	dir := filepath.Dir(path)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	left := func() (n int) {
		for _, pattern := range []string{filepath.Join(temp, "dprelease-plugin-*"), filepath.Join(dir, ".*.partial-*"), filepath.Join(dir, "deep", ".*.partial-*")} {
			found, err := filepath.Glob(pattern)
			if err != nil {
				t.Fatal(err)
			}
			n += len(found)
		}
		return n
	}
	for _, c := range []struct{ killed, next string }{{"out", "out2"}, {"deep/out", "out3"}} {
		for name, out := range map[string]string{"killed.yaml": c.killed, "next.yaml": c.next} {
			s := strings.NewReplacer("dir: out", "dir: "+out, "epsilon: 1}", "epsilon: 0.5}", "job: tiny", "job: tiny-"+strings.ReplaceAll(out, "/", "-")).Replace(string(text))
			if err := os.WriteFile(filepath.Join(dir, name), []byte(s), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if out, err := child(self, filepath.Join(dir, "killed.yaml"), "PIPELINE_TEST_KILL=debited", "TMPDIR="+temp).CombinedOutput(); err == nil || len(out) > 0 {
			t.Fatalf("the run was not killed: %s", out)
		}
		if left() < 2 {
			t.Fatalf("%s: a killed run left %d folders", c.killed, left())
		}
		if out, err := child(self, filepath.Join(dir, "next.yaml"), "TMPDIR="+temp).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if n := left(); n != 0 {
			t.Errorf("%s: %d folders are left", c.killed, n)
		}
	}
	verified(t, dir)
}
