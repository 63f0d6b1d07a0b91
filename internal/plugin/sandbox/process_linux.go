package sandbox

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dprelease/dprelease/internal/guard"
	"github.com/dprelease/dprelease/internal/plugin/sandbox/launcher"
)

// Process is a first process and all that descends from it: the tree.
//
// Contract: after Kill returns true, no process of the tree is left, as far as a
// descendant can be told: by its session, by its parent, by the mark in its
// environment, and with SoleParent by being our child at all.
type Process struct {
	Stdout *os.File // what the tree prints
	Stderr *os.File

	pid        int
	mark       string // the value of markKey in its environment
	soleParent bool
	started    uint64        // when, in ticks since the machine started
	doomed     map[int]bool  // under leaders' lock: descendants that are to go
	lifeline   *os.File      // the other end is standard input
	done       chan struct{} // closed when the first process has been reaped
	level      Level
	own        string         // the path of the tree's own folder, as the tree names it
	folder     *os.File       // that folder, where its path does not lead there; or nil
	watched    sync.WaitGroup // what watches the tree
}

// Level returns the level of what confines the tree.
func (p *Process) Level() Level { return p.level }

// Pid is the number of the first process.
func (p *Process) Pid() int { return p.pid }

// Done is closed when the first process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// leaders are the first processes of all trees. Starting one, reaping one and
// killing a tree exclude each other, so that a process that is just being started
// is never taken for an orphan, and no number is used after it may be another's.
var leaders = struct {
	sync.Mutex
	pids map[int]bool
}{pids: map[int]bool{}}

var subreaper = sync.OnceValue(func() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
})

// Start starts the executable with nothing inherited but what the command passes, in a
// session of its own: a terminal's signals do not reach it, and its descendants can be
// told from other processes. Nothing is ever written to its standard input, which ends
// when this process does. The command says how it is confined; [Process.Level] says how it
// was. What confines it first is waited for until ctx ends, which does not end the tree.
func Start(ctx context.Context, exe *Executable, cmd Command) (*Process, error) {
	// Orphans come to us instead of to init, where they could not be told.
	if err := subreaper(); err != nil {
		return nil, err
	}
	if cmd.Confine.Mode == Off || cmd.Confine.Mode == "" {
		return begin(ctx, exe, cmd, nil)
	}
	if why := withoutNamespaces.Load(); why != nil && cmd.Confine.Mode == Best {
		return begin(ctx, exe, cmd, &orders{why: *why})
	}
	p, err := begin(ctx, exe, cmd, &orders{Orders: launcher.Orders{Namespaces: true}})
	if err == nil || cmd.Confine.Mode == Required {
		return p, err
	}
	var lacking *Unconfined
	if !errors.As(err, &lacking) || !lacking.namespaces {
		return nil, err
	}
	why := "namespaces: " + lacking.Why.Error()
	withoutNamespaces.Store(&why)
	return begin(ctx, exe, cmd, &orders{why: why})
}

// withoutNamespaces is the reason for which this machine gives a tree no namespaces, once it is known.
var withoutNamespaces atomic.Pointer[string]

// begin starts a tree; with orders, through a launcher that confines it first.
func begin(ctx context.Context, exe *Executable, cmd Command, o *orders) (*Process, error) {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	p := &Process{mark: hex.EncodeToString(random[:]), soleParent: cmd.SoleParent, doomed: map[int]bool{}, done: make(chan struct{})}
	const oneCore = "GOMAXPROCS=1" // until a release wants all
	if exe.Own() {
		cmd.Env = append(cmd.Env, oneCore)
	}
	if o == nil {
		env := environment(launcher.OwnFolder(cmd.Dir), cmd.Elsewhere, cmd.Env, p.mark)
		if err := p.start(childPath, cmd.Args, env, launcher.OwnFolder(cmd.Dir), exe.file, nil, &unix.SysProcAttr{}); err != nil {
			return nil, err
		}
		return p, nil
	}
	control, theirs, err := controlPair()
	if err != nil {
		return nil, err
	}
	defer control.Close()
	home := launcher.OwnFolder(cmd.Dir)
	attr := &unix.SysProcAttr{}
	if o.Namespaces {
		home = "/tmp"
		attr = newNamespaces()
	}
	o.fill(exe, cmd, environment(home, cmd.Elsewhere, cmd.Env, p.mark))
	first := selfExe
	if exe.Own() { // a companion has less to start than this program
		first = childPath
	}
	err = p.start(first, []string{launcher.Name}, []string{oneCore}, launcher.OwnFolder(cmd.Dir), exe.file, theirs, attr)
	theirs.Close()
	if err != nil {
		if o.Namespaces {
			err = &Unconfined{Why: err, namespaces: true}
		}
		return nil, err
	}
	g, err := o.give(ctx, control)
	if err != nil {
		p.Kill(5 * time.Second)
		p.Close()
		return nil, err
	}
	p.level, p.folder, p.own = g.level, g.folder, launcher.OwnFolder(cmd.Dir)
	if g.listener >= 0 {
		p.watched.Go(func() { guard.Quietly(func() { watch(g.listener, cmd.Confine.Watch) }) })
	}
	return p, nil
}

// start starts the first process and a goroutine that waits for its end.
func (p *Process) start(path string, argv, env []string, dir string, exe, control *os.File, attr *unix.SysProcAttr) error {
	leaders.Lock()
	defer leaders.Unlock()
	started := make(chan error)
	go func() {
		// The kernel sends the parent-death signal when the thread that forked ends, not
		// only when the whole process does: the thread stays until the child has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := guard.Do(func() error { return p.fork(path, argv, env, dir, exe, control, attr) })
		started <- err
		if err == nil {
			guard.Quietly(p.reap)
		}
	}()
	return <-started
}

// fork starts the process with a pipe for each standard stream, the executable as
// descriptor 3 and the launcher's socket as descriptor 4. The lock of leaders is held.
func (p *Process) fork(path string, argv, env []string, dir string, exe, control *os.File, attr *unix.SysProcAttr) error {
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
	}()
	for i, ours := range []**os.File{&p.lifeline, &p.Stdout, &p.Stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			p.Close()
			return err
		}
		if i == 0 {
			r, w = w, r
		}
		*ours, theirs = r, append(theirs, w)
	}
	files := append(theirs[:3:3], exe, control) // nil: none
	closeOnExec()
	attr.Setsid, attr.Pdeathsig = true, unix.SIGKILL
	child, err := os.StartProcess(path, argv, &os.ProcAttr{Dir: dir, Env: env, Files: files, Sys: attr})
	if err != nil {
		p.Close()
		return err
	}
	p.pid = child.Pid
	_ = child.Release() // reap waits for it by its number
	leaders.pids[p.pid] = true
	if s, ok := readStat(p.pid); ok {
		p.started = s.started
	}
	// A core dump would hold rows. The limit 1 stops a file and, unlike 0, a pipe.
	_ = unix.Prlimit(p.pid, unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1}, nil)
	return nil
}

// EndInput ends the standard input of the tree, as the end of this process would.
func (p *Process) EndInput() { p.lifeline.Close() }

// Close closes this process's ends of the standard streams, and lets go of the tree's files.
func (p *Process) Close() {
	for _, f := range []*os.File{p.lifeline, p.Stdout, p.Stderr, p.folder} {
		f.Close() // one that is nil refuses
	}
	p.watched.Wait()
}

// closeOnExec keeps every descriptor of this process to itself. Go opens files that
// way, but what the process itself inherited may not be so. The standard streams and
// the executable are passed on by duplicates.
func closeOnExec() {
	if unix.CloseRange(3, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	names, _ := os.ReadDir("/proc/self/fd") // a kernel before 5.11
	for _, n := range names {
		if fd, err := strconv.Atoi(n.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

// reap waits until the process has ended, and ends what is left of its group.
func (p *Process) reap() {
	for {
		var info unix.Siginfo
		if err := unix.Waitid(unix.P_PID, p.pid, &info, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			break
		}
	}
	// Not reaped yet, so that the number of the group cannot have been reused.
	_ = unix.Kill(-p.pid, unix.SIGKILL)
	leaders.Lock()
	for {
		if _, err := unix.Wait4(p.pid, nil, 0, nil); err != unix.EINTR {
			break
		}
	}
	delete(leaders.pids, p.pid)
	leaders.Unlock()
	close(p.done)
}
