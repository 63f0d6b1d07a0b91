package host

import (
	"context"
	"errors"
	"io"
	"net"
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

// socketLane is a unix socket of the host's own, in the private directory. Releases use it one after another.
type socketLane struct {
	p    *Plugin
	l    *sandbox.Listener
	conn net.Conn // nil until the plugin has connected
	stop func() bool
}

func newSocketLane(p *Plugin) (*socketLane, error) {
	p.ask.Lock()
	defer p.ask.Unlock()
	if n := len(p.lanes); n > 0 {
		l := p.lanes[n-1]
		p.lanes = p.lanes[:n-1]
		return &socketLane{p: p, l: l}, nil
	}
	l, err := net.Listen("unix", filepath.Join(p.dir.Path, "rows-"+strconv.FormatUint(uint64(p.joint.broker.NextId()), 10)))
	if err != nil {
		return nil, err
	}
	return &socketLane{p: p, l: p.runner.process().Guard(l, 1)}, nil
}

// path is the name of the socket.
func (l *socketLane) path() string { return l.l.Addr().String() }

func (l *socketLane) describe(m *wire.ReleaseRequest) {
	m.Lane, m.Socket = wire.Lane_LANE_SOCKET, l.path()
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
	stop := context.AfterFunc(ctx, func() { l.l.Close() }) // the name goes with it
	conn, err := l.l.Accept()
	if !stop() && err == nil {
		conn.Close()
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	l.conn, l.stop = conn, context.AfterFunc(ctx, func() { conn.Close() })
	return conn, nil
}

// close ends the lane. Its socket serves the next release of the same plugin if the plugin has connected to it.
func (l *socketLane) close() {
	if l.conn == nil {
		l.l.Close()
		return
	}
	l.stop()
	l.conn.Close()
	l.p.ask.Lock()
	defer l.p.ask.Unlock()
	l.p.lanes = append(l.p.lanes, l.l)
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
