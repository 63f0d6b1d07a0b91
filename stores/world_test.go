package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/dprelease/dprelease/internal/data/store/call"
	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/columns"
	"github.com/dprelease/dprelease/stores/storetest"
)

// programs builds dprelease and its companions into one folder, as make build does.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "dprelease-stores-")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-C", "..", "-o", dir+"/", "./cmd/dprelease", "./cmd/dprelease-mechanisms")
	build.Stderr = os.Stderr
	return dir, errors.Join(build.Run(), storetest.Build(filepath.Join(dir, call.Program)))
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := programs(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// world is a folder and a ledger in which the built program runs.
type world struct{ program, dir, ledger string }

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{program: filepath.Join(dir, "dprelease"), dir: t.TempDir(), ledger: "sqlite:" + filepath.Join(t.TempDir(), "ledger.db")}
	a, err := ledger.ParseAddress(w.ledger, ".")
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

// ended runs a command to its end.
func (w *world) ended(t *testing.T, args ...string) (exit int, out, errs string) {
	t.Helper()
	cmd := exec.Command(w.program, args...)
	cmd.Dir, cmd.Env = w.dir, append(os.Environ(), "WORLD_LEDGER="+w.ledger)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var ended *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// files returns the files of a folder.
func files(t *testing.T, dir string) map[string]string {
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

// same compares two folders of releases.
func same(t *testing.T, what string, a, b map[string]string) {
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

// people makes a table of n rows.
func people(n int) table.Release {
	x, g, u := make([]float64, n), make([]string, n), make([]string, n)
	for i := range n {
		x[i], g[i], u[i] = float64(i%11), []string{"a", "b"}[i%2], fmt.Sprint("u", i%8)
	}
	return table.Release{Columns: []columns.Column{{Name: "x", Float64: x}, {Name: "g", Texts: g}, {Name: "u", Texts: u}}}
}
