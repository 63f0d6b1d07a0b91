package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/output"
	"github.com/dprelease/dprelease/internal/testkit/ledgercheck"
	"github.com/dprelease/dprelease/internal/testkit/postgrestest"
	"github.com/dprelease/dprelease/internal/testkit/testdir"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/report"
)

// world is a folder with data, jobs and outputs, and a ledger, in which whole runs
// of dprelease are started as processes.
type world struct {
	program string // dprelease
	dir     string
	ledger  string // its address
	debits  int    // in the ledger when it was last checked
}

const worldJob = `version: 1
job: NAME
dataset:
  id: people
  source: {path: people.parquet}
  relation: replace-one
  size: 400
  columns:
    x: {lower: 0, upper: 10}
    g: {domain: [a, b]}
budget: {ledger: "${WORLD_LEDGER}", limit: {epsilon: 1000}}
RELEASES
output: {dir: outs/OUT, formats: [csv]}
`

// releases holds the releases of a world's job: those of a quick job, as most are, or with a
// draw and two mechanisms.
var releases = map[bool]string{
	false: `releases:
  - {name: mean, mechanism: mean, params: {column: x}, guarantee: {epsilon: 0.5}}
  - {name: means, mechanism: mean, params: {column: x, by: g}, guarantee: {epsilon: 0.5}}`,
	true: `samples: {some: {method: srswor, size: 100}}
releases:
  - {name: mean, from: some, mechanism: mean, params: {column: x}, guarantee: {epsilon: 0.5}}
  - {name: count, mechanism: count, params: {by: g}, guarantee: {epsilon: 0.5}}`,
}

// newWorld has a new ledger in it.
func newWorld(t *testing.T, address string) *world {
	t.Helper()
	w := emptyWorld(t, address)
	a, err := ledger.ParseAddress(address, ".")
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(t.Context(), a, ledger.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return w
}

func emptyWorld(t *testing.T, address string) *world {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{program: filepath.Join(t.TempDir(), "dprelease"), dir: testdir.New(t), ledger: address}
	if err := os.Symlink(self, w.program); err != nil {
		t.Fatal(err)
	}
	w.change(t, 0)
	return w
}

// onBothAtOnce runs a test on both databases, side by side and beside other tests; in the fast tier on SQLite
// alone, where TestPostgres and the ledger's own tests look at the other. The test must run jobs as processes of their own:
// a job in this process takes all its children for plugins, and ends them.
func onBothAtOnce(t *testing.T, f func(t *testing.T, w *world)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		f(t, newWorld(t, "sqlite:"+filepath.Join(testdir.New(t), "ledger.db")))
	})
	if testing.Short() {
		return
	}
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		f(t, newWorld(t, postgrestest.New(t)))
	})
}

// change puts another version of the data in the place of the one before.
func (w *world) change(t testing.TB, version int) {
	t.Helper()
	var b bytes.Buffer
	if err := table.WriteParquet(&b, people(400, func(i int, p *person) { p.x = float64((i + version) % 11) })); err != nil {
		t.Fatal(err)
	}
	temp, err := os.CreateTemp(w.dir, ".people-")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := temp.Write(b.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(temp.Close(), os.Rename(temp.Name(), filepath.Join(w.dir, "people.parquet"))); err != nil {
		t.Fatal(err)
	}
}

// process is a running command.
type process struct {
	*exec.Cmd
	out, errs bytes.Buffer
	words     chan string // the events of the lines of standard output, with --json
}

// heard keeps what a process writes to standard output, and passes on its events.
type heard struct{ *process }

// event finds the event of a line of JSON.
var event = regexp.MustCompile(`"event":"([a-z-]+)"`)

func (h heard) Write(b []byte) (int, error) {
	for _, found := range event.FindAllSubmatch(b, -1) {
		select {
		case h.words <- string(found[1]):
		default: // nobody listens
		}
	}
	return h.out.Write(b)
}

// command starts dprelease with some arguments.
func (w *world) command(t testing.TB, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(w.program, args...), words: make(chan string, 100)}
	p.Dir, p.Stdout, p.Stderr = w.dir, heard{p}, &p.errs
	p.Env = append(os.Environ(), "WORLD_LEDGER="+w.ledger)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// run starts a run of a job into an output folder of its own. A job whose name ends
// with s draws a sample.
func (w *world) run(t testing.TB, name, out string, flags ...string) *process {
	t.Helper()
	path := filepath.Join(w.dir, out+".yaml")
	if err := os.WriteFile(path, []byte(strings.NewReplacer("NAME", name, "OUT", out, "RELEASES", releases[strings.HasSuffix(name, "s")]).Replace(worldJob)), 0o644); err != nil {
		t.Fatal(err)
	}
	return w.command(t, append([]string{"run", "-q", path}, flags...)...)
}

// killed is the end of a process that did not end by itself.
const killed = "killed"

// end waits for a run and says how it ended: "done", a code, or killed. A run ends
// in few ways, and says which on one line of standard error, above the last one; with --json on the last line of its output.
func (p *process) end(t testing.TB) string {
	err := p.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil && p.errs.Len() == 0:
		return "done"
	case !errors.As(err, &exit):
		t.Errorf("%v: %s", err, p.errs.String())
		return "lost"
	case exit.ExitCode() < 0:
		return killed
	}
	code, _, _ := strings.Cut(strings.TrimPrefix(p.errs.String(), "dprelease: "), ":")
	said, _, ok := cutLast(p.errs.String())
	ok = ok && strings.Count(said, "\n") == 1
	if p.errs.Len() == 0 {
		lines := strings.Split(strings.TrimSpace(p.out.String()), "\n")
		var last command.Ending
		ok = json.Unmarshal([]byte(lines[len(lines)-1]), &last) == nil && last.Event == "failed" && last.Exit == exit.ExitCode()
		code = last.Code
	}
	known := map[string]int{ledger.CodeUnfinished: 7, "RUN_ELSEWHERE": 7, ledger.CodeRolledBack: 7, ledger.CodeReleased: 7, ledger.CodeLease: 7,
		ledger.CodeClock: 7, ledger.CodeChanged: 6, ledger.CodeExhausted: 4}
	if !ok || known[code] != exit.ExitCode() {
		t.Errorf("exit %d: %s%s", exit.ExitCode(), p.out.String(), p.errs.String())
	}
	return code
}

// visible are the outputs that anybody can see; their content is still unknown.
func (w *world) visible(t testing.TB) map[string]ledgercheck.Output {
	t.Helper()
	out := map[string]ledgercheck.Output{}
	entries, err := os.ReadDir(filepath.Join(w.dir, "outs"))
	if errors.Is(err, os.ErrNotExist) {
		return out
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue // in the making, or what a killed run left of it
		}
		dir := filepath.Join(w.dir, "outs", e.Name())
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		all := sha256.New()
		for _, f := range files {
			b, err := os.ReadFile(filepath.Join(dir, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(all, "%s %d\n%s", f.Name(), len(b), b)
		}
		b, err := os.ReadFile(filepath.Join(dir, "report.json"))
		var r report.Report
		if err != nil || json.Unmarshal(b, &r) != nil || r.Budget == nil || len(files) != 2*2+3 {
			t.Fatalf("half an output in %s: %v, %d files", e.Name(), err, len(files))
		}
		out[e.Name()] = ledgercheck.Output{Plan: r.Job.Name, Value: hex.EncodeToString(all.Sum(nil)), Head: r.Budget.Head, Seq: r.Budget.Sequence}
	}
	return out
}

// open opens the ledger, which recovers it; nil where there is none yet.
func (w *world) open(t testing.TB) *ledger.Ledger {
	t.Helper()
	a, err := ledger.ParseAddress(w.ledger, w.dir)
	if err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Open(context.Background(), a, ledger.Options{ReadOnly: true})
	var known *ledger.Error
	if errors.As(err, &known) && known.Code == ledger.CodeMissing {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// recovered returns the state of the chain and the account of a ledger, and the content of
// each sealed release.
func (w *world) recovered(t testing.TB) (ledgercheck.State, map[int64]string) {
	t.Helper()
	s := ledgercheck.State{Spent: new(big.Rat), Limit: new(big.Rat), Debits: map[int64]ledgercheck.Debit{}}
	contents := map[int64]string{}
	l := w.open(t)
	if l == nil {
		return s, contents
	}
	defer l.Close()
	accounts, err := l.Accounts(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if len(accounts) == 1 {
		s.Spent, s.Limit = accounts[0].Spent[0], accounts[0].Limit.Epsilon
	}
	err = l.Records(context.Background(), func(r ledger.Record) error {
		var b struct {
			Job     string
			Cost    []string
			Release int64
			Content string
		}
		if err := json.Unmarshal([]byte(r.Body), &b); err != nil {
			return err
		}
		switch r.Kind {
		case "debit":
			cost, ok := new(big.Rat).SetString(b.Cost[0])
			if !ok {
				return errors.New("a debit without a cost")
			}
			s.Debits[r.Seq] = ledgercheck.Debit{Plan: b.Job, Hash: r.Hash, Cost: cost}
		case "seal":
			contents[b.Release] = b.Content
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, contents
}

// check recovers the ledger and holds it, offline, to everything that is visible.
func (w *world) check(t testing.TB, before *big.Rat) (*big.Rat, map[string]ledgercheck.Output) {
	t.Helper()
	seen := w.visible(t) // first: whatever is visible now was debited before
	s, contents := w.recovered(t)
	w.debits = len(s.Debits)
	var all []ledgercheck.Output
	for name, o := range seen {
		o.Content = contents[o.Seq]
		seen[name] = o
		all = append(all, o)
	}
	for _, wrong := range ledgercheck.Check(s, all, before) {
		t.Error(wrong)
	}
	return s.Spent, seen
}

// verify is the ledger's own audit, against the outputs.
func (w *world) verify(t testing.TB) []ledger.Finding {
	t.Helper()
	seen, err := output.ReadReleases([]string{w.dir})
	if err != nil {
		t.Fatal(err)
	}
	l := w.open(t)
	if l == nil {
		return nil
	}
	defer l.Close()
	v, err := l.Verify(context.Background(), seen)
	if err != nil {
		t.Fatal(err)
	}
	return v.Findings()
}
