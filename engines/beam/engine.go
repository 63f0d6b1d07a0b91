package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"time"

	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/dataflow"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/flink"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/spark"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal"

	"github.com/dprelease/dprelease/internal/run/engine"
)

// runners are those that a job may name.
var runners = []string{"prism", "flink", "spark", "dataflow", "universal"}

// own are the options that are not flags of a runner.
var own = []string{"splits", "shards", "workers", "exchange", "secret_file", "patience"}

// attempts is the number of times that a pipeline is run for missing parts. The results do not depend on the attempt.
const attempts = 3

// settings is the engine section of a job.
type settings struct {
	runner     string
	steps      int    // that run side by side
	exchange   string // a folder that all machines see, "" for one of this machine
	secretFile string
	patience   time.Duration // with a pipeline that finishes nothing
}

// read checks the options of a job.
func read(c engine.Config) (s settings, err error) {
	s = settings{runner: c.Runner, exchange: c.Options["exchange"], secretFile: c.Options["secret_file"], steps: runtime.NumCPU(),
		patience: 30 * time.Minute}
	if !slices.Contains(runners, s.runner) {
		return s, refusal("engine.runner: " + s.runner + " is not one of prism, flink, spark, dataflow, universal")
	}
	if n, ok := c.Options["workers"]; ok {
		if s.steps, err = strconv.Atoi(n); err != nil || s.steps < 1 || s.steps > 1<<12 {
			return s, refusal("engine.options.workers: must be a whole number between 1 and 4096")
		}
	}
	if text, ok := c.Options["patience"]; ok {
		if s.patience, err = time.ParseDuration(text); err != nil || s.patience < time.Second {
			return s, refusal("engine.options.patience: must be a duration of at least a second, such as 30m")
		}
	}
	if self, err := os.Executable(); err == nil { // the workers run this program: no runner has to build one
		_ = flag.Set("worker_binary", self)
	}
	remote := s.runner != "prism"
	for name, value := range c.Options {
		if slices.Contains(own, name) {
			continue
		}
		if flag.Lookup(name) == nil || flag.Set(name, value) != nil {
			return s, refusal("engine.options." + name +
				": is neither an option of dprelease-beam nor a flag of a Beam runner that takes this value")
		}
		remote = remote || name == "endpoint" || name == "environment_type"
	}
	if remote && (s.exchange == "" || s.secretFile == "") {
		return s, refusal("engine.options: a runner with workers of its own needs exchange, a folder that all of them see, " +
			"and secret_file, a file of at least 32 secret bytes that all of them can read")
	}
	if _, err := secretOf(s.secretFile); err != nil {
		return s, refusal("engine.options.secret_file: cannot be read, or is shorter than 32 bytes")
	}
	return s, nil
}

// carryOut answers one request of dprelease.
func carryOut(ctx context.Context, w engine.Work, found func(part int, data []byte) error) error {
	s, err := read(w.Config)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(s.exchange, "dprelease-") // of this user alone
	if err != nil {
		return refusal("engine.options.exchange: no folder can be made there")
	}
	defer os.RemoveAll(dir)
	if w.Check {
		if err := s.answers(ctx); err != nil {
			return err
		}
		return adder.Check(ctx, w.Order)
	}
	work, o, err := sealWork(w.Order, s.secretFile)
	if err != nil {
		return err
	}
	t := Task{Work: work, Dir: dir}
	missing := func(n int, name func(int) string) (out []int) {
		for i := range n {
			if _, err := os.Stat(filepath.Join(dir, name(i))); err != nil {
				out = append(out, i)
			}
		}
		return out
	}
	for range attempts {
		parts, shards := missing(w.Parts, partName), missing(w.Shards, shardName)
		if len(parts)+len(shards) == 0 {
			break
		}
		if len(shards) > 0 { // a shard needs the rows of all parts
			parts = missing(w.Parts, func(i int) string {
				_ = os.Remove(filepath.Join(dir, partName(i))) // so that it counts as progress
				return partName(i)
			})
		}
		err = watched(ctx, s, build(t, s.steps, parts, w.Shards > 0), func() int {
			return w.Parts + w.Shards - len(missing(w.Parts, partName)) - len(missing(w.Shards, shardName))
		})
		if ctx.Err() != nil || errors.Is(err, engine.ErrStalled) && s.answers(ctx) != nil {
			break // a worker that was lost is worth another attempt, a job server that is gone is not
		}
	}
	for i := range w.Parts + w.Shards {
		name := partName(i)
		if i >= w.Parts {
			name = shardName(i - w.Parts)
		}
		sealed, missing := os.ReadFile(filepath.Join(dir, name))
		if missing != nil {
			return cmp.Or(err, missing)
		}
		text, err := unseal(o.Key, name, sealed)
		if err != nil {
			return err
		}
		if err := found(i, text); err != nil {
			return err
		}
	}
	return nil
}
