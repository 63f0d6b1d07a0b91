package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/ledgercheck"
	"github.com/dprelease/dprelease/internal/testkit/postgrestest"
)

// wire passes what one machine says to the server on, from an address of its own.
// Before it passes on the n-th commit it calls cut; n is 0 for never.
type wire struct {
	net.Listener
	to  string
	n   int
	cut func()

	mu      sync.Mutex
	commits int
}

func newWire(t *testing.T, to string, n int, cut func()) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{Listener: l, to: to, n: n, cut: cut}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { w.pass(c) })
		}
	})
	t.Cleanup(func() { l.Close(); all.Wait() })
	return w
}

func (w *wire) pass(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer server.Close()
	answers := make(chan struct{})
	go func() {
		defer close(answers)
		io.Copy(client, server)
		client.Close()
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if bytes.Contains(buf[:n], []byte("COMMIT\x00")) && w.now() {
			w.cut()
		}
		if n > 0 {
			if _, err := server.Write(buf[:n]); err != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	server.Close()
	<-answers
}

func (w *wire) now() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.commits++
	return w.commits == w.n
}

// ended runs a command to its end.
func (w *world) ended(t testing.TB, args ...string) (exit int, out, errs string) {
	t.Helper()
	p := w.command(t, args...)
	p.Wait()
	return p.ProcessState.ExitCode(), p.out.String(), p.errs.String()
}

// must runs a command that ends with a given exit code, and shows what is wanted on
// standard output, or on standard error where it fails.
func (w *world) must(t testing.TB, exit int, want string, args ...string) string {
	t.Helper()
	got, out, errs := w.ended(t, args...)
	shown := out
	if exit != 0 {
		shown = errs
		if out != "" && args[0] != "plan" { // which prints its figures where the account does not allow them
			t.Errorf("%v: stdout %q", args, out)
		}
	}
	if got != exit || !strings.Contains(shown, want) {
		t.Fatalf("%v: exit %d, want %d; want %q in\n%s%s", args, got, exit, want, out, errs)
	}
	return out
}

// files are the files of a folder.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(b)
	}
	return out
}

func equal(t testing.TB, what string, a, b map[string]string) {
	t.Helper()
	if len(a) != len(b) || len(a) == 0 {
		t.Errorf("%s: %d files and %d", what, len(a), len(b))
	}
	for name := range a {
		if a[name] != b[name] {
			t.Errorf("%s: %s differs", what, name)
		}
	}
}

// example puts the main example into the world under another name, output folder
// and ledger.
func (w *world) example(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../examples/schools/job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	data, err := filepath.Abs("../../examples/data")
	if err != nil {
		t.Fatal(err)
	}
	s := string(text)
	for _, r := range [][2]string{{"../data", data}, {"job: schools-2000", "job: " + name}, {"dir: out", "dir: " + name}, {"budget:\n", "budget:\n  ledger: \"${WORLD_LEDGER}\"\n"}} {
		if !strings.Contains(s, r[0]) {
			t.Fatalf("the example has no %q", r[0])
		}
		s = strings.Replace(s, r[0], r[1], -1)
	}
	path := name + ".yaml"
	if err := os.WriteFile(filepath.Join(w.dir, path), []byte(s), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// The main example from end to end on a PostgreSQL server, as people on two
// machines use it.
func TestPostgres(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, postgrestest.New(t))
	far := *w
	far.ledger = strings.Replace(w.ledger, postgrestest.Shared(t).Address(), newWire(t, postgrestest.Shared(t).Address(), 0, nil).Addr().String(), 1)
	first := w.example(t, "first")

	w.must(t, 7, "LEDGER_MISSING: there is no ledger at postgres://127.0.0.1:", "ledger", "show", first)
	w.must(t, 0, "which is not there yet", "plan", first)
	w.must(t, 7, "LEDGER_MISSING", "ledger", "show", first) // a plan makes nothing
	w.must(t, 7, "make one with: dprelease ledger init first.yaml", "run", first)
	w.must(t, 7, "LEDGER_MISSING", "ledger", "show", first) // neither does a run
	w.must(t, 0, "ledger ", "ledger", "init", first)
	w.must(t, 0, "Charged for everything", "run", first)
	before := files(t, filepath.Join(w.dir, "first"))
	w.must(t, 0, "already released: nothing was drawn and nothing was debited", "run", first)
	if err := os.RemoveAll(filepath.Join(w.dir, "first")); err != nil {
		t.Fatal(err)
	}
	far.must(t, 0, "already released", "run", first)
	equal(t, "a retry from another machine", before, files(t, filepath.Join(w.dir, "first")))

	// The budget allows one such job, until somebody takes it on himself.
	second := w.example(t, "second")
	for _, command := range []string{"plan", "run"} {
		far.must(t, 4, "BUDGET_EXCEEDED: the account of data set ca-schools-2000 (row, replace-one) allows ε 3", command, second)
	}
	w.must(t, 0, "the limit is ε 4", "ledger", "raise", second, "--dataset", "ca-schools-2000", "--relation", "replace-one", "--epsilon", "4", "--delta", "1e-6", "--reason", "a second year")

	// Two machines run the same at once: one draws, both publish the same.
	text, err := os.ReadFile(filepath.Join(w.dir, second))
	if err != nil {
		t.Fatal(err)
	}
	same := strings.NewReplacer("dir: second", "dir: same", `limit: {epsilon: "3"`, `limit: {epsilon: "4"`).Replace(string(text))
	for name, text := range map[string]string{"second.yaml": strings.Replace(same, "dir: same", "dir: second", 1), "same.yaml": same} {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	two := []*process{w.command(t, "run", "--json", "second.yaml"), far.command(t, "run", "--json", "same.yaml")}
	drawn := 0
	for _, p := range two {
		if err := p.Wait(); err != nil {
			t.Fatalf("%v: %s", err, p.out.String())
		}
		drawn += strings.Count(p.out.String(), `"already_released":false`)
	}
	if drawn != 1 {
		t.Errorf("%d of two identical runs drew", drawn)
	}
	equal(t, "two machines at once", files(t, filepath.Join(w.dir, "second")), files(t, filepath.Join(w.dir, "same")))

	w.books(t, first)
}

// books looks at the ledger of a job with every command that there is: it holds
// two debits of one account, and their releases stand in three folders.
func (w *world) books(t *testing.T, job string) {
	t.Helper()
	w.must(t, 0, "limit ε 4, δ 0.000001", "ledger", "show", job)
	var shown struct {
		Accounts []struct {
			Dataset string
			Spends  []struct{ Job, State string }
		}
	}
	if err := json.Unmarshal([]byte(w.must(t, 0, "", "ledger", "show", "--json", job)), &shown); err != nil || len(shown.Accounts) != 1 ||
		len(shown.Accounts[0].Spends) != 2 || shown.Accounts[0].Spends[1].State != "published" {
		t.Errorf("show --json: %+v, %v", shown, err)
	}
	rows, err := csv.NewReader(strings.NewReader(w.must(t, 0, "", "ledger", "show", "--csv", w.ledger))).ReadAll()
	if err != nil || len(rows) != 1+2 {
		t.Errorf("show --csv: %d rows, %v", len(rows), err)
	}
	w.must(t, 0, "3 releases agree", "ledger", "verify", job, "--releases", ".")
	chain := w.must(t, 0, `"kind":"debit"`, "ledger", "export", job)
	if err := os.WriteFile(filepath.Join(w.dir, "chain.jsonl"), []byte(chain), 0o644); err != nil {
		t.Fatal(err)
	}
	w.must(t, 0, "3 releases agree", "ledger", "verify", "--chain", "chain.jsonl", "--releases", ".")
	w.must(t, 0, "ledger ", "ledger", "init", job, "--dataset", "other", "--relation", "add-remove", "--epsilon", "1", "--delta", "1e-6", "--filter", "zcdp")
	w.must(t, 7, "is open already", "ledger", "init", job, "--dataset", "other", "--relation", "add-remove", "--epsilon", "1", "--delta", "1e-6")
	w.must(t, 0, "other: per row, add-remove, filter zcdp", "ledger", "show", job)
}

// The server dies before each commit of a run in turn. The run ends with exit code
// 7, or 75 where nothing was spent, and shows nothing, or what was sealed before; when the server is back, the next
// runs end with one output of at most one debit more.
func TestPostgresStopsInMidRun(t *testing.T) {
	t.Parallel()
	postgrestest.Shared(t) // or skip
	server, err := postgrestest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Remove()
	w := newWorld(t, server.URL("public"))
	if how := w.run(t, "founds", "founds").end(t); how != "done" {
		t.Fatal(how)
	}
	before, _ := w.check(t, nil)
	for n := 1; ; n++ {
		reached, down := make(chan struct{}), make(chan struct{})
		proxy := newWire(t, server.Address(), n, func() { close(reached); server.Kill(); close(down) })
		cut := *w
		cut.ledger = strings.Replace(w.ledger, server.Address(), proxy.Addr().String(), 1)
		name := fmt.Sprint("p", n)
		p := cut.run(t, name, name)
		p.Wait()
		select {
		case <-reached:
			<-down
		default:
			if p.ProcessState.ExitCode() != 0 || n < 5 {
				t.Fatalf("commit %d was not reached: %s", n, p.errs.String())
			}
			return
		}
		exit := p.ProcessState.ExitCode()
		if errs, last, ok := cutLast(p.errs.String()); !ok || exit != 7 && exit != 75 || (exit == 75) != strings.Contains(last, "retry: yes") || !strings.HasPrefix(errs, "dprelease: LEDGER_") || strings.Count(errs, "\n") != 1 || p.out.Len() > 0 {
			t.Fatalf("commit %d: exit %d, %q", n, p.ProcessState.ExitCode(), errs)
		}
		if err := server.Run(); err != nil {
			t.Fatal(err)
		}
		before, _ = w.check(t, before)
		how := w.run(t, name, name).end(t)
		if how == "RUN_UNFINISHED" {
			how = w.run(t, name, name, "--spend-again").end(t)
		}
		if how != "done" {
			t.Fatalf("commit %d: then %s", n, how)
		}
		var seen map[string]ledgercheck.Output
		before, seen = w.check(t, before)
		if _, ok := seen[name]; !ok || t.Failed() {
			t.Fatalf("commit %d: no output", n)
		}
	}
}
