package host

import (
	"context"
	"io"
	"net"

	"golang.org/x/sys/unix"

	"github.com/dprelease/dprelease/internal/wire"
)

// memoryLane is memory that the plugin maps, named over a socket lane. The host
// never reads what it wrote there, so nothing that a plugin does to it could matter;
// all the same it can only read: the file is sealed against writing through any
// descriptor or new mapping, against truncation, under which a write of the host
// would be a fault, and against growth, which would be memory that nobody counts.
type memoryLane struct {
	*socketLane
	fd     int
	mem    []byte
	layout wire.MemoryLayout
	w      *wire.MemoryWriter
}

// newMemoryLane returns an error where the system has no sealed memory.
func newMemoryLane(p *Plugin, columns int) (_ *memoryLane, err error) {
	l := &memoryLane{fd: -1, layout: wire.NewMemoryLayout(columns)}
	defer func() {
		if err != nil {
			l.free(l.mem)
		}
	}()
	if l.fd, err = unix.MemfdCreate("dprelease-rows", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING); err != nil {
		return nil, err
	}
	// All of it now: a page that cannot be had later would be a fault.
	if err = unix.Fallocate(l.fd, 0, 0, int64(l.layout.Size())); err != nil {
		return nil, err
	}
	if l.mem, err = unix.Mmap(l.fd, 0, l.layout.Size(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE); err != nil {
		return nil, err
	}
	// Our mapping is older than the seal and stays writable; there will be no other.
	const seals = unix.F_SEAL_FUTURE_WRITE | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	if _, err = unix.FcntlInt(uintptr(l.fd), unix.F_ADD_SEALS, seals); err != nil {
		return nil, err
	}
	l.socketLane, err = newSocketLane(p)
	return l, err
}

func (l *memoryLane) describe(m *wire.ReleaseStart) {
	m.Lane, m.Socket = wire.Lane_LANE_MEMORY, l.path
}

func (l *memoryLane) open(ctx context.Context) (io.WriteCloser, error) {
	out, err := l.socketLane.open(ctx)
	if err != nil {
		return nil, err
	}
	conn, ok := out.(*countedConn)
	if !ok {
		out.Close()
		return nil, errForeign
	}
	socket, ok := conn.Conn.(*net.UnixConn)
	if !ok {
		out.Close()
		return nil, errForeign
	}
	if _, _, err := socket.WriteMsgUnix(l.layout.Bytes(), unix.UnixRights(l.fd), nil); err != nil {
		out.Close()
		return nil, err
	}
	l.w = wire.NewMemoryWriter(memoryConn{conn, socket}, l.mem, l.layout)
	return l.w, nil
}

// memoryConn is a counted connection that can be closed for writing alone.
type memoryConn struct {
	*countedConn
	socket *net.UnixConn
}

// CloseWrite ends what the host has to say.
func (c memoryConn) CloseWrite() error { return c.socket.CloseWrite() }

func (l *memoryLane) close() {
	l.socketLane.close()
	mem := l.mem
	if l.w != nil {
		mem = l.w.Detach() // a write that still hangs ends first
	}
	l.free(mem)
}

// free gives the memory back, once.
func (l *memoryLane) free(mem []byte) {
	l.mem = nil
	if mem != nil {
		_ = unix.Munmap(mem)
	}
	if l.fd >= 0 {
		_ = unix.Close(l.fd)
		l.fd = -1
	}
}
