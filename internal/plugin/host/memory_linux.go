package host

import (
	"context"

	"golang.org/x/sys/unix"

	"github.com/dprelease/dprelease/internal/plugin/sandbox"
	"github.com/dprelease/dprelease/internal/plugin/wire"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// columnsLane hands rows over as plain columns in memory that the plugin maps, and says
// over a socket which part of it is filled.
//
// The plugin may see a slot before it is handed over: what is written there is what it
// will be given, never a value from before it was clipped. The host never reads the
// memory, so nothing that a plugin does to it could matter. All the same the plugin can
// only read: the file is sealed against new writers, against truncation, after which a
// write of the host would be a fault, and against growth, which would be memory that
// nobody counts.
type columnsLane struct {
	*socketLane
	layout wire.Layout
	fd     int
	mem    []byte
	w      *wire.ColumnsWriter
}

func newColumnsLane(p *Plugin, layout wire.Layout) (_ lane, err error) {
	l := &columnsLane{layout: layout, fd: -1}
	defer func() {
		if err != nil {
			l.free()
		}
	}()
	if l.fd, err = unix.MemfdCreate("dprelease-rows", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING); err != nil {
		return nil, err
	}
	// All of it now: a page that cannot be had later would be a fault.
	if err = unix.Fallocate(l.fd, 0, 0, int64(layout.Size())); err != nil {
		return nil, err
	}
	if l.mem, err = unix.Mmap(l.fd, 0, layout.Size(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE); err != nil {
		return nil, err
	}
	// This mapping is older than the seal and stays writable; there will be no other.
	const seals = unix.F_SEAL_FUTURE_WRITE | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	_, err = unix.FcntlInt(uintptr(l.fd), unix.F_ADD_SEALS, seals)
	if err == unix.EINVAL { // a kernel before 5.1: the plugin could write what nobody reads
		_, err = unix.FcntlInt(uintptr(l.fd), unix.F_ADD_SEALS, seals&^unix.F_SEAL_FUTURE_WRITE)
	}
	if err != nil {
		return nil, err
	}
	l.socketLane, err = newSocketLane(p)
	return l, err
}

// free gives the memory back.
func (l *columnsLane) free() {
	if l.mem != nil {
		_ = unix.Munmap(l.mem)
	}
	if l.fd >= 0 {
		_ = unix.Close(l.fd)
	}
	l.mem, l.fd = nil, -1
}

func (l *columnsLane) describe(m *wire.ReleaseRequest) {
	m.Lane, m.Socket = wire.Lane_LANE_COLUMNS, l.path()
}

func (l *columnsLane) open(ctx context.Context, _ []sdk.Column) (rowSink, error) {
	conn, err := l.accept(ctx)
	if err != nil {
		return nil, err
	}
	if _, _, err := conn.(*sandbox.Conn).WriteMsgUnix(l.layout.Announcement(), unix.UnixRights(l.fd), nil); err != nil {
		conn.Close()
		return nil, err
	}
	l.w = wire.NewColumnsWriter(conn, l.mem, l.layout)
	return l.w, nil
}

func (l *columnsLane) close() {
	l.socketLane.close()
	if l.w != nil {
		l.w.Detach() // a write that still hangs ends first
	}
	l.free()
}
