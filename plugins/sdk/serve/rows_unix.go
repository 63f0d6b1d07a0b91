//go:build unix

package serve

import (
	"errors"
	"io"
	"net"

	"golang.org/x/sys/unix"

	"github.com/dprelease/dprelease/internal/plugin/wire"
	"github.com/dprelease/dprelease/internal/plugin/wire/guest"
	"github.com/dprelease/dprelease/plugins/sdk"
)

var errMemory = errors.New("the host's memory cannot be mapped")

// openRows connects to the host's socket and maps the memory in which the rows will
// lie. Closed must be called when they are no longer looked at.
func openRows(path string, columns []sdk.Column) (rows *guest.Reader, closed func(), err error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, nil, err
	}
	mem, layout, err := receiveMemory(conn, columns)
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	closed = func() {
		conn.Close()
		_ = unix.Munmap(mem)
	}
	if rows, err = guest.NewReader(conn, mem, layout); err != nil {
		closed()
	}
	return rows, closed, err
}

// receiveMemory maps the file whose descriptor comes with the announcement.
func receiveMemory(conn *net.UnixConn, columns []sdk.Column) ([]byte, wire.Layout, error) {
	var none wire.Layout
	head, rights := make([]byte, wire.AnnouncementBytes), make([]byte, unix.CmsgSpace(4))
	n, more, _, _, err := conn.ReadMsgUnix(head, rights)
	if err != nil {
		return nil, none, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:more])
	if err != nil || len(messages) != 1 {
		return nil, none, errMemory
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, none, errMemory
	}
	defer unix.Close(fds[0])
	if _, err := io.ReadFull(conn, head[n:]); err != nil {
		return nil, none, err
	}
	layout, err := guest.ParseAnnouncement(head, columns)
	if err != nil {
		return nil, none, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fds[0], &st); err != nil || st.Size != int64(layout.Size()) {
		return nil, none, errMemory
	}
	mem, err := unix.Mmap(fds[0], 0, layout.Size(), unix.PROT_READ, unix.MAP_SHARED)
	return mem, layout, err
}
