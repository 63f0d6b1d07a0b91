package launch

import (
	"io"
	"os"
	"runtime"
	"syscall"
)

// Self is the running binary, even where another has taken its place on disk.
const Self = "/proc/self/exe"

// Command is what is to be started.
type Command struct {
	Path string // of the executable
	Args []string
	Env  []string // all of it, but for the mark
	Dir  string   // where it works
	File *os.File // what it finds as its descriptor 3; nil: nothing
}

// Process is a process that runs. Whoever has it calls Run, once.
type Process struct {
	Pid      int
	Mark     string   // the value of MarkKey in its environment
	Lifeline *os.File // the other end of its standard input
	Stdout   *os.File
	Stderr   *os.File

	next chan func()
}

// Spawn starts a process with nothing inherited but what the command names: in a
// session of its own, so that a terminal's signals do not reach it and its descendants
// can be told, and killed with this process.
func Spawn(c Command) (*Process, error) {
	p, err := &Process{next: make(chan func())}, error(nil)
	started := make(chan struct{})
	go func() {
		// The parent-death signal goes off when the thread that forked ends, not only
		// when the whole process does: the thread stays until the child has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err = p.spawn(c)
		close(started)
		if err == nil {
			(<-p.next)()
		}
	}()
	if <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// Run runs f, which returns when the process has ended and was reaped, on the thread
// that started it, and does not wait for it.
func (p *Process) Run(f func()) { p.next <- f }

// Close closes this process's ends of the three streams.
func (p *Process) Close() {
	p.Lifeline.Close()
	p.Stdout.Close()
	p.Stderr.Close()
}

func (p *Process) spawn(c Command) (err error) {
	if p.Mark, err = newMark(); err != nil {
		return err
	}
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
		if err != nil {
			for _, f := range []*os.File{p.Lifeline, p.Stdout, p.Stderr} {
				f.Close() // a nil file refuses
			}
		}
	}()
	for i, ours := range []**os.File{&p.Lifeline, &p.Stdout, &p.Stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		if i == 0 {
			r, w = w, r
		}
		*ours, theirs = r, append(theirs, w)
	}
	files := []uintptr{theirs[0].Fd(), theirs[1].Fd(), theirs[2].Fd()}
	if c.File != nil {
		files = append(files, c.File.Fd())
	}
	closeOnExec()
	p.Pid, err = syscall.ForkExec(c.Path, c.Args, &syscall.ProcAttr{
		Dir: c.Dir, Env: append(c.Env[:len(c.Env):len(c.Env)], MarkKey+"="+p.Mark), Files: files,
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	runtime.KeepAlive(c.File)
	return err
}

// newMark is a text that no other process has.
func newMark() (string, error) {
	f, err := os.Open("/dev/urandom")
	if err != nil {
		return "", err
	}
	defer f.Close()
	var b [16]byte
	if _, err := io.ReadFull(f, b[:]); err != nil {
		return "", err
	}
	const digits = "0123456789abcdef"
	mark := make([]byte, 0, 2*len(b))
	for _, x := range b {
		mark = append(mark, digits[x>>4], digits[x&15])
	}
	return string(mark), nil
}

// close_range has the same number on every architecture.
const sysCloseRange, closeRangeCloexec = 436, 4

// closeOnExec keeps every descriptor of this process to itself. Go opens files that
// way, but what the process itself inherited may not be so. The standard streams
// and the executable are passed on by duplicates.
func closeOnExec() {
	if _, _, e := syscall.RawSyscall(sysCloseRange, 3, 1<<31-1, closeRangeCloexec); e == 0 {
		return
	}
	names, _ := os.ReadDir("/proc/self/fd") // a kernel before 5.11
	for _, n := range names {
		if fd := number(n.Name()); fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

// number is what digits stand for, 0 for anything else.
func number(s string) int {
	n := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' || n > 1<<30 {
			return 0
		}
		n = 10*n + int(c-'0')
	}
	return n
}
