//go:build !linux

package sandbox

import (
	"context"
	"net"
	"os"
	"time"
)

// Executable cannot be opened here.
type Executable struct{}

// Open fails.
func Open(string, string) (*Executable, error) { return nil, ErrPlatform }

// Own is false.
func (*Executable) Own() bool { return false }

// Close does nothing.
func (*Executable) Close() {}

// Process cannot be started here.
type Process struct{ Stdout, Stderr *os.File }

// Start fails.
func Start(context.Context, *Executable, Command) (*Process, error) { return nil, ErrPlatform }

// Pid is 0.
func (*Process) Pid() int { return 0 }

// Done is never closed.
func (*Process) Done() <-chan struct{} { return nil }

// Kill has nothing to do.
func (*Process) Kill(time.Duration) bool { return true }

// Close does nothing.
func (*Process) Close() {}

// EndInput does nothing.
func (*Process) EndInput() {}

// Level is none.
func (*Process) Level() Level { return Level{} }

// Dial fails.
func (*Process) Dial(context.Context, string, string) (net.Conn, error) { return nil, ErrPlatform }

// Listener accepts what its own listener does.
type Listener struct{ net.Listener }

// Guard returns l.
func (*Process) Guard(l net.Listener, _ int32) *Listener { return &Listener{l} }

// Dir cannot be made here.
type Dir struct{ Path, Own string }

// NewDir fails.
func NewDir() (*Dir, error) { return nil, ErrPlatform }

// FilesKey names no variable here.
const FilesKey = ""

// Keep fails.
func (*Dir) Keep(string, map[string]string) (string, error) { return "", ErrPlatform }

// Close does nothing.
func (*Dir) Close() {}
