package host

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

var errForeign = errors.New("socket is not the plugin's own")

// dialOwn connects to a unix socket that the plugin made directly inside dir. The
// socket is opened as it is, not through a link, and the very thing that was opened
// is connected to; and whoever listens on it must be a process of the plugin.
func dialOwn(ctx context.Context, p *process, dir, path string) (net.Conn, error) {
	if filepath.Clean(path) != path || filepath.Dir(path) != dir {
		return nil, errForeign
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "socket")
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, errForeign
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", "/proc/self/fd/"+strconv.Itoa(fd))
	if err != nil {
		return nil, err
	}
	if err := ownPeer(p, conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// ownPeer returns an error unless the other end is a process of the plugin.
func ownPeer(p *process, conn net.Conn) error {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return errForeign
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Ucred
	var cerr error
	if err := raw.Control(func(fd uintptr) {
		cred, cerr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return err
	}
	if cerr != nil || int(cred.Uid) != os.Getuid() || !p.contains(int(cred.Pid)) {
		return errForeign
	}
	return nil
}

// ownListener lets only processes of the plugin in, and only some at a time.
type ownListener struct {
	net.Listener
	p    *process
	left atomic.Int32
}

func newOwnListener(l net.Listener, p *process, atOnce int32) *ownListener {
	o := &ownListener{Listener: l, p: p}
	o.left.Store(atOnce)
	return o
}

func (l *ownListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if ownPeer(l.p, conn) == nil {
			if l.left.Add(-1) >= 0 {
				return &countedConn{Conn: conn, left: &l.left}, nil
			}
			l.left.Add(1)
		}
		conn.Close()
	}
}

// countedConn gives its place back when it is closed.
type countedConn struct {
	net.Conn
	once sync.Once
	left *atomic.Int32
}

func (c *countedConn) Close() error {
	c.once.Do(func() { c.left.Add(1) })
	return c.Conn.Close()
}
