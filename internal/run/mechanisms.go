package run

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/dprelease/dprelease/internal/guard"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/plugin/catalog"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/internal/plugin/sandbox"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// Mechanisms are the plugin processes of one job. A process is used again: a release
// takes one and gives it back. One that failed answers every later call with an error.
type Mechanisms struct {
	job    *job.Job
	from   Programs
	crew   *crew // serves the built-in mechanisms
	begun  sync.WaitGroup
	cancel context.CancelFunc                    // ends the starts that nobody waits for any more
	known  map[string]func() (*mechanism, error) // starts a mechanism once
}

// mechanism is one kind of plugin.
type mechanism struct {
	command  host.Command
	limits   host.Limits
	builtin  bool
	sha256   string
	about    sdk.Description
	level    sandbox.Level
	texts    *catalog.Texts // nil: whatever it says
	approval *job.Approval  // nil: the job names the file itself
	witness  *host.Plugin   // of a plugin: a second process, which is asked everything again
	crew     *crew          // of a built-in mechanism, else nil

	described string // the digest of the description that a built-in mechanism must give; "": any

	mu   sync.Mutex
	idle []Process
	made map[string]answered // the plans of a plugin, by what it was asked
	told Told                // the same of a plugin whose queries are declared
}

// Process is one process of a mechanism, which serves one call at a time.
type Process interface {
	Plan(ctx context.Context, r sdk.PlanRequest) (sdk.Plan, error)
	Release(ctx context.Context, r sdk.ReleaseRequest, feed func(context.Context, host.RowWriter) error, d host.Drawer) (sdk.Result, error)
	Close()
}

// startsAtOnce bounds how many mechanisms start side by side.
const startsAtOnce = 4

// NewMechanisms starts the mechanisms of a job's releases: a process takes longer
// to start than everything that can be done in the meantime. Whoever asks for one
// waits for it, and hears then what went wrong.
func NewMechanisms(ctx context.Context, j *job.Job, from Programs) *Mechanisms {
	m := &Mechanisms{job: j, from: from, known: map[string]func() (*mechanism, error){}}
	command := host.Command{Name: "built-in", Path: from.Mechanisms, Args: []string{ServeArgument},
		Confine: sandbox.Confinement{Mode: sandbox.Mode(j.Sandbox)}}
	m.crew = &crew{command: command, limits: host.Limits{SoleParent: from.SoleParent}, open: sync.OnceValues(command.Open)}
	ctx, m.cancel = context.WithCancel(ctx)
	places := make(chan struct{}, startsAtOnce)
	for _, r := range j.Releases {
		if m.known[r.Mechanism] != nil {
			continue
		}
		start := sync.OnceValues(func() (*mechanism, error) { return m.start(ctx, r.Mechanism) })
		m.known[r.Mechanism] = start
		m.begun.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			guard.Quietly(func() { _, _ = start() }) // Get answers with the error
		})
	}
	return m
}

// Get returns the mechanism of a release, started and asked what it is.
func (m *Mechanisms) Get(_ context.Context, name string) (planned.Mechanism, error) {
	k, err := m.known[name]()
	if err != nil {
		return nil, blamed(err)
	}
	return k, nil
}

// blamed blames a plugin for its error, unless the mechanism refused.
func blamed(err error) error {
	var p *host.Error
	if errors.As(err, &p) && p.Code != host.CodeRefused {
		return &planned.Fault{Code: p.Code, Err: p}
	}
	return err
}

// start starts a mechanism and asks it what it is.
func (m *Mechanisms) start(ctx context.Context, name string) (*mechanism, error) {
	k := m.command(name)
	started := make(chan error, 1)
	go func() { started <- guard.Do(func() error { return k.call(ctx) }) }()
	p, done, err := k.take(ctx, false)
	other := <-started
	if err == nil {
		if err = other; err == nil {
			err = k.meet(ctx, p.(*host.Plugin))
		}
		done()
	}
	if err != nil {
		k.dismiss()
		return nil, err
	}
	return k, nil
}

// call starts the witness of a plugin.
func (k *mechanism) call(ctx context.Context) (err error) {
	if !k.builtin {
		there := k.command
		there.Elsewhere = true
		k.witness, err = host.Start(ctx, there, k.limits)
	}
	return err
}

// meet asks a mechanism what it is.
func (k *mechanism) meet(ctx context.Context, p *host.Plugin) (err error) {
	k.level = p.Confined()
	if k.about, err = p.Describe(ctx); err != nil {
		return err
	}
	switch said := catalog.Describe(k.about); {
	case k.approval != nil && said != k.approval.Description:
		return &host.Error{Code: host.CodeDescription, Plugin: k.command.Name,
			Detail: "it does not describe itself as it did when it was approved"}
	case k.described != "" && said != k.described:
		return &host.Error{Code: host.CodeProgram, Plugin: k.command.Name,
			Detail: k.crew.command.Path + ": it describes the mechanism otherwise than this program knows it"}
	}
	if k.witness != nil {
		again, err := k.witness.Describe(ctx)
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(k.about, again) {
			return k.differs(elsewhere)
		}
	}
	return nil
}

const elsewhere = "another process, in another folder and environment, was told something else"

func (k *mechanism) differs(why string) error {
	return blamed(&host.Error{Code: host.CodeNondeterministic, Plugin: k.command.Name, Detail: why})
}

// dismiss ends the processes of a plugin.
func (k *mechanism) dismiss() {
	var all guard.Group
	for _, p := range k.idle {
		all.Run(p.Close)
	}
	if k.witness != nil {
		all.Run(k.witness.Close)
	}
	all.Wait()
}

func (m *Mechanisms) command(name string) *mechanism {
	confine := sandbox.Confinement{Mode: sandbox.Mode(m.job.Sandbox)}
	if p, ok := m.job.Plugin(name); ok {
		confine.Read, confine.Memory = p.Reads, p.Memory
		k := &mechanism{
			command: host.Command{Name: name, Path: p.Path, SHA256: p.SHA256, Files: p.Files, Lattice: true,
				AllowSelfNoising: p.AllowSelfNoising, Confine: confine},
			limits: host.Limits{Release: p.Timeout, SoleParent: m.from.SoleParent},
			sha256: p.SHA256, approval: p.Approval,
		}
		if a := p.Approval; a != nil {
			k.command.Mechanism = a.Mechanism
			k.texts = catalog.NewTexts(a.Names, a.Texts)
		}
		return k
	}
	k := &mechanism{command: host.Command{Name: name}, builtin: true, crew: m.crew}
	if i := slices.IndexFunc(m.from.Builtins, func(d sdk.Description) bool { return d.Name == name }); i >= 0 {
		k.described = catalog.Describe(m.from.Builtins[i])
	}
	return k
}

// Close ends all processes.
func (m *Mechanisms) Close() {
	m.cancel()
	m.begun.Wait()
	var all guard.Group
	for _, start := range m.known {
		if k, err := start(); err == nil {
			all.Run(k.dismiss)
		}
	}
	m.crew.close()
	all.Wait()
}

// take returns a process of the mechanism, and what gives it back. A plugin serves one release at a time.
func (k *mechanism) take(ctx context.Context, alone bool) (Process, func(), error) {
	k.mu.Lock()
	n := len(k.idle) - 1
	if n < 0 && k.crew != nil {
		k.mu.Unlock()
		return k.crew.take(ctx, k.command.Name, alone)
	}
	if n < 0 {
		k.mu.Unlock()
		p, err := host.Start(ctx, k.command, k.limits)
		return p, func() { k.put(p) }, err
	}
	p := k.idle[n]
	k.idle = k.idle[:n]
	k.mu.Unlock()
	return p, func() { k.put(p) }, nil
}

func (k *mechanism) put(p Process) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.idle = append(k.idle, p)
}

// About is the mechanism's description of itself.
func (k *mechanism) About() sdk.Description { return k.about }

// Origin returns where the mechanism comes from.
func (k *mechanism) Origin() (builtin bool, sha256 string) { return k.builtin, k.sha256 }

// Plan asks the mechanism for its plan of a release.
func (k *mechanism) Plan(ctx context.Context, req sdk.PlanRequest) (sdk.Plan, error) {
	p, done, err := k.take(ctx, false)
	if err != nil {
		return sdk.Plan{}, blamed(err)
	}
	made, err := p.Plan(ctx, req)
	done()
	if k.witness != nil && (err == nil || errors.Is(err, &host.Error{Code: host.CodeRefused})) {
		again, other := k.witness.Plan(ctx, req)
		if !reflect.DeepEqual(made, again) || fmt.Sprint(err) != fmt.Sprint(other) {
			return sdk.Plan{}, k.differs(elsewhere)
		}
		if err == nil {
			if err := k.note(req, made); err != nil {
				return sdk.Plan{}, err
			}
		}
	}
	if err == nil && k.texts != nil {
		if name := k.texts.Hold(req, &made); name != "" {
			return sdk.Plan{}, blamed(&host.Error{Code: host.CodePlan, Plugin: k.command.Name,
				Detail: "a column of its result has a name, or may hold a text, that it did not have when it was approved; " +
					"have it added again with --job"})
		}
	}
	return made, blamed(err)
}

// Confined returns how the mechanism's processes are confined.
func (k *mechanism) Confined() string { return k.level.String() }
