package main

import (
	"context"
	"errors"
	"io/fs"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/dprelease/dprelease/cmd/dprelease/signals"
	"github.com/dprelease/dprelease/internal/author"
	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/internal/testkit/postgrestest"
	"github.com/dprelease/dprelease/plugins/builtin"
	"github.com/dprelease/dprelease/plugins/sdk/serve"
)

// TestMain lets this test binary be the program: in the scripts as the command
// dprelease, as its companions dprelease-design and dprelease-mechanisms.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == pipeline.ServeArgument {
		serveMechanisms()
		return
	}
	os.Unsetenv("COLUMNS") // of who runs the tests: it would break the lines that they read
	testscript.Main(tests{m}, map[string]func(){"dprelease": main, designer.Name: design, mechanisms: serveMechanisms, crashing: crash})
}

// mechanisms is the name of the companion that serves the built-in mechanisms.
const mechanisms = "dprelease-mechanisms"

// serveMechanisms is its main function.
func serveMechanisms() { serve.Mechanisms(builtin.Served()...) }

// design is the main function of the companion for authors.
func design() {
	ctx, stop := command.Interruptible(context.Background(), signals.Received, time.Second)
	defer stop()
	os.Exit(author.Execute(ctx, command.OfProcess(release), os.Args[1:]))
}

// tests are all tests of this package, and what must be stopped after them.
type tests struct{ *testing.M }

// Run runs the tests.
func (m tests) Run() int {
	signal.Reset() // of package signals: tests that hang should print their stacks
	defer postgrestest.Stop()
	self, err := os.Executable()
	if err != nil {
		log.Fatal(err)
	}
	// The companions lie beside the program, which is this test binary.
	for _, name := range []string{designer.Name, mechanisms} {
		if err := os.Symlink(self, filepath.Join(filepath.Dir(self), name)); err != nil && !errors.Is(err, fs.ErrExist) {
			log.Fatal(err)
		}
	}
	return m.M.Run()
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Files:               scripts(t, "testdata/script", "check", "completion", "init", "run", "report", "small", "usage"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               func(e *testscript.Env) error { return writeTables(e.WorkDir) },
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "says": says},
	})
}

// scripts returns the scripts of a folder: in the fast tier those with the given names only.
func scripts(t *testing.T, dir string, fast ...string) []string {
	t.Helper()
	if testing.Short() {
		for i, name := range fast {
			fast[i] = filepath.Join(dir, name+".txtar")
		}
		return fast
	}
	all, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(all) < len(fast) {
		t.Fatalf("%s has %d scripts: %v", dir, len(all), err)
	}
	return all
}

// exits runs a program and compares its exit code: exits CODE PROGRAM ARGS...
// Standard output and error are compared by the lines that follow.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if err != nil {
		code = exitCode(err)
	}
	if code != args[0] {
		ts.Fatalf("exit code is %s, want %s", code, args[0])
	}
}

// lastLine matches the last line of every failure.
var lastLine = regexp.MustCompile(`^failed: code [A-Z_]+, exit \d+; spent: (none|this run|unknown); retry: (yes|no|after a person looked); \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`)

// cutLast takes the last line off what a failure printed; ok says that it is one.
func cutLast(text string) (rest, last string, ok bool) {
	text = strings.TrimSuffix(text, "\n")
	at := strings.LastIndexByte(text, '\n') + 1
	return text[:at], text[at:], lastLine.MatchString(text[at:])
}

// says compares standard error, without the last line of a failure, with a file.
func says(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: says FILE")
	}
	got, _, ok := cutLast(ts.ReadFile("stderr"))
	if want := ts.ReadFile(args[0]); !ok || got != want {
		ts.Fatalf("standard error is %q, want %q and the last line of a failure", got, want)
	}
}
