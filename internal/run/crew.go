package run

import (
	"context"
	"sync"

	"github.com/dprelease/dprelease/internal/guard"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/internal/plugin/sandbox"
)

// crew are the processes that serve the built-in mechanisms of a job. Each process serves all of them, and many releases
// at a time (../plugin/host/beside.proof.md).
type crew struct {
	command host.Command
	limits  host.Limits
	open    func() (*sandbox.Executable, error) // opens the program once: all processes are of one build

	mu      sync.Mutex
	workers []*worker
}

// worker is one process of a crew.
type worker struct {
	start  func() (*host.Plugin, error) // starts it once
	serves int
	alone  bool // what it serves now wants it for itself
}

// take returns a process that serves a mechanism, and what gives it back. A release that is alone shares it with no other.
func (c *crew) take(ctx context.Context, mechanism string, alone bool) (*host.Plugin, func(), error) {
	w := c.worker(ctx, alone)
	done := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		w.serves--
	}
	p, err := w.start()
	if err != nil {
		done()
		return nil, nil, err
	}
	return p.Beside(mechanism), done, nil
}

// worker returns a process that has room for another release.
func (c *crew) worker(ctx context.Context, alone bool) *worker {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.workers {
		if w.serves == 0 || !alone && !w.alone {
			w.serves, w.alone = w.serves+1, alone
			return w
		}
	}
	w := &worker{start: sync.OnceValues(func() (*host.Plugin, error) { return c.begin(ctx) }), serves: 1, alone: alone}
	c.workers = append(c.workers, w)
	return w
}

// begin starts a process.
func (c *crew) begin(ctx context.Context) (*host.Plugin, error) {
	exe, err := c.open()
	if err != nil {
		return nil, err
	}
	command := c.command
	command.Opened = exe
	return host.Start(ctx, command, c.limits)
}

// close ends all processes.
func (c *crew) close() {
	if len(c.workers) == 0 {
		return
	}
	var all guard.Group
	for _, w := range c.workers {
		if p, err := w.start(); err == nil {
			all.Run(p.Close)
		}
	}
	all.Wait()
	if exe, err := c.open(); err == nil {
		exe.Close()
	}
}

// mostShared bounds what a release may hold that shares its process: values of its columns, and rows of its result. So eight
// of them stay far below the memory and the processor that one process has.
const mostShared = 1 << 22

// alone reports whether a release wants a process for itself.
func (r *Runner) alone(rel *planned.Release) bool {
	return r.Table.Rows()*int64(1+len(rel.Plan.Columns))+rel.Plan.Rows > mostShared
}
