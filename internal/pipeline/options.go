package pipeline

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/dprelease/dprelease/internal/output"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/internal/run/budget"
	"github.com/dprelease/dprelease/internal/run/engine"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// ServeArgument is the one argument with which a run starts the program Options.Mechanisms.
// A program whose only argument it is must serve its mechanisms and do nothing else:
//
//	if len(os.Args) == 2 && os.Args[1] == pipeline.ServeArgument {
//		serve.Mechanisms(mean.Mechanism{}, count.Mechanism{})
//		return
//	}
//
// Package serve is plugins/sdk/serve.
const ServeArgument = run.ServeArgument

// Options are the settings of a program for a job. The zero value runs a job that names all its
// mechanisms as plugins, and whose ledger is there.
type Options struct {
	Observer    Observer // told what happens; may be nil
	Diagnostics bool     // write CONFIDENTIAL-diagnostics.json

	// Mechanisms is the program that serves the built-in mechanisms: an installed dprelease-mechanisms of this
	// program's version, or this one (os.Executable), which then has to look for ServeArgument.
	Mechanisms string
	// Builtins are the descriptions that the built-in mechanisms must give of themselves; nil stands for any.
	Builtins []sdk.Description
	Version  string // of this program, for the report
	// EngineProgram is the program of the engine that a job names. "" stands for dprelease-KIND in the
	// folder of Mechanisms.
	EngineProgram string
	// SoleParent says that this process has no children but plugins, so that every
	// orphan of theirs can be found and killed.
	SoleParent bool

	// Plans is a folder that remembers digests of the plans of third parties' plugins. A plugin
	// is asked twice for a plan, two seconds apart; with Plans, only by the first run of
	// a job. "" remembers none.
	Plans string
	// Apart is the pause before a plugin is asked again; 0 means two seconds.
	Apart time.Duration

	// Again spends a second time after a run that was cut off between its debit and
	// its releases.
	Again bool
	// Revise publishes a slice of the data set again whose table was revised since it was
	// released. That spends the same again.
	Revise bool
	// CatchUp makes the earlier steps of a series that are missing, in their order.
	CatchUp bool
	// Wait is the longest wait for another run of the same job; 0 means ten minutes.
	Wait time.Duration
	// PublishAt is a time of day such as 06:00 on the machine's clock, before which a run shows nothing; "" means
	// the job's (output.publish_at).
	PublishAt string
	// CreateLedger makes the ledger that the job names where there is none. The one
	// beside a job that names none is made in any case.
	CreateLedger bool
	// LockWait is the longest wait while others keep the ledger locked; 0 means the
	// ledger's default.
	LockWait time.Duration
	// By names who runs the job, for the ledger's records; "" means the login name and
	// the host.
	By string

	lease  time.Duration // of a run; 0: the ledger's
	memory int64         // that the values of the table may take; 0: what the machine allows (P33)
	clock  clock         // nil: the machine's
	hour   *hour         // before which nothing is shown, or nil
	disk   output.Disk   // nil: the real one
	// at is told when a run gets to a named point, so that a test can end it there.
	at func(point string)
}

// Progress is one step of a run, for progress bars and schedulers. It holds public
// facts only: Done and Total are shares of a draw, never rows (P19).
type Progress = run.Progress

// Observer is told what happens during a run. Calls come one at a time.
type Observer interface{ Observe(Progress) }

// watch hands events to the observer, one at a time.
func (o Options) watch() func(run.Progress) {
	if o.Observer == nil {
		return func(run.Progress) {}
	}
	var mu sync.Mutex
	return func(e run.Progress) {
		mu.Lock()
		defer mu.Unlock()
		o.Observer.Observe(e)
	}
}

// engine starts the engine of a job and asks it for all that can go wrong before the debit.
func (o Options) engine(ctx context.Context, p *plan.Priced, t *run.OpenedTable) (run.Engine, func(), error) {
	none := func() {}
	e := &p.Job.Engine
	if !e.Elsewhere() {
		return nil, none, nil
	}
	if o.Diagnostics {
		return nil, none, failure.New(failure.ExitUsage, "USAGE", "--diagnostics: an engine gathers no private facts of the run")
	}
	path, err := o.EngineProgram, error(nil)
	if path == "" {
		if path, err = engine.Find(o.Mechanisms); err != nil {
			return nil, none, err
		}
	}
	order, err := run.NewOrder(p.Plan, t)
	if err != nil {
		return nil, none, failure.New(failure.ExitPlugin, "ENGINE_REFUSED",
			"the job cannot be written down for the engine; nothing was drawn and nothing debited")
	}
	text, err := json.Marshal(order)
	if err != nil {
		return nil, none, err
	}
	config := engine.Config{Runner: e.Runner, Options: map[string]string{}}
	for _, o := range e.Options {
		config.Options[o.Name] = o.Value
	}
	program, err := engine.Start(path, config)
	if err != nil {
		return nil, none, err
	}
	if err := program.Check(ctx, text); err != nil {
		program.Close()
		return nil, none, err
	}
	if err := run.CountFrames(ctx, p.Plan, t, program); err != nil {
		program.Close()
		return nil, none, err
	}
	return program, program.Close, nil
}

func (o Options) reach(point string) {
	if o.at != nil {
		o.at(point)
	}
}

func (o Options) programs(j *Job) run.Programs {
	alone := o.SoleParent && !j.Engine.Elsewhere() // the program of an engine is a child, and no plugin's
	return run.Programs{Mechanisms: o.Mechanisms, Builtins: o.Builtins, SoleParent: alone, Plans: o.Plans, Apart: o.Apart}
}

func (o Options) budget(watch func(run.Progress)) budget.Options {
	return budget.Options{Again: o.Again, Revise: o.Revise, Wait: o.Wait, Lease: o.lease, Observe: watch, Reach: o.reach}
}
