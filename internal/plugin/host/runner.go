package host

import (
	"context"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-plugin/runner"

	"github.com/dprelease/dprelease/internal/guard"
	"github.com/dprelease/dprelease/internal/plugin/sandbox"
)

// pluginRunner is the process as go-plugin sees it: one good handshake line on
// stdout and nothing else. What the process really prints never reaches go-plugin.
type pluginRunner struct {
	start  func(context.Context) (*sandbox.Process, error)
	within context.Context // of the start
	dir    string          // where the plugin makes its sockets
	q      *quarantine

	mu   sync.Mutex
	p    *sandbox.Process
	err  error  // why it did not start
	addr string // the socket that the handshake names
	late bool   // nobody waits for it any more

	rejected atomic.Bool // the first line was no handshake
	drained  sync.WaitGroup
	line     *io.PipeReader
}

var _ runner.Runner = (*pluginRunner)(nil)

func (r *pluginRunner) Start(context.Context) error {
	p, err := r.start(r.within)
	r.mu.Lock()
	r.p, r.err = p, err
	late := r.late
	r.mu.Unlock()
	if err != nil {
		return err
	}
	if late {
		p.Kill(time.Second)
	}
	var lineW *io.PipeWriter
	r.line, lineW = io.Pipe()
	r.drained.Add(3)
	go func() {
		defer r.drained.Done()
		// A process that has ended has said what it had to say; a descendant that holds
		// the other ends must not keep us waiting.
		guard.Quietly(func() {
			<-p.Done()
			soon := time.Now().Add(patience)
			_ = p.Stdout.SetReadDeadline(soon)
			_ = p.Stderr.SetReadDeadline(soon)
		})
	}()
	go func() {
		defer r.drained.Done()
		defer lineW.Close()
		guard.Quietly(func() { r.handshake(p, lineW) })
	}()
	go func() {
		defer r.drained.Done()
		guard.Quietly(func() { _, _ = io.Copy(r.q, p.Stderr) })
	}()
	return nil
}

// handshake hands the first line of a process on, if it is a handshake.
func (r *pluginRunner) handshake(p *sandbox.Process, to *io.PipeWriter) {
	readHandshake(p.Stdout, r.dir, r.q, func(line, socket string) {
		r.mu.Lock()
		r.addr = socket
		r.mu.Unlock()
		_, _ = io.WriteString(to, strings.TrimRight(line, "\r\n")+"\n")
		to.Close()
	}, func(ended bool) {
		r.rejected.Store(ended || !ends(p))
		to.Close()
	})
}

// process is the plugin's process, nil before it was started.
func (r *pluginRunner) process() *sandbox.Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.p
}

// giveUp kills the process, as soon as there is one.
func (r *pluginRunner) giveUp(grace time.Duration) {
	r.mu.Lock()
	r.late = true
	p := r.p
	r.mu.Unlock()
	if p != nil {
		p.Kill(grace)
	}
}

// failed returns the error that kept the process from starting, or nil.
func (r *pluginRunner) failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// socket is the socket that the plugin's handshake names.
func (r *pluginRunner) socket() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.addr
}

// patience is the time in which what an ended process printed is read.
const patience = 200 * time.Millisecond

// stop reads what the process printed, and releases what is left once the tree is gone. Closing our
// ends ends the drains even where a process that we could not find still holds the others.
func (r *pluginRunner) stop() {
	if r.p == nil {
		return
	}
	r.line.Close()
	late := time.AfterFunc(2*patience, func() { guard.Quietly(r.p.Close) })
	r.drained.Wait()
	late.Stop()
	r.p.Close()
}

func (r *pluginRunner) Wait(context.Context) error {
	<-r.p.Done()
	return nil
}

func (r *pluginRunner) Kill(context.Context) error {
	r.p.Kill(time.Second)
	return nil
}

func (r *pluginRunner) ID() string {
	if r.p == nil {
		return ""
	}
	return strconv.Itoa(r.p.Pid())
}

func (r *pluginRunner) Stdout() io.ReadCloser           { return r.line }
func (r *pluginRunner) Stderr() io.ReadCloser           { return io.NopCloser(strings.NewReader("")) }
func (r *pluginRunner) Name() string                    { return "plugin" }
func (r *pluginRunner) Diagnose(context.Context) string { return "" }

// PluginToHost is asked about every address that the plugin names.
func (r *pluginRunner) PluginToHost(network, addr string) (string, string, error) {
	if _, err := CheckHandshake("1|1|"+network+"|"+addr+"|grpc", r.dir); err != nil {
		return "", "", err
	}
	return network, addr, nil
}

// HostToPlugin changes nothing: both see the same file system.
func (r *pluginRunner) HostToPlugin(network, addr string) (string, string, error) {
	return network, addr, nil
}
