package sdk

import (
	"errors"
	"io"
	"net"

	"golang.org/x/sys/unix"

	"github.com/dprelease/dprelease/internal/wire"
)

// lanes are the ways for rows that this end supports besides messages.
var lanes = []wire.Lane{wire.Lane_LANE_SOCKET, wire.Lane_LANE_MEMORY}

var errMemory = errors.New("the host's memory cannot be mapped")

// openMemory maps the memory that the host names over a socket.
func openMemory(path string) (io.Reader, func() error, error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, nil, err
	}
	mem, layout, err := receiveMemory(conn)
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	r, err := wire.NewMemoryReader(conn, mem, layout)
	if err != nil {
		conn.Close()
		return nil, nil, errors.Join(err, unix.Munmap(mem))
	}
	return r, func() error { return errors.Join(conn.Close(), unix.Munmap(mem)) }, nil
}

// receiveMemory maps the file whose descriptor comes with the layout.
func receiveMemory(conn *net.UnixConn) ([]byte, wire.MemoryLayout, error) {
	var none wire.MemoryLayout
	head, rights := make([]byte, wire.MemoryLayoutBytes), make([]byte, unix.CmsgSpace(4))
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
	layout, err := wire.ParseMemoryLayout(head)
	if err != nil {
		return nil, none, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fds[0], &st); err != nil || st.Size != int64(layout.Size()) {
		return nil, none, errMemory
	}
	mem, err := unix.Mmap(fds[0], 0, layout.Size(), unix.PROT_READ, unix.MAP_SHARED|unix.MAP_POPULATE)
	return mem, layout, err
}
