package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/dprelease/dprelease/internal/plugin/calls"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/internal/plugin/sandbox"
	"github.com/dprelease/dprelease/internal/plugin/wire"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
)

// planLimit is the time that a description or a plan may take. They read no row.
const planLimit = 5 * time.Second

// releaseLimit is the time that one release of a dozen rows may take.
const releaseLimit = 20 * time.Second

// Planned is a request that a plugin accepted, and its plan.
type Planned struct {
	Request sdk.PlanRequest
	Plan    sdk.Plan
}

// Process is a plugin process as a Subject. A process that failed is replaced by a
// new one. Close must be called.
type Process struct {
	cmd     host.Command
	limits  host.Limits
	said    *transcript
	sees    *observer
	about   sdk.Description // as it described itself last
	plans   []Planned
	planned time.Time // when the first of them was made

	mu     sync.Mutex
	plugin *host.Plugin
	pid    int
	level  sandbox.Level
}

var (
	_ sdktest.Subject = (*Process)(nil)
	_ sdktest.Gauge   = (*Process)(nil)
	_ sdktest.Peaks   = (*Process)(nil)
)

// NewProcess returns the plugin that cmd names; it is started when it is needed. Where
// slowest is set, rows go over the slowest lane that the plugin supports.
func NewProcess(cmd host.Command, slowest bool) *Process {
	said := &transcript{}
	sees := newObserver(cmd)
	cmd.AllowSelfNoising = true // it is the suite that judges its noise
	cmd.Confine = confinement(cmd)
	cmd.Confine.Watch = sees.tell
	return &Process{cmd: cmd, said: said, sees: sees,
		limits: host.Limits{Plan: planLimit, Release: releaseLimit, Quarantine: said, SlowestLane: slowest}}
}

// Close ends the process.
func (p *Process) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.plugin != nil {
		p.plugin.Close()
		p.plugin = nil
	}
}

// Seen lists the forbidden things that its processes did.
func (p *Process) Seen() []sdktest.Finding { return p.sees.findings() }

// Confined returns how the last process was confined.
func (p *Process) Confined() sandbox.Level {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.level
}

// Said returns the first bytes that the plugin printed.
func (p *Process) Said() string { return p.said.String() }

// start returns the running plugin, or a new one.
func (p *Process) start(ctx context.Context) (*host.Plugin, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.plugin != nil {
		return p.plugin, nil
	}
	p.enter(starting)
	plugin, err := host.Start(ctx, p.cmd, p.limits)
	if err != nil {
		return nil, p.explain(err)
	}
	p.plugin, p.pid, p.level = plugin, plugin.Pid(), plugin.Confined()
	return plugin, nil
}

// after drops a process that the host has killed. The error shows what the process printed in
// that call, such as a stack: all rows here are made up.
func (p *Process) after(err error) error {
	if err == nil || errors.Is(err, &host.Error{Code: host.CodeRefused}) {
		return translate(err)
	}
	p.Close()
	return p.explain(err)
}

// explain adds what the process printed.
func (p *Process) explain(err error) error {
	if said := p.said.taken(); said != "" {
		return fmt.Errorf("%w; it printed\n%s", translate(err), said)
	}
	return translate(err)
}

// enter begins a phase: what the process prints from now on belongs to it.
func (p *Process) enter(phase string) {
	p.sees.enter(phase)
	p.said.mark()
}

// Describe asks twice, as the host does.
func (p *Process) Describe(ctx context.Context) (sdk.Description, error) {
	plugin, err := p.start(ctx)
	if err != nil {
		return sdk.Description{}, err
	}
	p.enter(describing)
	d, err := plugin.Describe(ctx)
	if err == nil {
		p.about = d
	}
	return d, p.after(err)
}

// Plan asks twice, as the host does.
func (p *Process) Plan(ctx context.Context, req sdk.PlanRequest) (sdk.Plan, error) {
	plugin, err := p.start(ctx)
	if err != nil {
		return sdk.Plan{}, err
	}
	p.enter(planning)
	plan, err := plugin.Plan(ctx, req)
	if err == nil {
		if len(p.plans) == 0 {
			p.planned = time.Now()
		}
		p.plans = append(p.plans, Planned{req, plan})
	}
	return plan, p.after(err)
}

// Release hands the table over and has noise answer the noise calls.
func (p *Process) Release(ctx context.Context, req sdk.PlanRequest, plan sdk.Plan, table sdktest.Table,
	noise sdk.Host) (out sdktest.Outcome, err error) {
	plugin, err := p.start(ctx)
	if err != nil {
		return out, err
	}
	out.Plan = plan
	if out.Description, err = plugin.Describe(ctx); err != nil {
		return out, p.after(err)
	}
	p.enter(releasing)
	b := &bridge{ctx: ctx, to: noise}
	out.Result, err = plugin.Release(ctx, sdk.ReleaseRequest{PlanRequest: req, Plan: plan},
		func(_ context.Context, w host.RowWriter) error { return feed(w, plan, table) }, b)
	out.Calls = b.made
	if err != nil {
		out.Result = sdk.Result{}
		err = p.after(err)
		if b.err != nil { // the host of the test is the cause
			err = b.err
		}
	}
	return out, err
}

// feed writes the table in its batches, none larger than the protocol allows.
func feed(w host.RowWriter, plan sdk.Plan, t sdktest.Table) error {
	if t.BatchRows <= 0 || t.BatchRows > wire.BatchRows {
		t.BatchRows = wire.BatchRows
	}
	batches, err := t.Batches(plan)
	if err != nil {
		return err
	}
	for _, b := range batches {
		if err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// translate names a host's code in the words of the suite.
func translate(err error) error {
	var e *host.Error
	if !errors.As(err, &e) {
		return err
	}
	known := map[string]error{
		host.CodeRefused: sdktest.ErrRefused, host.CodeCrash: sdktest.ErrPanic, host.CodeTimeout: sdktest.ErrDeadline,
		host.CodeProtocol: sdktest.ErrProtocol, host.CodeStart: sdktest.ErrProtocol, host.CodeOversize: sdktest.ErrProtocol,
		host.CodeShape: sdk.ErrShape, host.CodeNonfinite: sdk.ErrNonFinite, host.CodeLattice: sdk.ErrLattice,
		host.CodeNoiseMismatch: calls.ErrDiffers,
	}
	if as := known[e.Code]; as != nil {
		return fmt.Errorf("%w: %w", as, err)
	}
	return err
}

// transcript keeps the first bytes of what a plugin prints.
type transcript struct {
	mu   sync.Mutex
	text []byte
	from int // where the call at hand begins
}

const maxTranscript = 16384

// Write never fails, so that the drain goes on.
func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[:min(len(p), maxTranscript-len(t.text))]...)
	return len(p), nil
}

// mark begins a call.
func (t *transcript) mark() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.from = len(t.text)
}

// taken takes out what was printed since the call began. Control characters do not reach a terminal.
func (t *transcript) taken() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	said := strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, strings.ToValidUTF8(string(t.text[t.from:]), "?"))
	t.text = t.text[:t.from]
	return strings.TrimSpace(said)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

// residentSlack is the amount by which the memory of a process with a garbage collector varies.
const residentSlack = 12 << 20

// Memory returns the resident memory of the process that it shares with no other.
func (p *Process) Memory() (used, slack uint64, err error) {
	used, err = p.status("RssAnon:")
	return used, residentSlack, err
}

// Reset forgets the most memory that the process has held.
func (p *Process) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.pid), []byte("5"), 0)
}

// Peak is the most memory that the process has held since, 0 where it is not known.
func (p *Process) Peak() uint64 {
	peak, _ := p.status("VmHWM:")
	return peak
}

// Restart ends the process; the next call starts another.
func (p *Process) Restart() { p.Close() }

// status is one number of bytes that the kernel tells of the process.
func (p *Process) status(key string) (uint64, error) {
	p.mu.Lock()
	pid := p.pid
	p.mu.Unlock()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			kb, err := strconv.ParseUint(strings.Fields(rest)[0], 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("no %s in the status of the process", key)
}
