package launch

import (
	"os"
	"slices"
	"sync"
	"syscall"
)

// Early is a process that was started before it was needed.
type Early struct {
	*Process
	Base string   // its private directory, where it makes its sockets
	Lock *os.File // of that

	args, env []string
}

var early struct {
	sync.Mutex
	begun chan struct{} // nil: none was asked for; closed when it runs, or could not be had
	e     *Early        // nil: there is none, or it was taken
}

// Begin starts this program again with these arguments, as a plugin, unless one waits
// already, and does not wait until it runs. Where the system does not let it, there is
// none.
func Begin(args ...string) {
	early.Lock()
	defer early.Unlock()
	if waiting() != nil {
		return
	}
	begun := make(chan struct{})
	early.begun = begun
	go func() {
		defer close(begun)
		early.e = begin(args)
	}()
}

func begin(args []string) *Early {
	base, lock, err := PrivateDir()
	if err != nil {
		return nil
	}
	e := &Early{Base: base, Lock: lock, args: args, env: Environment(base, handshake(base))}
	e.Process, err = Spawn(Command{Path: Self, Args: append([]string{os.Args[0]}, args...), Env: e.env, Dir: base})
	if err != nil {
		e.remove()
		return nil
	}
	return e
}

func (e *Early) remove() {
	_ = os.RemoveAll(e.Base)
	e.Lock.Close()
}

// Waiting is the process that nobody has taken yet, 0 where there is none.
func Waiting() int {
	early.Lock()
	defer early.Unlock()
	if e := waiting(); e != nil {
		return e.Pid
	}
	return 0
}

func waiting() *Early {
	if early.begun == nil {
		return nil
	}
	<-early.begun
	return early.e
}

// Take takes the early process where it was started with these arguments; nil where
// there is none, or no longer.
func Take(args []string) *Early {
	early.Lock()
	defer early.Unlock()
	e := waiting()
	if e == nil || !slices.Equal(e.args, args) {
		return nil
	}
	early.e = nil
	return e
}

// Fits says that the process can stand for one with that environment: they differ in
// nothing but their folders.
func (e *Early) Fits(env []string) bool { return fits(e.env, env) }

// Drop ends the early process if nobody has taken it.
func Drop() {
	early.Lock()
	e := waiting()
	early.e = nil
	early.Unlock()
	if e != nil {
		e.End()
		e.remove()
	}
}

// End ends a process that was taken and is not used after all. Its directory stays.
func (e *Early) End() {
	_ = syscall.Kill(e.Pid, syscall.SIGKILL)
	e.Close()
	ended := make(chan struct{})
	e.Run(func() {
		defer close(ended)
		Reap(e.Pid)
	})
	<-ended
}

// Reap waits for a child and reaps it.
func Reap(pid int) {
	for {
		if _, err := syscall.Wait4(pid, nil, 0, nil); err != syscall.EINTR {
			return
		}
	}
}
