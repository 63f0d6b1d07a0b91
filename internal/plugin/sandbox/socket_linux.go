package sandbox

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

var errForeign = errors.New("socket is not the tree's own")

// Dial connects to a unix socket that the tree made directly inside dir. It opens the
// socket as it is, not through a link, and connects to the very thing that it opened.
// Whoever listens there must be a process of the tree.
func (p *Process) Dial(ctx context.Context, dir, path string) (net.Conn, error) {
	if filepath.Clean(path) != path || filepath.Dir(path) != dir {
		return nil, errForeign
	}
	const flags = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
	open := func() (int, error) { return unix.Open(path, flags, 0) }
	if p.folder != nil && dir == p.own {
		open = func() (int, error) { return p.openOwn(filepath.Base(path), flags) }
	}
	fd, err := open()
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
	if err := p.peer(conn.(*net.UnixConn)); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// openOwn opens what is in the tree's own folder. Close, which may be called meanwhile, waits for it: else the folder's number
// might be that of another file.
func (p *Process) openOwn(name string, flags int) (fd int, err error) {
	raw, err := p.folder.SyscallConn()
	if err != nil {
		return 0, err
	}
	closed := raw.Control(func(folder uintptr) { fd, err = unix.Openat(int(folder), name, flags, 0) })
	return fd, errors.Join(closed, err)
}

// peer returns an error unless the other end is a process of the tree.
func (p *Process) peer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
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

// Listener lets only processes of one tree in, and only some at a time.
type Listener struct {
	net.Listener
	p    *Process
	left atomic.Int32
}

// Guard returns a listener that accepts at most so many connections at once from l, which
// listens on a unix socket, and only such as come from a process of the tree.
func (p *Process) Guard(l net.Listener, atOnce int32) *Listener {
	o := &Listener{Listener: l, p: p}
	o.left.Store(atOnce)
	return o
}

// Accept waits for the next connection, which is a [Conn].
func (l *Listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if u, ok := conn.(*net.UnixConn); ok && l.p.peer(u) == nil {
			if l.left.Add(-1) >= 0 {
				return &Conn{UnixConn: u, left: &l.left}, nil
			}
			l.left.Add(1)
		}
		conn.Close()
	}
}

// Conn is a connection that gives its place back when it is closed.
type Conn struct {
	*net.UnixConn
	once sync.Once
	left *atomic.Int32
}

// Close closes the connection.
func (c *Conn) Close() error {
	c.once.Do(func() { c.left.Add(1) })
	return c.UnixConn.Close()
}
