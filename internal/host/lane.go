package host

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"google.golang.org/grpc"

	"github.com/dprelease/dprelease/internal/wire"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// Values holds some rows of one column: Float64 and Valid (a bitmap, least
// significant bit first; nil: all valid) for a number, Codes (-1 where missing)
// for a category.
type Values = wire.Values

// Batch is some rows of the plan's columns, in its order. Weights is nil where all
// rows weigh the same; either every batch of a release has weights or none.
type Batch = wire.Batch

// RowWriter takes the rows of a release.
type RowWriter interface {
	// Write hands rows over. It keeps no reference to the slices. An error means
	// that the plugin takes no more rows; the feed should return it.
	Write(b Batch) error
}

// RoomWriter is a RowWriter that may say where rows will lie, so that they need not
// be copied there.
type RoomWriter interface {
	RowWriter
	// Room returns where the values of the next so many rows belong: see
	// wire.RowsWriter. They may be put there until feed returns, by anybody.
	Room(rows int) (parts [][]float64, later bool)
}

// lane is one way for rows to reach the plugin.
type lane interface {
	// describe completes the message that starts the release.
	describe(*wire.ReleaseStart)
	// open returns where the row stream is to be written, when the plugin is there.
	open(ctx context.Context) (io.WriteCloser, error)
	// close ends the lane; it may come at any time, and ends a write that hangs.
	close()
}

// socketLane is a unix socket of our own, in the private directory.
type socketLane struct {
	l    *ownListener
	path string
	stop func() bool
}

func newSocketLane(p *Plugin) (*socketLane, error) {
	path := filepath.Join(p.base, "rows-"+strconv.FormatUint(uint64(p.joint.broker.NextId()), 10))
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	return &socketLane{l: newOwnListener(l, p.runner.process(), 1), path: path}, nil
}

func (l *socketLane) describe(m *wire.ReleaseStart) {
	m.Lane, m.Socket = wire.Lane_LANE_SOCKET, l.path
}

func (l *socketLane) open(ctx context.Context) (io.WriteCloser, error) {
	stop := context.AfterFunc(ctx, func() { l.l.Close() })
	conn, err := l.l.Accept()
	stop()
	if err != nil {
		return nil, err
	}
	l.l.Close() // one connection; the name goes with it
	l.stop = context.AfterFunc(ctx, func() { conn.Close() })
	return conn, nil
}

func (l *socketLane) close() {
	l.l.Close()
	if l.stop != nil {
		l.stop()
	}
	_ = os.Remove(l.path)
}

// messageLane cuts the row stream into messages.
type messageLane struct {
	stream grpc.BidiStreamingClient[wire.ReleaseInput, wire.ReleaseOutput]
	buf    []byte
}

func (l *messageLane) describe(m *wire.ReleaseStart)                { m.Lane = wire.Lane_LANE_MESSAGES }
func (l *messageLane) open(context.Context) (io.WriteCloser, error) { return l, nil }
func (l *messageLane) close()                                       {}

func (l *messageLane) Write(p []byte) (int, error) {
	for at := 0; at < len(p); {
		n := min(len(p)-at, wire.ChunkSize-len(l.buf))
		l.buf = append(l.buf, p[at:at+n]...)
		at += n
		if len(l.buf) == wire.ChunkSize {
			if err := l.send(false); err != nil {
				return at, err
			}
		}
	}
	return len(p), nil
}

// Close sends the last chunk.
func (l *messageLane) Close() error { return l.send(true) }

func (l *messageLane) send(last bool) error {
	// The message is marshalled before Send returns, so the buffer can be used again.
	err := l.stream.Send(&wire.ReleaseInput{Part: &wire.ReleaseInput_Rows{Rows: &wire.RowsChunk{Data: l.buf, Last: last}}})
	l.buf = l.buf[:0]
	return err
}

// columnSpecs is how the plan's columns look on the row stream.
func columnSpecs(req sdk.ReleaseRequest) ([]wire.ColumnSpec, error) {
	var out []wire.ColumnSpec
	for _, name := range req.Plan.Columns {
		c, ok := req.Public.Column(name)
		if !ok || (c.Type == sdk.Category && len(c.Domain) == 0) {
			return nil, errors.New("host: a column of the plan is not declared, or is a category without a domain")
		}
		s := wire.ColumnSpec{Name: name}
		if c.Type == sdk.Category {
			s.Categories = len(c.Domain)
		}
		out = append(out, s)
	}
	return out, nil
}

// rowWriter counts rows on their way.
type rowWriter struct {
	w    *wire.RowsWriter
	rows int64
	err  error
}

// Room is part of RoomWriter.
func (w *rowWriter) Room(rows int) ([][]float64, bool) {
	if w.err != nil {
		return nil, false
	}
	return w.w.Room(rows)
}

func (w *rowWriter) Write(b Batch) error {
	if w.err == nil {
		w.err = w.w.Write(b)
		w.rows += int64(b.Rows)
	}
	return w.err
}
