package host

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	plugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/dprelease/dprelease/internal/guard"
	"github.com/dprelease/dprelease/internal/plugin/sandbox"
	"github.com/dprelease/dprelease/internal/plugin/wire"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// Plugin is a running plugin. Its calls are made one at a time. After a call that
// failed otherwise than by a refusal, the process has been killed and every later
// call is CodeClosed.
type Plugin struct {
	*running
	cmd    Command
	limits Limits

	call    sync.Mutex
	desc    *sdk.Description
	socket  bool // the plugin supports LANE_SOCKET
	columns bool // the plugin supports LANE_COLUMNS
}

// running is the process of a plugin. That of this program's build may serve several at a time.
type running struct {
	exe    *sandbox.Executable
	dir    *sandbox.Dir
	q      *quarantine
	client *plugin.Client
	runner *pluginRunner
	joint  *joint

	ask    sync.Mutex
	said   *wire.DescribeResponse // what it serves, nil before it was asked
	served []string               // the names of those that are beside one another, in order
	lanes  []*sandbox.Listener    // the sockets that no release uses now

	endedBy  atomic.Pointer[Plugin] // the first one that failed, or nil
	stopOnce sync.Once
	stopped  chan struct{}
}

// Beside returns a mechanism of the same process, which must be one of this program's build: calls of the two are made at
// the same time. Where one fails, the process has been killed, and the other's calls are CodeCanceled, or CodeClosed; an
// error of its caller's own ends its call alone.
// Close ends both. Where the process crashes, the error names all that it served: nobody knows whose fault it was.
//
// # Contract
//
// Two releases that are made at the same time are those of two processes: the code is of this program's sources, and keeps
// nothing of a release, nor do two share anything that depends on rows. Proof: beside.proof.md.
func (p *Plugin) Beside(mechanism string) *Plugin {
	p.ask.Lock()
	defer p.ask.Unlock()
	if i, found := slices.BinarySearch(p.served, mechanism); !found {
		p.served = slices.Insert(p.served, i, mechanism)
	}
	cmd := p.cmd
	cmd.Name, cmd.Mechanism = mechanism, mechanism
	return &Plugin{running: p.running, cmd: cmd, limits: p.limits}
}

// Start starts a plugin and shakes hands with it. Close must be called on what it
// returns; after an error nothing is left.
func Start(ctx context.Context, cmd Command, limits Limits) (*Plugin, error) {
	p := &Plugin{cmd: cmd, limits: limits.filled(), running: &running{stopped: make(chan struct{})}}
	var err error
	if p.exe = cmd.Opened; p.exe == nil {
		if p.exe, err = cmd.Open(); err != nil {
			return nil, err
		}
	}
	if p.dir, err = sandbox.NewDir(); err != nil {
		p.done()
		return nil, &Error{Code: CodeStart, Plugin: cmd.Name, Detail: "no folder can be made in " + sandbox.DirBase() +
			"; make room there, or set TMPDIR to a folder that can be written"}
	}
	how, err := cmd.In(p.dir)
	if err != nil {
		p.done()
		p.dir.Close()
		if errors.Is(err, sandbox.ErrDigest) {
			return nil, p.fault(CodeChecksum)
		}
		return nil, &Error{Code: CodeStart, Plugin: cmd.Name, Detail: "a file beside its executable cannot be copied"}
	}
	p.q = newQuarantine(p.limits)
	p.client = plugin.NewClient(p.config(how))
	if err := p.connect(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// config limits go-plugin to parsing a checked handshake, dialling a checked socket, and brokering.
// It logs nothing and passes nothing on.
func (p *Plugin) config(cmd sandbox.Command) *plugin.ClientConfig {
	p.runner = &pluginRunner{q: p.q}
	return &plugin.ClientConfig{
		HandshakeConfig:  plugin.HandshakeConfig{MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue},
		VersionedPlugins: map[int]plugin.PluginSet{wire.Version: {wire.PluginName: &clientPlugin{}}},
		RunnerFunc: func(_ hclog.Logger, c *exec.Cmd, _ string) (runner.Runner, error) {
			cmd.SoleParent = p.limits.SoleParent
			for _, kv := range c.Env { // the handshake's, and nothing else
				if strings.HasPrefix(kv, "PLUGIN_") && !strings.HasPrefix(kv, plugin.EnvUnixSocketDir) || strings.HasPrefix(kv, wire.CookieKey+"=") {
					cmd.Env = append(cmd.Env, kv)
				}
			}
			// The plugin makes its socket in a folder of its own, which cmd.Env names, and finds the host's in
			// one that it can only read.
			p.runner.dir, p.runner.start = p.dir.Own, func(ctx context.Context) (*sandbox.Process, error) {
				return sandbox.Start(ctx, p.exe, cmd)
			}
			return p.runner, nil
		},
		StartTimeout:     2 * p.limits.Start, // ours comes first, and kills
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		SkipHostEnv:      true,
		Logger:           hclog.NewNullLogger(),
		SyncStdout:       p.q,
		SyncStderr:       p.q,
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: p.dir.Path},
		GRPCDialOptions:  p.dialOptions(),
	}
}

// connect shakes hands. go-plugin can block in here for longer than its own
// timeout says, so the deadline is enforced by killing the process.
func (p *Plugin) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.limits.Start)
	defer cancel()
	p.runner.within = ctx
	done := make(chan error, 1)
	go func() {
		done <- guard.Do(func() error {
			rpc, err := p.client.Client()
			if err != nil {
				return err
			}
			j, err := rpc.Dispense(wire.PluginName)
			if err != nil {
				return err
			}
			p.joint = j.(*joint)
			return rpc.Ping()
		})
	}()
	select {
	case err := <-done:
		switch {
		case err == nil:
			return nil
		case p.runner.rejected.Load():
			return p.fault(CodeProtocol)
		case p.joint != nil && p.ended():
			return p.fault(CodeCrash)
		case p.runner.process() != nil && p.joint != nil:
			return p.fault(CodeProtocol) // it shook hands but serves something else
		case ctx.Err() != nil:
			return p.late(ctx)
		}
		var loose *sandbox.Unconfined
		if errors.As(p.runner.failed(), &loose) {
			return p.unconfined(loose)
		}
		return p.fault(CodeStart)
	case <-ctx.Done():
		p.runner.giveUp(p.limits.Grace) // the process may only be starting
		<-done
		return p.late(ctx)
	}
}

// late is the failure of a plugin that was not ready when ctx ended.
func (p *Plugin) late(ctx context.Context) *Error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return p.fault(CodeTimeout)
	}
	return p.fault(CodeCanceled)
}

// unconfined is the failure of a plugin that this machine cannot confine as its mode asks for.
func (p *Plugin) unconfined(loose *sandbox.Unconfined) *Error {
	e := p.fault(CodeSandbox)
	e.Detail = printable(loose.Error())
	switch p.cmd.Confine.Mode {
	case sandbox.Required:
		e.Detail += "; in a job, sandbox: best asks for less"
	case sandbox.Best:
		e.Detail += "; or allow Landlock and seccomp; if you trust the plugin with all that you may do, say sandbox: off in the job"
	}
	return e
}

// Confined returns how the plugin's processes are confined.
func (p *Plugin) Confined() sandbox.Level { return p.runner.process().Level() }

// Pid is the number of the plugin's first process.
func (p *Plugin) Pid() int { return p.runner.process().Pid() }

// ended reports whether the process has ended by itself, or ends within a moment.
func (p *Plugin) ended() bool {
	pr := p.runner.process()
	return pr != nil && ends(pr)
}

// ends reports whether a process that closed its pipes has ended, or ends within a moment. It is
// asked only where something is wrong already.
func ends(p *sandbox.Process) bool {
	select {
	case <-p.Done():
		return true
	case <-time.After(500 * time.Millisecond):
		return false
	}
}

// Close ends the plugin: it is asked to end, and killed with all its descendants
// when it has not after Limits.Grace. A process of this program's build is killed at
// once: it has nothing to put in order. It returns when no process is left.
func (p *Plugin) Close() {
	p.stopOnce.Do(func() {
		defer close(p.stopped)
		if pr := p.runner.process(); pr != nil && p.exe.Own() {
			pr.Kill(p.limits.Grace)
		}
		asked := make(chan struct{})
		go func() {
			defer close(asked)
			guard.Quietly(p.client.Kill) // asks, waits, kills; blocks on a process that is stopped
		}()
		select {
		case <-asked:
		case <-time.After(p.limits.Grace):
		}
		if pr := p.runner.process(); pr != nil {
			pr.Kill(5 * time.Second)
		}
		select {
		case <-asked:
		case <-time.After(5 * time.Second): // a process that the kernel will not let die
		}
		p.runner.stop()
		p.q.close()
		p.done()
		p.ask.Lock()
		for _, l := range p.lanes {
			l.Close()
		}
		p.ask.Unlock()
		p.dir.Close()
	})
	<-p.stopped
}

// done lets go of an executable that Start opened.
func (p *Plugin) done() {
	if p.exe != p.cmd.Opened {
		p.exe.Close()
	}
}

// abandon kills the plugin without asking it to end.
func (p *Plugin) abandon() {
	p.kill()
	p.Close()
}

// kill kills the process, and notes whose failure it was.
func (p *Plugin) kill() {
	p.endedBy.CompareAndSwap(nil, p)
	if pr := p.runner.process(); pr != nil {
		pr.Kill(p.limits.Grace)
	}
}

func (p *Plugin) fault(code string) *Error {
	name := p.cmd.Name
	if p.ask.Lock(); code == CodeCrash && len(p.served) > 0 {
		name = strings.Join(p.served, ", ")
	}
	p.ask.Unlock()
	return &Error{Code: code, Plugin: name}
}

// invoke runs one call with a deadline and turns whatever comes back into a code.
func (p *Plugin) invoke(ctx context.Context, limit time.Duration, f func(context.Context) error) error {
	inner, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case <-p.stopped:
		return p.fault(CodeClosed)
	default:
	}
	err := f(inner)
	if err == nil {
		return nil
	}
	err = p.classify(ctx, inner, err)
	var e *Error
	switch fault := errors.As(err, &e); {
	case fault && e.Code == CodeRefused:
	case !fault && p.shared(): // the caller's own failure, of this call alone
	default:
		p.abandon()
	}
	return err
}

// classify drops the text of every error that did not originate here: it is the
// plugin's, and may hold anything (P20).
func (p *Plugin) classify(outer, inner context.Context, err error) error {
	var e *Error
	var own *callerError
	switch {
	case errors.As(err, &own):
		return own.err
	case errors.Is(outer.Err(), context.Canceled), p.besides():
		return p.fault(CodeCanceled)
	case inner.Err() == context.DeadlineExceeded:
		return p.fault(CodeTimeout)
	case errors.As(err, &e):
		return e
	}
	switch status.Code(err) {
	case codes.Unavailable:
		return p.fault(CodeCrash)
	case codes.DeadlineExceeded:
		return p.fault(CodeTimeout)
	case codes.FailedPrecondition:
		return p.fault(CodeShape)
	case codes.ResourceExhausted:
		return p.fault(CodeOversize)
	case codes.Unimplemented, codes.InvalidArgument, codes.NotFound:
		return p.fault(CodeProtocol)
	}
	select {
	case <-p.runner.process().Done():
		return p.fault(CodeCrash)
	default:
		return p.fault(CodeFailed)
	}
}

// shared reports whether the process may serve others.
func (p *Plugin) shared() bool {
	p.ask.Lock()
	defer p.ask.Unlock()
	return len(p.served) > 0
}

// besides reports whether another one's failure has ended the process.
func (p *Plugin) besides() bool {
	by := p.endedBy.Load()
	return by != nil && by != p
}

// callerError carries an error of the caller's own callback through unchanged.
type callerError struct{ err error }

func (e *callerError) Error() string { return "caller failed" }

// joint is the client end of the protocol.
type joint struct {
	mechanism wire.MechanismClient
	broker    *plugin.GRPCBroker
}

// clientPlugin is the host's end in the form that go-plugin wants.
type clientPlugin struct{ plugin.NetRPCUnsupportedPlugin }

// GRPCServer is not used: the plugin has its own end.
func (*clientPlugin) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error {
	return errors.New("the host end cannot be a server")
}

// GRPCClient returns the client end.
func (*clientPlugin) GRPCClient(_ context.Context, b *plugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return &joint{mechanism: wire.NewMechanismClient(c), broker: b}, nil
}
