package pipeline

import (
	"time"

	"github.com/dprelease/dprelease/internal/pipeline"
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
const ServeArgument = pipeline.ServeArgument

// Options are the settings of a program for a job. The zero value runs a job that names all its
// mechanisms as plugins, and whose ledger is there.
type Options struct {
	Observer    Observer // told what happens; may be nil
	Diagnostics bool     // write CONFIDENTIAL-diagnostics.json

	// Mechanisms is the program that serves the built-in mechanisms: an installed dprelease-mechanisms of the
	// version of this module, or this one (os.Executable), which then has to look for ServeArgument. Other companions,
	// such as the engine that a job names, lie in its folder.
	Mechanisms string
	Version    string // of this program, for the report
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

	_ struct{}
}

// inner hands the settings to the verbs.
func (o Options) inner() pipeline.Options {
	in := pipeline.Options{
		Diagnostics: o.Diagnostics, Mechanisms: o.Mechanisms, Version: o.Version, SoleParent: o.SoleParent,
		Plans: o.Plans, Apart: o.Apart, Again: o.Again, Revise: o.Revise, CatchUp: o.CatchUp, Wait: o.Wait, PublishAt: o.PublishAt,
		CreateLedger: o.CreateLedger, LockWait: o.LockWait, By: o.By,
	}
	if o.Observer != nil {
		in.Observer = observed{o.Observer}
	}
	return in
}

// Progress is one step of a run, for progress bars and schedulers. It holds public
// facts only: Done and Total are shares of a draw, never rows (P19).
type Progress struct {
	Kind        string // plan, draw, progress, release-start, release-done, published
	Release     string
	Draw        string
	Done, Total int64
	Message     string
}

// Observer is told what happens during a run. Calls come one at a time.
type Observer interface{ Observe(Progress) }

// observed tells an observer the events of a run.
type observed struct{ to Observer }

// Observe passes an event on.
func (o observed) Observe(e pipeline.Progress) {
	o.to.Observe(Progress{Kind: e.Kind, Release: e.Release, Draw: e.Draw, Done: e.Done, Total: e.Total, Message: e.Message})
}
