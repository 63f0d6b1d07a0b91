package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/conformance"
	"github.com/dprelease/dprelease/internal/host"
	"github.com/dprelease/dprelease/pipeline"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
)

// examination is what plugin check is asked to do.
type examination struct {
	builtin, job string
	config       sdktest.Config
}

// verdict is what plugin check answers.
type verdict struct {
	Verdict string `json:"verdict"`
	SHA256  string `json:"sha256,omitempty"`
	*sdktest.Report
}

func (e *environment) pluginCheck() *cobra.Command {
	var x examination
	c := &cobra.Command{
		Use:   "check (BINARY | --builtin NAME)",
		Short: "Look for a promise that a mechanism breaks",
		Long: `check runs the conformance suite against a plugin: it makes small tables that are
likely to trouble the mechanism, runs it on one, and replays the same noise on a
neighbouring one. What may not differ is compared, and a counterexample is printed
as a pair of generated tables. No data of yours is read.

Without --job the parameters are made from the plugin's own schema. With it, the
requests are those of the job's releases that use the plugin, on smaller tables.

The verdict is REFUTED (exit code 5) or NOT REFUTED (0). It is never "passed": what
was not refuted is not proved.`,
		Example: `  dprelease plugin check ./trimmed-mean
  dprelease plugin check ./trimmed-mean --job job.yaml --seed 7
  dprelease plugin check --builtin median --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if (len(args) == 1) == (x.builtin != "") || len(args) > 1 {
				return errors.New("give either the path of a plugin or --builtin NAME")
			}
			if x.builtin != "" && builtins[x.builtin] == nil {
				return fmt.Errorf("no built-in mechanism %q%s; see dprelease plugin list", x.builtin, didYouMean("", x.builtin, builtinNames()))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			cmd := host.Command{Name: x.builtin, Path: e.self, Args: []string{serveCommand}, Mechanism: x.builtin}
			if x.builtin == "" {
				var err error
				if cmd, err = pluginFile(args[0]); err != nil {
					return e.unchecked(err)
				}
			}
			return e.examine(c.Context(), cmd, x)
		},
	}
	e.setFlag(c)
	f := c.Flags()
	f.StringVar(&x.builtin, "builtin", "", "check a mechanism that comes with this program")
	f.StringVar(&x.job, "job", "", "take the requests from the releases of this job that use the plugin")
	f.Uint64Var(&x.config.Seed, "seed", 1, "chooses the tables; the same seed makes the same tables")
	f.IntVar(&x.config.Pairs, "pairs", 60, "pairs of tables to try with each request")
	f.IntVar(&x.config.Releases, "releases", 1000, "releases over which to watch the growth of memory")
	f.IntVar(&x.config.Runs, "runs", 1500, "runs on each table, for a mechanism that draws its own noise")
	f.BoolVar(&e.json, "json", false, "print one JSON object")
	return c
}

// pluginFile names an executable by its digest, as a job would.
func pluginFile(path string) (host.Command, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return host.Command{}, err
	}
	f, err := os.Open(abs)
	if err != nil {
		return host.Command{}, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return host.Command{}, err
	}
	return host.Command{Name: filepath.Base(path), Path: abs, SHA256: hex.EncodeToString(h.Sum(nil))}, nil
}

func (e *environment) examine(ctx context.Context, cmd host.Command, x examination) error {
	if x.job != "" {
		j, err := e.jobs.load(x.job, e.getenv, e.set)
		if err != nil {
			return e.fail(ctx, err)
		}
		name := x.builtin
		for _, p := range j.Plugins {
			if abs, err := filepath.Abs(p.Path); err == nil && name == "" && abs == cmd.Path {
				name = p.Name
			}
		}
		if name == "" {
			return e.unchecked(errors.New("the job does not name this plugin under plugins"))
		}
		all, err := pipeline.Requests(ctx, j, e.options(), name)
		if err != nil {
			return e.fail(ctx, err)
		}
		p := conformance.NewProcess(cmd, false)
		x.config.Requests, err = conformance.Small(ctx, p, all)
		p.Close()
		if err == nil && len(x.config.Requests) == 0 {
			err = errors.New("no release of the job uses this plugin in a way that can be checked on small tables")
		}
		if err != nil {
			return e.unchecked(err)
		}
	}
	r, err := conformance.Check(ctx, cmd, x.config)
	if err != nil && (r == nil || !r.Refuted()) {
		return e.unchecked(err)
	}
	v := verdict{Verdict: r.Verdict(), SHA256: cmd.SHA256, Report: r}
	if err := e.say(v, "%s", text(v)); err != nil {
		return err
	}
	if r.Refuted() {
		return failed{pipeline.ExitPlugin}
	}
	return nil
}

// unchecked says why the suite could not be run. No data was involved.
func (e *environment) unchecked(err error) error {
	return e.failWith(unspent(pipeline.ExitPlugin, "PLUGIN_UNCHECKED", "the plugin cannot be checked: "+err.Error()), nil)
}

// text is the verdict for people.
func text(v verdict) string {
	out := ""
	say := func(format string, args ...any) { out += fmt.Sprintf(format, args...) }
	for _, f := range v.Findings {
		say("%s: %s\n", f.Check, f.Detail)
		if f.Request != "" {
			say("  with %s\n", f.Request)
		}
		if f.Tables != "" {
			say("%s", f.Tables)
		}
		say("\n")
	}
	for _, s := range v.Statistics {
		say("epsilon at least %.3g, claimed %.3g; %d runs a table could show %.3g (confidence 1 - %.1g, event: %s)\n",
			s.LowerBound, s.Claimed, s.Runs, s.Ceiling, 1-s.Confidence, s.Event)
	}
	say("%s %s: %d requests (%d refused), %d pairs of tables, %d noise calls, seed %d\n",
		v.Mechanism, v.Version, v.Requests, v.Refused, v.Pairs, v.Calls, v.Seed)
	for _, name := range slices.Sorted(maps.Keys(v.Used)) {
		say("  largest share of what is declared, %s: %.4g\n", name, v.Used[name])
	}
	if v.SHA256 != "" {
		say("sha256: %s\n", v.SHA256)
	}
	say("%s", v.Verdict)
	if v.Verdict == "NOT REFUTED" {
		say(": no broken promise was found. This is not a proof; the mechanism's author owes one.")
	}
	return out + "\n"
}
