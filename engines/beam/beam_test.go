package main

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"google.golang.org/protobuf/proto"

	"github.com/dprelease/dprelease/engines/beam/worker"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/internal/run/engine"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/plugins/builtin"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/serve"
)

// The test program is everything that a run starts: the mechanisms, the engine, and a worker.
func TestMain(m *testing.M) {
	switch args := os.Args[1:]; {
	case len(args) == 1 && args[0] == pipeline.ServeArgument:
		var all []sdk.Mechanism
		for _, one := range builtin.Mechanisms() {
			all = append(all, one)
		}
		serve.Mechanisms(all...)
		return
	case len(args) == 1 && args[0] == engine.Argument:
		main()
		return
	case works(args):
		begun = dieOnce(os.Getenv("DIE_ONCE"))
		if at := os.Getenv("END_ONCE"); at != "" {
			begun = endOnce(at, os.Getenv("END_BY"))
		}
		main()
		return
	}
	beam.Init()
	os.Exit(m.Run())
}

// dieOnce ends the work of a worker when it begins part 3 for the first time, in the middle of a step.
func dieOnce(mark string) func(int) {
	return func(part int) {
		if mark == "" || part != 3 {
			return
		}
		if f, err := os.OpenFile(mark, os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			f.Close()
			panic("died")
		}
	}
}

// endOnce ends this process by a signal when it begins part 3 for the first time, after it has told whoever reads the pipe.
func endOnce(pipe, signal string) func(int) {
	by := map[string]syscall.Signal{"KILL": syscall.SIGKILL, "STOP": syscall.SIGSTOP}[signal]
	return func(part int) {
		if _, err := os.Stat(pipe); part != 3 || err != nil {
			return
		}
		f, err := os.OpenFile(pipe, os.O_WRONLY, 0)
		_ = os.Remove(pipe) // once
		if err == nil {
			if by == syscall.SIGSTOP { // the pipe of a process that is killed closes by itself
				f.Close()
			}
			_ = syscall.Kill(os.Getpid(), by)
			select {}
		}
	}
}

const text = `version: 1
job: spread
dataset:
  id: spread
  source: {path: t.csv}
  relation: replace-one
  size: SIZE
  unit: UNIT
  columns:
    x: {lower: 0, upper: 900MISSING}
    g: {domain: [a, b], outside: drop}
  derive: {y: {as: "x / 2 + 1", lower: 0, upper: 500}}
budget: {limit: {epsilon: 1000000000}}
samples: {p: {method: poisson, rate: 0.3}, w: {method: srswor, size: 700}}
releases:
  - {name: n, mechanism: count, by: [g], guarantee: {epsilon: 1000000}}
  - {name: s, mechanism: sum, params: {column: "COLUMN"}, where: "x > 100", guarantee: {epsilon: 1000000}}
  - {name: m, from: p, mechanism: mean, params: {column: x}, guarantee: {epsilon: 1000000}}
  - {name: h, from: w, mechanism: histogram, params: {column: x, edges: [0, 300, 900]}, guarantee: {epsilon: 1000000}}
engine: {runner: prism, options: {splits: 12, shards: 3, workers: 8}}
sandbox: off
output: {dir: out, formats: [json]}
`

// kinds are jobs in which a row is a unit, samples are drawn from a frame, units are folded, and units are capped.
var kinds = map[string]*strings.Replacer{
	"rows": strings.NewReplacer("SIZE", "3000", "UNIT", "row", "COLUMN", "y", "MISSING", ""),
	"fold": strings.NewReplacer("SIZE", "1000", "UNIT", "{column: id, name: person}\n  fold: {x: max, g: mode}", "COLUMN", "x", "MISSING", "",
		"  derive: {y: {as: \"x / 2 + 1\", lower: 0, upper: 500}}\n", ""),
	"strata": strings.NewReplacer("SIZE", "3000", "UNIT", "row\n  frame: {path: frame.csv, records: rows}", "COLUMN", "y", "MISSING", "",
		"{method: poisson, rate: 0.3}", "{method: multistage, stages: [{unit: h, take: 2}, {take: 200}]}", "{method: srswor, size: 700}", "{method: stratified, strata: h, take: {a: 50, b: 60, c: 70}}"),
	"cap": strings.NewReplacer("SIZE", "1000", "UNIT", "{column: id, name: person}\n  cap: {groups: 2, rows: 2}", "COLUMN", "y", "MISSING", ""),
}

// write writes a job and its table of 3000 rows of 1000 people.
func write(t testing.TB, job string, missing bool) string {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("id,x,g,h\n")
	for i := range 3000 {
		x := strconv.Itoa(i * 7919 % 1000)
		if missing && i%3 == 0 { // so many that every sample has some
			x = ""
		}
		fmt.Fprintf(&b, "p%d,%s,%c,%c\n", i%1000, x, "abc"[i*i%3], "abc"[i/100%3])
	}
	path := filepath.Join(dir, "job.yaml")
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "t.csv"), []byte(b.String()), 0o600), os.WriteFile(path, []byte(job), 0o600),
		os.WriteFile(filepath.Join(dir, "frame.csv"), []byte("h,rows\na,1000\nb,1000\nc,1000\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t testing.TB, path string) *job.Job {
	t.Helper()
	j, err := pipeline.Load(path, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// mechanisms are the built-in ones, in this process.
type mechanisms struct{}

func (mechanisms) Get(_ context.Context, name string) (planned.Mechanism, error) {
	return mechanism{builtin.Mechanisms()[name]}, nil
}

type mechanism struct{ sdk.Mechanism }

func (m mechanism) About() sdk.Description       { return m.Describe() }
func (mechanism) Origin() (bool, string)         { return true, "" }
func (mechanism) Confined() string               { return "" }
func (mechanism) Validate(json.RawMessage) error { return nil }
func (m mechanism) Plan(_ context.Context, r sdk.PlanRequest) (sdk.Plan, error) {
	return m.Mechanism.Plan(r)
}

// beside is an engine that has each order carried out by other engines, too, and compares.
type beside struct {
	t       *testing.T
	configs []engine.Config
	orders  int
}

func (b *beside) Check(context.Context, []byte) error { return nil }

func (b *beside) Tallies(ctx context.Context, order []byte, parts, shards int) (ofParts, ofShards [][]byte, err error) {
	b.orders++
	one := &worker.Worker{Builtins: builtin.Mechanisms()}
	all, sent := make([][]byte, parts+shards), make([][][]byte, shards)
	for i := range all {
		switch {
		case i >= parts:
			all[i], err = one.Shard(ctx, order, i-parts, sent[i-parts])
		case shards == 0:
			all[i], err = one.Part(ctx, order, i)
		default:
			var pieces [][]byte
			pieces, all[i], err = one.Scatter(ctx, order, i)
			for k := range pieces {
				sent[k] = append(sent[k], pieces[k])
			}
		}
		if err != nil {
			return nil, nil, err
		}
	}
	for _, c := range b.configs {
		seen := 0
		err := carryOut(ctx, engine.Work{Config: c, Order: order, Parts: parts, Shards: shards}, func(i int, data []byte) error {
			seen++
			if want, got := tally(b.t, all[i]), tally(b.t, data); !reflect.DeepEqual(want, got) {
				b.t.Errorf("%v finds in part %d: %v, not %v", c, i, got.Vectors, want.Vectors)
			}
			return nil
		})
		if err != nil || seen != len(all) {
			b.t.Errorf("%v: %d of %d parts, %v", c, seen, len(all), err)
		}
	}
	return all[:parts], all[parts:], nil
}

func tally(t testing.TB, data []byte) (out run.Tally) {
	t.Helper()
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&out); err != nil {
		t.Fatal(err)
	}
	if out.Failure != nil {
		t.Error(out.Failure)
	}
	return out
}

// compare carries a job out on one machine and on other engines with the same random bits.
func compare(t *testing.T, kind string, configs ...engine.Config) {
	j := load(t, write(t, kinds[kind].Replace(text), false))
	p, err := plan.Make(t.Context(), j, mechanisms{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	table, err := run.OpenTable(t.Context(), p.Plan, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	b := &beside{t: t, configs: configs}
	// It ends where the noise would be drawn: there is no mechanism.
	err = run.New(p.Plan, table, run.NewMechanisms(t.Context(), &job.Job{}, run.Programs{}), run.Options{Observe: func(run.Progress) {}, Engine: b}).Draws(t.Context())
	if want := map[string]int{"rows": 1, "strata": 2, "fold": 2, "cap": 2}[kind]; b.orders != want || !errors.Is(err, run.ErrCrashed) {
		t.Errorf("%d orders were carried out, not %d: %v", b.orders, want, err)
	}
}

// One worker and eight of them on prism find what one machine finds, with the same random bits: for rows, and after a
// shuffle by unit.
func TestPrismFindsTheSame(t *testing.T) {
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			compare(t, kind, prism("1"), prism("8"))
		})
	}
}

func prism(workers string) engine.Config {
	return engine.Config{Runner: "prism", Options: map[string]string{"workers": workers}}
}

// processes is a configuration of prism with one worker, in a process of its own that has a variable set.
func processes(t *testing.T, dir string, variables map[string]string) engine.Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return processesOf(t, dir, "prism", self, variables)
}

// processesOf is a configuration of a runner that starts a program as its worker.
func processesOf(t *testing.T, dir, runner, program string, variables map[string]string) engine.Config {
	t.Helper()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("secret", 9)), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := json.Marshal(map[string]any{"command": program, "env": variables})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"environment_type", "environment_config", "endpoint"} {
		before := flag.Lookup(name).Value.String()
		t.Cleanup(func() { _ = flag.Set(name, before) })
	}
	return engine.Config{Runner: runner, Options: map[string]string{"workers": "1", "exchange": dir, "secret_file": secret,
		"environment_type": "PROCESS", "environment_config": string(config)}}
}

// A worker process that is killed, or stopped, in the middle of a step ends neither the run nor what is found. The clock
// moves only after the worker's end, so nothing rests on how long anything takes; without it, a run whose worker is stopped
// would not end.
func TestKilledWorker(t *testing.T) {
	for _, c := range []struct{ kind, signal string }{{"rows", "KILL"}, {"rows", "STOP"}, {"fold", "KILL"}, {"strata", "KILL"}} {
		t.Run(c.kind+" "+c.signal, func(t *testing.T) { losesWorker(t, c.kind, c.signal, processes) })
	}
}

// losesWorker carries a job out on one machine and on an engine, one of whose workers gets a signal in the middle of a step.
func losesWorker(t *testing.T, kind, signal string, configure func(*testing.T, string, map[string]string) engine.Config) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "ends")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	defer func(before func(time.Duration) (<-chan time.Time, func())) { ticker = before }(ticker)
	clock, ended, over := make(chan time.Time), make(chan bool), make(chan bool)
	ticker = func(time.Duration) (<-chan time.Time, func()) { return clock, func() {} }
	go func() {
		defer close(ended)
		f, err := os.Open(pipe)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, f) // until a worker has ended
		f.Close()
		for range looks + 1 { // the first one sees what was finished before
			select {
			case clock <- time.Time{}:
			case <-over:
			}
		}
	}()
	compare(t, kind, configure(t, dir, map[string]string{"END_ONCE": pipe, "END_BY": signal}))
	close(over)
	if _, err := os.Stat(pipe); err == nil {
		t.Error("no worker ended")
		if f, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			f.Close()
		}
	}
	<-ended
	if left, _ := filepath.Glob(filepath.Join(dir, "dprelease-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A pipeline that finishes nothing at all ends after three attempts, with words of its own.
func TestStalledEngine(t *testing.T) {
	defer func(before func(time.Duration) (<-chan time.Time, func())) { ticker = before }(ticker)
	clock := make(chan time.Time)
	close(clock) // time flies
	tries := 0
	ticker = func(time.Duration) (<-chan time.Time, func()) { tries++; return clock, func() {} }
	dir := t.TempDir()
	sleeps := filepath.Join(dir, "sleeps")
	if err := os.WriteFile(sleeps, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	config := processesOf(t, dir, "prism", sleeps, nil)
	err := carryOut(t.Context(), engine.Work{Config: config, Order: []byte("{}"), Parts: 3}, nil)
	if !errors.Is(err, engine.ErrStalled) || tries != attempts {
		t.Errorf("%d attempts, %v", tries, err)
	}
}

// An endpoint where nothing listens, or where something listens that never answers, is refused by the check before the debit,
// and so is a runner without one. It takes no longer than patience.
func TestEndpointIsTriedBeforeTheDebit(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for _, c := range []struct{ runner, endpoint, says string }{
		{"flink", closed.Addr().String(), "no job server of Beam answers there"},
		{"spark", silent.Addr().String(), "no job server of Beam answers there"},
		{"universal", "", "is missing"},
	} {
		config := remote(t, c.runner, c.endpoint)
		begun := time.Now()
		err := carryOut(t.Context(), engine.Work{Config: config, Order: []byte("{}"), Check: true}, nil)
		var refused refusal
		if !errors.As(err, &refused) || !strings.Contains(string(refused), c.says) {
			t.Errorf("%s at %q: %v", c.runner, c.endpoint, err)
		}
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("%s at %q: the check takes %s with a patience of 2s", c.runner, c.endpoint, took)
		}
	}
}

// A job server that goes after the check ends the run within a few times its patience, which is too short for three attempts
// and for a client that dials on.
func TestPatienceHolds(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	begun := time.Now()
	err = carryOut(t.Context(), engine.Work{Config: remote(t, "flink", closed.Addr().String()), Order: []byte("{}"), Parts: 3}, nil)
	if err == nil {
		t.Error("nothing failed")
	}
	if took := time.Since(begun); took > 40*time.Second {
		t.Errorf("a patience of 2s takes %s: %v", took, err)
	}
}

// remote is the configuration of a runner with workers of its own, and a patience of two seconds.
func remote(t *testing.T, runner, endpoint string) engine.Config {
	t.Helper()
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, bytes.Repeat([]byte("x"), 64), 0o600); err != nil {
		t.Fatal(err)
	}
	before := *jobopts.Endpoint
	t.Cleanup(func() { *jobopts.Endpoint = before })
	return engine.Config{Runner: runner, Options: map[string]string{"endpoint": endpoint, "exchange": dir, "secret_file": secret, "patience": "2s"}}
}

// A worker process whose work ends in the middle loses no row and doubles none: the parts that are missing are
// carried out again, and what is found is the same.
func TestDyingWorker(t *testing.T) {
	for _, kind := range []string{"rows", "fold"} {
		dir := t.TempDir()
		mark := filepath.Join(dir, "died")
		compare(t, kind, processes(t, dir, map[string]string{"DIE_ONCE": mark}))
		if _, err := os.Stat(mark); err != nil {
			t.Error("no worker died")
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "dprelease-*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

func options(t testing.TB) pipeline.Options {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := pipeline.Options{Mechanisms: self, EngineProgram: self, Version: "test", SoleParent: true} // as the command says
	return o
}

// A whole job: the releases are those of a run without an engine, at noise that is next to none (a sum of values up to 900
// has noise of scale 900/10⁶, and may differ by 1); and the same job without
// the engine is the same job, which is found and not paid for again.
func TestWholeJob(t *testing.T) {
	for _, kind := range []string{"rows", "fold", "strata"} {
		t.Run(kind, func(t *testing.T) { wholeJob(t, kind, prismLine) })
	}
}

// prismLine is the engine of the jobs of this file.
const prismLine = "engine: {runner: prism, options: {splits: 12, shards: 3, workers: 8}}\n"

// wholeJob runs a job with an engine and without.
func wholeJob(t *testing.T, kind, engine string) {
	words := kinds[kind]
	path := write(t, strings.Replace(words.Replace(text), prismLine, engine, 1), false)
	first, err := pipeline.Run(t.Context(), load(t, path), options(t))
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.Replace(words.Replace(text), prismLine, "", 1)
	if err := os.WriteFile(path, []byte(plain), 0o600); err != nil {
		t.Fatal(err)
	}
	second, err := pipeline.Run(t.Context(), load(t, path), options(t))
	if err != nil || !second.Already {
		t.Errorf("the job without its engine is another job: %v", err)
	}
	apart, err := pipeline.Run(t.Context(), load(t, write(t, plain, false)), options(t))
	if err != nil {
		t.Fatal(err)
	}
	if a, b := first.Report.Guarantee, apart.Report.Guarantee; a.Epsilon != b.Epsilon || a.EventText != b.EventText {
		t.Errorf("the price is %g for %s, without an engine %g for %s", a.Epsilon, a.EventText, b.Epsilon, b.EventText)
	}
	for _, name := range []string{"n", "s"} {
		got, want := estimates(first.Results[name]), estimates(apart.Results[name])
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1+want[i]/1e4 {
				t.Errorf("%s: %v, without an engine %v", name, got, want)
				break
			}
		}
	}
}

func estimates(r sdk.Result) (out []float64) {
	for _, c := range r.Columns {
		if c.Name == "estimate" {
			out = append(out, c.Float64...)
			for _, n := range c.Int64 {
				out = append(out, float64(n))
			}
		}
	}
	return out
}

// What is wrong with the data comes back as the code of a run without an engine, without a value.
func TestDataFailure(t *testing.T) {
	_, err := pipeline.Run(t.Context(), load(t, write(t, kinds["rows"].Replace(text), true)), options(t))
	var f *failure.Failure
	if !errors.As(err, &f) || f.Code != "DATA_MISSING" || strings.Contains(err.Error(), "1234") {
		t.Errorf("%v", err)
	}
}

// The text of a pipeline, which runners keep and show, holds neither the key of the draws nor a word of the job. The twin,
// whose order is not sealed, is caught.
func TestPipelineShowsNothing(t *testing.T) {
	order := []byte(`{"Job":{"Text":"CANARY"},"Key":[1,2,3]}`)
	shown := func(work Sealed, key []byte) bool {
		edges, _, err := build(Task{Work: work, Dir: "/d"}, 2, []int{0, 1}, true).Build()
		if err != nil {
			t.Fatal(err)
		}
		env, err := graphx.CreateEnvironment(t.Context(), "beam:env:external:v1", func(context.Context) string { return "localhost:1" })
		if err != nil {
			t.Fatal(err)
		}
		p, err := graphx.Marshal(edges, &graphx.Options{Environment: env})
		if err != nil {
			t.Fatal(err)
		}
		b, err := proto.Marshal(p)
		if err != nil || len(b) < 1000 {
			t.Fatal(err, len(b))
		}
		for _, secret := range [][]byte{order, key} {
			// A function's fields stand in a pipeline as JSON, in base64, in base64 again: all of its alignments are looked for.
			if decoded := everyBase64(b, 3); len(secret) > 0 && bytes.Contains(decoded, secret) {
				return true
			}
		}
		return false
	}
	work, o, err := sealWork(order, "")
	if err != nil {
		t.Fatal(err)
	}
	if shown(work, o.Key) {
		t.Error("the pipeline holds what should be sealed")
	}
	if !shown(Sealed{Text: order}, nil) {
		t.Error("an order that is not sealed is not noticed")
	}
	if other, err := (&Sealed{Text: work.Text[:len(work.Text)-1]}).open(); err == nil {
		t.Errorf("a changed order was opened: %v", other)
	}
}

// Bytes of one place cannot stand in another, and their number says the next power of two.
func TestSeal(t *testing.T) {
	key := bytes.Repeat([]byte{7}, 32)
	for _, n := range []int{0, 1, 4095, 4096, 100000} {
		text := bytes.Repeat([]byte{1}, n)
		sealed, err := seal(key, "a", text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := unseal(key, "a", sealed); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%d bytes: %v", n, err)
		}
		if _, err := unseal(key, "b", sealed); err == nil {
			t.Error("another place opens it")
		}
		if size := len(sealed) - 28; size&(size-1) != 0 || size <= n {
			t.Errorf("%d bytes take %d", n, len(sealed))
		}
	}
}

// What a job says wrongly is refused before anything is spent.
func TestOptions(t *testing.T) {
	for _, c := range []struct {
		runner string
		o      map[string]string
		says   string
	}{
		{"direct", nil, "is not one of"},
		{"prism", map[string]string{"workers": "0"}, "workers"},
		{"prism", map[string]string{"patience": "soon"}, "patience"},
		{"prism", map[string]string{"patience": "10ms"}, "patience"},
		{"prism", map[string]string{"colour": "red"}, "colour"},
		{"flink", map[string]string{"endpoint": ""}, "exchange"},
		{"prism", map[string]string{"secret_file": "/nowhere"}, "secret_file"},
	} {
		var refused refusal
		if _, err := read(engine.Config{Runner: c.runner, Options: c.o}); !errors.As(err, &refused) || !strings.Contains(string(refused), c.says) {
			t.Errorf("%v: %v", c, err)
		}
	}
}
