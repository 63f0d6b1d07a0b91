package host

import (
	"context"
	"errors"
	"io"
	"net"

	"golang.org/x/sys/unix"

	"github.com/dprelease/dprelease/internal/wire"
)

// laneMemory is memory that a plugin is to map. It may see a slot before it is handed
// over: what is written there is what it will be given, never a value from before it
// was clipped. The host never reads what it wrote there, so nothing that a plugin
// does to it could matter; all the same it can only read: the file is sealed against
// writing through any descriptor or new mapping, against truncation, under which a
// write of the host would be a fault, and against growth, which would be memory that
// nobody counts.
type laneMemory struct {
	fd     int
	mem    []byte
	layout wire.MemoryLayout
}

// newLaneMemory returns an error where the system has no sealed memory.
func newLaneMemory(layout wire.MemoryLayout) (_ *laneMemory, err error) {
	m := &laneMemory{fd: -1, layout: layout}
	defer func() {
		if err != nil {
			m.free(m.mem)
		}
	}()
	if m.fd, err = unix.MemfdCreate("dprelease-rows", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING); err != nil {
		return nil, err
	}
	// All of it now: a page that cannot be had later would be a fault.
	if err = unix.Fallocate(m.fd, 0, 0, int64(layout.Size())); err != nil {
		return nil, err
	}
	if m.mem, err = unix.Mmap(m.fd, 0, layout.Size(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE); err != nil {
		return nil, err
	}
	// Our mapping is older than the seal and stays writable; there will be no other.
	const seals = unix.F_SEAL_FUTURE_WRITE | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	if _, err = unix.FcntlInt(uintptr(m.fd), unix.F_ADD_SEALS, seals); err != nil {
		return nil, err
	}
	return m, nil
}

// free gives the memory back, once. What is mapped is named, because a writer may
// have handed it back already.
func (m *laneMemory) free(mem []byte) {
	m.mem = nil
	if mem != nil {
		_ = unix.Munmap(mem)
	}
	if m.fd >= 0 {
		_ = unix.Close(m.fd)
		m.fd = -1
	}
}

// memoryLane is such memory, named over a socket lane.
type memoryLane struct {
	*socketLane
	*laneMemory
	w *wire.MemoryWriter
}

// newMemoryLane takes the memory over, also where it fails.
func newMemoryLane(p *Plugin, m *laneMemory) (lane, error) {
	s, err := newSocketLane(p)
	if err != nil {
		m.free(m.mem)
		return nil, err
	}
	return &memoryLane{socketLane: s, laneMemory: m}, nil
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

// Poll reads what is there, and does not wait.
func (c memoryConn) Poll(b []byte) (n int, err error) {
	raw, err := c.socket.SyscallConn()
	if err != nil {
		return 0, err
	}
	e := raw.Read(func(fd uintptr) bool {
		n, err = unix.Read(int(fd), b)
		return true
	})
	if err == unix.EAGAIN || err == unix.EINTR {
		err = nil
	}
	return max(n, 0), errors.Join(e, err)
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
