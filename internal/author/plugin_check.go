package author

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/internal/plugin/conformance"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
)

// examination holds the flags of plugin check.
type examination struct {
	builtin, job string
	piped        bool          // the mechanism is at the other end of standard input and output
	within       time.Duration // 0: as long as it takes
	report       string        // the folder of check.json and check.html
	config       sdktest.Config
}

func (e *environment) pluginCheck() *cobra.Command {
	var x examination
	c := &cobra.Command{
		Use:   "check (BINARY | --builtin NAME)",
		Short: "Look for a promise that a mechanism breaks",
		Long: `check runs the conformance suite against a plugin: it makes small tables that are
likely to trouble the mechanism, runs it on one, and replays the same noise on a
neighbouring one. It reads no data of yours. Without --job the parameters are made from the
plugin's own schema. The plugin runs in the sandbox of a job, and is watched.

The verdict is REFUTED (exit code 5) or NOT REFUTED (0), which is no proof. 75 says that the
time of --for ended before the suite was through, with nothing refuted.`,
		Example: `  dprelease plugin check ./trimmed-mean
  dprelease plugin check ./trimmed-mean --job job.yaml --seed 7
  dprelease plugin check ./trimmed-mean --for 2m --report checked
  dprelease plugin check --builtin median --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if x.piped && len(args) == 0 && x.builtin == "" && x.job == "" {
				return nil
			}
			if (len(args) == 1) == (x.builtin != "") || len(args) > 1 || x.piped {
				return errors.New("give either the path of a plugin or --builtin NAME")
			}
			if x.builtin != "" && !slices.Contains(command.BuiltinNames(), x.builtin) {
				return fmt.Errorf("no built-in mechanism %q%s; see dprelease plugin list", x.builtin,
					command.DidYouMean("", x.builtin, command.BuiltinNames()))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if x.piped {
				return e.examinePiped(c.Context(), x)
			}
			cmd := host.Command{Name: x.builtin, Path: e.Mechanisms(), Args: []string{pipeline.ServeArgument}, Mechanism: x.builtin}
			if x.builtin == "" {
				var err error
				if cmd, err = pluginFile(args[0]); err != nil {
					return e.unchecked(err)
				}
			}
			return e.examine(c.Context(), cmd, x)
		},
	}
	e.SetFlag(c)
	f := c.Flags()
	f.BoolVar(&x.piped, "piped", false, "")
	_ = f.MarkHidden("piped") // python3 -m dprelease.check says it
	f.StringVar(&x.builtin, "builtin", "", "check a mechanism that comes with this program")
	f.StringVar(&x.job, "job", "", "take the requests from the releases of this job that use the plugin")
	f.DurationVar(&x.within, "for", 0, "end after this time, such as 2m, with what was found so far; 0 sets no limit")
	f.StringVar(&x.report, "report", "", "write check.json and check.html into this folder")
	f.Uint64Var(&x.config.Seed, "seed", 1, "chooses the tables; the same seed makes the same tables")
	f.IntVar(&x.config.Pairs, "pairs", 60, "pairs of tables to try with each request")
	f.IntVar(&x.config.Releases, "releases", 1000, "releases over which to watch the growth of memory")
	f.BoolVar(&e.JSON, "json", false, "print JSON")
	return c
}

// pluginFile names an executable by its digest, as a job would.
func pluginFile(path string) (host.Command, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return host.Command{}, err
	}
	digest, err := file.Digest(abs, file.MaxProgram)
	return host.Command{Name: filepath.Base(path), Path: abs, SHA256: digest}, err
}

func (e *environment) examine(ctx context.Context, cmd host.Command, x examination) error {
	v, err := e.examined(ctx, cmd, x)
	if err != nil {
		return err
	}
	if err := e.Say(v, "%s", v.Text()); err != nil {
		return err
	}
	return exitOf(ctx, v)
}

// exitOf is the exit code of a verdict: 75 says that the time of the check was over before it was through.
func exitOf(ctx context.Context, v conformance.Verdict) error {
	var by command.Interrupted
	switch {
	case v.Refuted():
		return command.Exited(failure.ExitPlugin)
	case errors.As(context.Cause(ctx), &by):
		return command.Exited(by.Exit())
	case v.Ended != "":
		return command.Exited(failure.ExitRetry)
	}
	return nil
}

// limited ends a context after the time of --for.
func (x examination) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if x.within <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, x.within)
}

// examinePiped runs the suite on a mechanism in the process of its author.
func (e *environment) examinePiped(ctx context.Context, x examination) error {
	ctx, end := x.limited(ctx)
	defer end()
	p := conformance.NewPiped(e.In, e.Out)
	r, err := sdktest.Check(ctx, sdktest.InProcess(p), x.config)
	if err != nil && (r == nil || !r.Refuted()) {
		return e.unchecked(err)
	}
	v := conformance.NewVerdict("", "", r)
	v.About = p.About()
	if ctx.Err() != nil {
		v.Ended = conformance.OutOfTime
	}
	p.Verdict(v.Text())
	return exitOf(ctx, v)
}

// examined runs the suite, and writes its report where one is asked for.
func (e *environment) examined(ctx context.Context, cmd host.Command, x examination) (conformance.Verdict, error) {
	var none conformance.Verdict
	ctx, end := x.limited(ctx)
	defer end()
	if x.job != "" {
		j, err := e.Load(x.job, e.Getenv, e.Set)
		if err != nil {
			return none, e.Fail(ctx, err)
		}
		name := x.builtin
		for _, p := range j.Plugins {
			abs, err := filepath.Abs(p.Path)
			if same := p.SHA256 == cmd.SHA256 || err == nil && abs == cmd.Path; name == "" && same {
				name = p.Name
			}
		}
		if name == "" {
			return none, e.unchecked(errors.New("the job does not name this plugin under plugins"))
		}
		all, err := pipeline.Requests(ctx, j, e.Options(), name)
		if err != nil {
			return none, e.Fail(ctx, err)
		}
		p := conformance.NewProcess(cmd, false)
		x.config.Requests, err = conformance.Small(ctx, p, all)
		p.Close()
		if err == nil && len(x.config.Requests) == 0 {
			err = errors.New("no release of the job uses this plugin in a way that can be checked on small tables")
		}
		if err != nil {
			return none, e.unchecked(err)
		}
	}
	v, err := conformance.Check(ctx, cmd, x.config)
	if err != nil && (v.Report == nil || !v.Refuted()) {
		return none, e.unchecked(err)
	}
	if x.report != "" {
		if err := v.WriteFiles(x.report); err != nil {
			return none,
				e.FailWith(command.Unspent(failure.ExitUsage, "OUTPUT_UNWRITABLE", "the report of the check cannot be written: "+
					failure.Reason(err)), nil)
		}
	}
	return v, nil
}

// unchecked returns the failure of a suite that could not be run. No data was involved.
func (e *environment) unchecked(err error) error {
	return e.FailWith(command.Unspent(failure.ExitPlugin, "PLUGIN_UNCHECKED", "the plugin cannot be checked: "+err.Error()), nil)
}
