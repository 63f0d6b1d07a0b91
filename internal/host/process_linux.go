package host

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// tokenKey names the environment variable that marks a plugin's processes.
const tokenKey = "DPRELEASE_PLUGIN_ID"

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
	var mark [16]byte
	if _, err := rand.Read(mark[:]); err != nil {
		return nil, err
	}
	p := &process{token: hex.EncodeToString(mark[:]), soleParent: soleParent, doomed: map[int]bool{}, done: make(chan struct{})}
	var ends [3]*os.File
	fail := func(err error) (*process, error) {
		for _, f := range append(ends[:], p.lifeline, p.stdout, p.stderr) {
			if f != nil {
				f.Close()
			}
		}
		return nil, err
	}
	var err error
	if ends[0], p.lifeline, err = os.Pipe(); err != nil {
		return fail(err)
	}
	if p.stdout, ends[1], err = os.Pipe(); err != nil {
		return fail(err)
	}
	if p.stderr, ends[2], err = os.Pipe(); err != nil {
		return fail(err)
	}
	cmd := &exec.Cmd{
		Path: exe.path, Args: append([]string{name}, args...), Env: append(env, tokenKey+"="+p.token), Dir: dir,
		Stdin: ends[0], Stdout: ends[1], Stderr: ends[2],
		// A session of its own, so that a terminal's signals do not reach it and its
		// descendants can be told; killed with us.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	}
	if exe.file != nil {
		cmd.ExtraFiles = []*os.File{exe.file}
	}
	started := make(chan error, 1)
	go p.run(cmd, started)
	if err := <-started; err != nil {
		return fail(err)
	}
	for _, f := range ends {
		f.Close()
	}
	return p, nil
}

// run starts the process and stays on its thread until the process has ended: the
// parent-death signal goes off when the thread that forked ends, not only when the
// whole host does.
func (p *process) run(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	leaders.Lock()
	closeOnExec()
	err := cmd.Start()
	if err != nil {
		leaders.Unlock()
		started <- err
		return
	}
	p.pid = cmd.Process.Pid
	leaders.pids[p.pid] = true
	if s, ok := readStat(p.pid); ok {
		p.started = s.started
	}
	leaders.Unlock()
	// A core dump would hold rows. The limit 1 stops a file and, unlike 0, a pipe.
	_ = unix.Prlimit(p.pid, unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1}, nil)
	started <- nil
	for {
		var info unix.Siginfo
		if err := unix.Waitid(unix.P_PID, p.pid, &info, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			break
		}
	}
	// Not reaped yet, so that the number of the group cannot have been reused.
	_ = unix.Kill(-p.pid, unix.SIGKILL)
	leaders.Lock()
	_ = cmd.Wait()
	delete(leaders.pids, p.pid)
	leaders.Unlock()
	close(p.done)
}

// closeOnExec keeps every descriptor of this process to itself. Go opens files that
// way, but what the process itself inherited may not be so. The standard streams
// and the executable are passed on by duplicates.
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
