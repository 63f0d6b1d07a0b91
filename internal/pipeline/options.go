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

// ServeArgument is the one argument with which a run starts the program Options.Mechanisms, which must then serve its mechanisms.
const ServeArgument = run.ServeArgument

// Options are the settings of a program for a job. The zero value runs a job that names all its
// mechanisms as plugins, and whose ledger is there. Package pipeline at the module's root explains the fields that it has too.
type Options struct {
	Observer    Observer
	Diagnostics bool

	Mechanisms string
	// Builtins are the descriptions that the built-in mechanisms must give of themselves; nil stands for any.
	Builtins []sdk.Description
	Version  string
	// EngineProgram is the program of the engine that a job names. "" stands for dprelease-KIND in the
	// folder of Mechanisms.
	EngineProgram string
	SoleParent    bool

	Plans string
	Apart time.Duration

	Again        bool
	Revise       bool
	CatchUp      bool
	Wait         time.Duration
	PublishAt    string
	CreateLedger bool
	LockWait     time.Duration
	By           string

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

// engine starts the engine of a job and asks it for all that can go wrong before the debit. The second value stops it, also where
// there is an error.
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
	if err = program.Check(ctx, text); err == nil {
		err = run.CountFrames(ctx, p.Plan, t, program)
	}
	return program, program.Close, err
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
