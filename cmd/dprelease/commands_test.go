package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/dprelease/dprelease/cmd/dprelease/signals"
	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/command/lineage"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/internal/testkit/testdir"
	"github.com/dprelease/dprelease/ledger"
)

// story is a pipeline that does what a test says.
type story struct {
	loadErr, checkErr, planErr, runErr error
	above                              bool // a plan that its account does not allow comes with the error
	events                             []pipeline.Progress
	during                             func()
	got                                pipeline.Options
}

func (s *story) load(string, func(string) (string, bool), []string) (*job.Job, error) {
	return &job.Job{Name: "demo"}, s.loadErr
}

func (s *story) check(context.Context, *job.Job, pipeline.Options) error { return s.checkErr }

func (s *story) look(context.Context, *job.Job, pipeline.Options) (command.Answer, bool, error) {
	return words("the look"), false, s.checkErr
}

func (s *story) plan(context.Context, *job.Job, pipeline.Options) (command.Answer, error) {
	if s.planErr != nil && !s.above {
		return nil, s.planErr
	}
	return words("the plan"), s.planErr
}

func (s *story) run(_ context.Context, _ *job.Job, o pipeline.Options) (command.Answer, error) {
	s.got = o
	if s.during != nil {
		s.during()
	}
	for _, ev := range s.events {
		if o.Observer != nil {
			o.Observer.Observe(ev)
		}
	}
	return words("the summary"), s.runErr
}

type words string

func (w words) WriteText(out io.Writer) error {
	_, err := io.WriteString(out, string(w)+"\n")
	return err
}

func (w words) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"words": string(w)})
}

// nothingSet is an environment without variables.
func nothingSet(string) (string, bool) { return "", false }

// try runs one command line.
func try(ctx context.Context, s *story, args ...string) (exit int, out, errw string) {
	var o, e bytes.Buffer
	env := &environment{Environment: &command.Environment{In: strings.NewReader(""), Out: &o, Errw: &e, Getenv: nothingSet, Self: "/self"}, jobs: s}
	exit = env.execute(ctx, args)
	return exit, o.String(), e.String()
}

const secretValue = "4711.0815"

// A plan that its account does not allow is printed before the failure, and is no JSON.
func TestPlanAboveTheLimit(t *testing.T) {
	s := story{planErr: &failure.Failure{Exit: 4, Code: "BUDGET", Message: "no"}, above: true}
	if exit, out, errw := try(context.Background(), &s, "plan", "j.yaml"); exit != 4 || out != "the plan\n" || !strings.HasPrefix(errw, "dprelease: BUDGET: no\n") {
		t.Errorf("exit %d, stdout %q, stderr %q", exit, out, errw)
	}
	if exit, out, _ := try(context.Background(), &s, "plan", "--json", "j.yaml"); exit != 4 || strings.Contains(out, "the plan") {
		t.Errorf("exit %d, stdout %q", exit, out)
	}
}

// Every kind of error has its exit code and its text, on every command, and an
// error of an unknown kind says nothing but its type.
func TestFailures(t *testing.T) {
	problem := job.Problem{Pos: job.Pos{File: "j.yaml", Line: 3, Column: 7}, Step: language.StepCheck, Path: "a.b", Message: "is wrong", Hint: "do right"}
	for _, c := range []struct {
		err  error
		exit int
		text string
		code string
	}{
		{job.Problems{problem, problem}, 3, "j.yaml:3:7: a.b: is wrong (do right)\nj.yaml:3:7: a.b: is wrong (do right)\n", "INVALID_JOB"},
		{problem, 3, "j.yaml:3:7: a.b: is wrong (do right)\n", "INVALID_JOB"},
		{&failure.Failure{Exit: 4, Code: "BUDGET", Message: "the budget is exhausted"}, 4, "dprelease: BUDGET: the budget is exhausted\n", "BUDGET"},
		{fmt.Errorf("wrapped: %w", &failure.Failure{Exit: 5, Code: "PLUGIN", Message: "no"}), 5, "dprelease: PLUGIN: no\n", "PLUGIN"},
		{&failure.Failure{Exit: 6, Code: "SOURCE", Message: "no"}, 6, "dprelease: SOURCE: no\n", "SOURCE"},
		{&failure.Failure{Exit: 7, Code: "LEDGER", Message: "no"}, 7, "dprelease: LEDGER: no\n", "LEDGER"},
		{&failure.Failure{Exit: 8, Code: "NOT_PUBLISHED", Message: "no"}, 8, "dprelease: NOT_PUBLISHED: no\n", "NOT_PUBLISHED"},
		{context.Canceled, 130, "dprelease: INTERRUPTED: interrupted; nothing was drawn and nothing was spent\n", "INTERRUPTED"},
		{errors.New(secretValue), 1, "dprelease: INTERNAL: a bug: an unexpected error of type *errors.errorString; please report it\n", "INTERNAL"},
	} {
		for _, s := range []struct {
			command string
			story
		}{
			{"check", story{loadErr: c.err}}, {"plan", story{loadErr: c.err}}, {"run", story{loadErr: c.err}},
			{"check", story{checkErr: c.err}}, {"plan", story{planErr: c.err}}, {"run", story{runErr: c.err}},
		} {
			exit, out, errw := try(context.Background(), &s.story, s.command, "j.yaml")
			said, _, ok := cutLast(errw)
			if exit != c.exit || out != "" || said != c.text || !ok {
				t.Errorf("%s with %T: exit %d, stdout %q, stderr %q; want %d and %q", s.command, c.err, exit, out, errw, c.exit, c.text)
			}
			exit, out, errw = try(context.Background(), &s.story, s.command, "--json", "j.yaml")
			if exit != c.exit || errw != "" || strings.Contains(out, secretValue) {
				t.Errorf("%s --json with %T: exit %d, stdout %q, stderr %q", s.command, c.err, exit, out, errw)
			}
			var last command.Ending
			lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
			if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.Event != "failed" || last.Exit != c.exit || last.Code != c.code || last.Spent == "" || last.Retry == "" || last.At == "" ||
				last.Job != map[bool]string{true: "demo"}[s.loadErr == nil] || (last.Run != "") != (s.command == "run" && s.loadErr == nil) {
				t.Errorf("%s --json with %T ends with %s (%v)", s.command, c.err, lines[len(lines)-1], err)
			}
			if n := len(command.ProblemsOf(c.err)); len(lines) != n+1 {
				t.Errorf("%s --json with %T: %d lines, want %d", s.command, c.err, len(lines), n+1)
			}
		}
	}
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct{ args, out string }{
		{"check j.yaml", "j.yaml: no problems found\n" + notLookedAt + "\n"},
		{"check -q j.yaml", ""},
		{"check --json j.yaml", `{"event":"done","job":"demo","exit":0,"note":"` + notLookedAt + `"}` + "\n"},
		{"plan j.yaml", "the plan\n"},
		{"plan --quiet j.yaml", ""},
		{"plan --json j.yaml", `{"words":"the plan"}` + "\n"},
		{"run j.yaml", "the summary\n"},
		{"run -q j.yaml", ""},
		{"run --json j.yaml", `{"event":"draw",RUN,"draw":"srs"}` + "\n" + `{"event":"progress",RUN,"draw":"srs","done":5,"total":10}` + "\n" +
			`{"event":"progress",RUN,"draw":"pois"}` + "\n" + `{"event":"done",RUN,"exit":0,"outcome":{"words":"the summary"}}` + "\n"},
	} {
		s := &story{events: []pipeline.Progress{{Kind: "draw", Draw: "srs"}, {Kind: "progress", Draw: "srs", Done: 5, Total: 10},
			{Kind: "progress", Draw: "pois", Done: 4711}}} // a count without a public total is secret (P19)
		exit, out, errw := try(context.Background(), s, strings.Fields(c.args)...)
		c.out = strings.ReplaceAll(c.out, "RUN", `"run":"`+lineage.RunID(&job.Job{Name: "demo"})+`","job":"demo"`)
		if exit != 0 || out != c.out || errw != "" {
			t.Errorf("%s: exit %d, stdout %q, stderr %q; want %q", c.args, exit, out, errw, c.out)
		}
	}
}

func TestOptionsReachTheRun(t *testing.T) {
	s := &story{}
	if exit, _, _ := try(context.Background(), s, "run", "--diagnostics", "j.yaml"); exit != 0 {
		t.Fatal(exit)
	}
	if o := s.got; !o.Diagnostics || o.Mechanisms != "/dprelease-mechanisms" || len(o.Builtins) == 0 || o.Version == "" || !o.SoleParent {
		t.Errorf("options are %+v", o)
	}
}

// A panic is one line: its type and where it came from, and not its value.
func TestPanic(t *testing.T) {
	for _, s := range []*story{
		{during: func() { panic(secretValue) }},
		{during: func() { panic(fmt.Errorf("cell %s", secretValue)) }},
		{during: func() { var v []int; _ = v[len(secretValue)] }},
	} {
		exit, out, errw := try(context.Background(), s, "run", "j.yaml")
		said, last, ok := cutLast(errw)
		if exit != 1 || out != "" || strings.Contains(errw, secretValue) || strings.Count(said, "\n") != 1 || !ok || !strings.Contains(last, "code PANIC, exit 1; spent: unknown") ||
			!strings.HasPrefix(errw, "dprelease: a bug: panic of type ") || !strings.Contains(errw, "commands_test.go:") {
			t.Errorf("exit %d, stdout %q, stderr %q", exit, out, errw)
		}
	}
}

// The exit code says which signal it was.
func TestSignals(t *testing.T) {
	defer goleak.VerifyNone(t)
	stopped := &failure.Failure{Exit: failure.ExitInterrupted, Code: "INTERRUPTED", Message: "stopped"}
	lost := &failure.Failure{Exit: failure.ExitNotPublished, Code: "NOT_PUBLISHED", Message: "lost"}
	cutOff := job.Problem{Message: "the plugin did not answer"}
	for _, c := range []struct {
		sig  syscall.Signal
		err  error
		want int
		text string
	}{
		{syscall.SIGINT, stopped, 130, "dprelease: INTERRUPTED: stopped\n"},
		{syscall.SIGTERM, stopped, 143, "dprelease: INTERRUPTED: stopped\n"},
		{syscall.SIGQUIT, stopped, 131, "dprelease: INTERRUPTED: stopped\n"}, // and no stack, which could hold a value
		{syscall.SIGHUP, stopped, 129, "dprelease: INTERRUPTED: stopped\n"},
		{syscall.SIGABRT, stopped, 134, "dprelease: INTERRUPTED: stopped\n"}, // a watchdog
		{syscall.SIGSEGV, stopped, 139, "dprelease: INTERRUPTED: stopped\n"},
		{syscall.SIGTRAP, stopped, 133, "dprelease: INTERRUPTED: stopped\n"},
		{syscall.SIGTERM, lost, 8, "dprelease: NOT_PUBLISHED: lost\n"},
		{syscall.SIGTERM, cutOff, 143, "dprelease: INTERRUPTED: interrupted; nothing was drawn and nothing was spent\n"},
		{syscall.SIGINT, context.Canceled, 130, "dprelease: INTERRUPTED: interrupted; nothing was drawn and nothing was spent\n"},
	} {
		if signal.Ignored(c.sig) { // by nohup: then it does not interrupt a run either
			continue
		}
		received := make(chan os.Signal, 2)
		signals.Notify(received)
		ctx, stop := command.Interruptible(context.Background(), received, 0)
		s := &story{runErr: c.err}
		s.during = func() {
			if err := syscall.Kill(syscall.Getpid(), c.sig); err != nil {
				t.Fatal(err)
			}
			<-ctx.Done()
		}
		exit, out, errw := try(ctx, s, "run", "j.yaml")
		stop()
		signal.Stop(received)
		said, last, ok := cutLast(errw)
		if exit != c.want || out != "" || said != c.text || !ok || !strings.Contains(last, fmt.Sprintf("exit %d;", c.want)) {
			t.Errorf("%v, %v: exit %d, stdout %q, stderr %q", c.sig, c.err, exit, out, errw)
		}
	}
}

// closed is a pipe that nobody reads.
type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// A run goes on, and succeeds, when nobody reads its output; every other command
// says that its answer was lost.
func TestClosedOutput(t *testing.T) {
	for args, want := range map[string]int{"run j": 0, "run --json j": 0, "check j": 75, "check --json j": 75, "plan j": 75, "plan --json j": 75,
		"schema": 75, "version": 75} {
		var errw bytes.Buffer
		s := &story{events: []pipeline.Progress{{Kind: "plan"}, {Kind: "published"}}}
		env := &environment{Environment: &command.Environment{Out: closed{}, Errw: &errw, Getenv: nothingSet}, jobs: s}
		if exit := env.execute(context.Background(), strings.Fields(args)); exit != want || strings.Count(errw.String(), "\n") != 1+min(want, 1) {
			t.Errorf("%s: exit %d, stderr %q", args, exit, errw.String())
		}
	}
}

// The bars come to an end whatever happens, and show no secret count.
func TestBars(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, total := range []int64{0, 1000} {
		var out bytes.Buffer
		b := newBars(&out, []job.Release{{Name: "m", Mechanism: "sgd"}, {Name: "n"}, {Name: "o"}})
		for _, ev := range []pipeline.Progress{{Kind: "plan"}, {Kind: "draw", Draw: "srs", Total: total}, {Kind: "release-start", Release: "m"},
			{Kind: "progress", Draw: "srs", Done: 471, Total: total}, {Kind: "release-done", Release: "m"},
			{Kind: "draw", Draw: strings.Repeat("x", 100)}, {Kind: "progress", Done: 471, Total: total}} {
			b.Observe(ev)
		}
		b.stop()
		if strings.Contains(out.String(), "471") {
			t.Errorf("shows %q", out.String())
		}
	}
	newBars(io.Discard, nil).stop() // nothing happened
}

func TestSchemaNames(t *testing.T) {
	if names := schemas(); len(names) == 0 || names[0] != "job" {
		t.Errorf("schemas are %v", names)
	}
}

// A commit whose outcome nobody knows may have charged: the last line says so, and that a
// person must look.
func TestUnknownCommit(t *testing.T) {
	var errs strings.Builder
	e := &environment{Environment: &command.Environment{Errw: &errs, Out: io.Discard, Getenv: nothingSet}, lockWait: time.Second}
	at := []string{"sqlite:" + filepath.Join(testdir.New(t), "l.db")}
	err := e.withLedger(context.Background(), at, ledger.Options{Create: true}, func(*ledger.Ledger) error {
		return &ledger.Error{Code: ledger.CodeUnknown, Message: "the outcome is not known"}
	})
	if want := "code LEDGER_UNKNOWN, exit 7; spent: unknown; retry: after a person looked"; err == nil || !strings.Contains(errs.String(), want) {
		t.Errorf("%v, %q", err, errs.String())
	}
}

// The metrics of a run that failed after its debit say no cause (P19, P20), before it they do.
func TestMetricsOfFailure(t *testing.T) {
	path := filepath.Join(testdir.New(t), "m.prom")
	for _, events := range [][]pipeline.Progress{nil, {{Kind: "plan"}}, {{Kind: "draw"}}} {
		s := &story{events: events, runErr: &failure.Failure{Exit: failure.ExitPlugin, Code: "PLUGIN_FAILED", Message: secretValue}}
		exit, _, errw := try(context.Background(), s, "run", "--metrics", path, "j.yaml")
		text, err := os.ReadFile(path)
		debited := len(events) == 1 && events[0].Kind == "draw"
		if err != nil || exit != failure.ExitPlugin || strings.Contains(errw, "metrics") ||
			!strings.Contains(string(text), "\ndprelease_failed{job_name=\"demo\"") ||
			strings.Contains(string(text), "PLUGIN_FAILED") == debited || strings.Contains(string(text), "debit_timestamp") != debited {
			t.Errorf("%v: exit %d, stderr %q, %v, metrics\n%s", events, exit, errw, err, text)
		}
	}
}
