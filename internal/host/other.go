//go:build !linux

package host

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"github.com/dprelease/dprelease/internal/wire"
)

// The promises of this package rest on Linux: sealed memory files, parent-death
// signals, subreapers and /proc. Elsewhere a plugin does not start.
var errPlatform = errors.New("plugins run on Linux only")

type executable struct{}

func (*executable) close()    {}
func (*executable) own() bool { return false }

func openExecutable(string, string) (*executable, string) { return nil, CodeStart }

type process struct {
	pid                      int
	lifeline, stdout, stderr *os.File
	done                     chan struct{}
}

func startProcess(*executable, string, []string, []string, string, bool) (*process, error) {
	return nil, errPlatform
}

func (*process) kill(time.Duration) bool { return true }
func (*process) close()                  {}

func privateDir() (string, *os.File, error) { return "", nil, errPlatform }

func sweepOnce() {}

func dialOwn(context.Context, *process, string, string) (net.Conn, error) { return nil, errPlatform }

func newColumnsLane(*Plugin, wire.Layout) (lane, error) { return nil, errPlatform }

type ownListener struct{ net.Listener }

func newOwnListener(l net.Listener, _ *process, _ int32) *ownListener { return &ownListener{l} }
