package host

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/dprelease/dprelease/internal/plugin/sandbox"
	"github.com/dprelease/dprelease/internal/plugin/wire"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// RowWriter takes the rows of a release. Either every batch has weights or none.
type RowWriter interface {
	// Write hands rows over. It keeps no reference to the slices. An error means that
	// the plugin takes no more rows; the feed should return it.
	Write(b sdk.Batch) error
}

// rowSink takes rows. Close says that there are no more.
type rowSink interface {
	RowWriter
	io.Closer
}

// lane is one way for rows to reach the plugin.
type lane interface {
	// describe completes the message that starts the release.
	describe(*wire.ReleaseRequest)
	// open waits for the plugin and returns where its rows go.
	open(ctx context.Context, columns []sdk.Column) (rowSink, error)
	// close ends the lane. It may come at any time, and ends a write that hangs.
	close()
}

// socketLane is a unix socket of the host's own, in the private directory.
type socketLane struct {
	l    *sandbox.Listener
	path string
	stop func() bool
}

func newSocketLane(p *Plugin) (*socketLane, error) {
	path := filepath.Join(p.dir.Path, "rows-"+strconv.FormatUint(uint64(p.joint.broker.NextId()), 10))
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	return &socketLane{l: p.runner.process().Guard(l, 1), path: path}, nil
}

func (l *socketLane) describe(m *wire.ReleaseRequest) {
	m.Lane, m.Socket = wire.Lane_LANE_SOCKET, l.path
}

func (l *socketLane) open(ctx context.Context, columns []sdk.Column) (rowSink, error) {
	conn, err := l.accept(ctx)
	if err != nil {
		return nil, err
	}
	return &arrowWriter{out: conn, columns: columns}, nil
}

// accept waits for the plugin's one connection.
func (l *socketLane) accept(ctx context.Context) (net.Conn, error) {
	stop := context.AfterFunc(ctx, func() { l.l.Close() })
	conn, err := l.l.Accept()
	stop()
	if err != nil {
		return nil, err
	}
	l.l.Close() // the name goes with it
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

var errWeights = errors.New("some batches have weights and others have none")

// feeder checks rows on their way and counts them.
type feeder struct {
	columns  []sdk.Column
	sink     rowSink
	rows     int64
	weighted bool
	err      error // the first
	bad      bool  // err is the caller's: a batch that is not well formed
}

// Write hands a batch over.
func (f *feeder) Write(b sdk.Batch) error {
	if f.err == nil {
		f.err = b.Check(f.columns)
		if f.err == nil && f.rows > 0 && b.Rows > 0 && f.weighted != (b.Weights != nil) {
			f.err = errWeights
		}
		f.bad = f.err != nil
	}
	if f.err == nil && b.Rows > 0 {
		f.weighted = b.Weights != nil
		f.rows += int64(b.Rows)
		f.err = f.sink.Write(b)
	}
	return f.err
}
