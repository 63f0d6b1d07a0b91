package host

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/dprelease/dprelease/internal/launch"
)

// process is a plugin's first process and all that descends from it.
//
// Contract: after kill returns true, no process of the tree is left, as far as a
// descendant can be told: by its session, by its parent, by the mark in its
// environment, and with soleParent by being our child at all.
type process struct {
	pid        int
	token      string
	soleParent bool
	started    uint64       // when, in ticks since the machine started
	doomed     map[int]bool // under leaders' lock: descendants that are to go
	lifeline   *os.File     // the plugin's stdin is the other end
	stdout     *os.File
	stderr     *os.File
	done       chan struct{} // closed when the first process has been reaped
}

// leaders are the first processes of all plugins. Starting one, reaping one and
// killing a tree exclude each other, so that a process that is just being started
// is never taken for an orphan, and no number is used after it may be another's.
var leaders = struct {
	sync.Mutex
	pids map[int]bool
}{pids: map[int]bool{}}

var subreaper = sync.OnceValue(func() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
})

// startProcess starts exe with nothing inherited but what is passed here.
func startProcess(exe *executable, name string, args, env []string, dir string, soleParent bool) (*process, error) {
	// Orphans come to us instead of to init, where they could not be told.
	if err := subreaper(); err != nil {
		return nil, err
	}
	leaders.Lock()
	defer leaders.Unlock()
	c, err := launch.Spawn(launch.Command{Path: exe.path, Args: append([]string{name}, args...), Env: env, Dir: dir, File: exe.file})
	if err != nil {
		return nil, err
	}
	return newProcess(c, soleParent), nil
}

// adopt makes an early process the plugin's.
func adopt(e *launch.Early, soleParent bool) (*process, error) {
	if err := subreaper(); err != nil {
		return nil, err
	}
	leaders.Lock()
	defer leaders.Unlock()
	return newProcess(e.Process, soleParent), nil
}

// newProcess enters a process among the leaders, whose lock is held.
func newProcess(c *launch.Process, soleParent bool) *process {
	p := &process{pid: c.Pid, token: c.Mark, soleParent: soleParent, doomed: map[int]bool{},
		lifeline: c.Lifeline, stdout: c.Stdout, stderr: c.Stderr, done: make(chan struct{})}
	leaders.pids[p.pid] = true
	if s, ok := readStat(p.pid); ok {
		p.started = s.started
	}
	// A core dump would hold rows. The limit 1 stops a file and, unlike 0, a pipe.
	_ = unix.Prlimit(p.pid, unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1}, nil)
	c.Run(p.reap)
	return p
}

// reap waits until the process has ended, and ends what is left of its group.
func (p *process) reap() {
	for {
		var info unix.Siginfo
		if err := unix.Waitid(unix.P_PID, p.pid, &info, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			break
		}
	}
	// Not reaped yet, so that the number of the group cannot have been reused.
	_ = unix.Kill(-p.pid, unix.SIGKILL)
	leaders.Lock()
	launch.Reap(p.pid)
	delete(leaders.pids, p.pid)
	leaders.Unlock()
	close(p.done)
}
