package host

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/dprelease/dprelease/internal/guard"
	"github.com/dprelease/dprelease/internal/plugin/calls"
	"github.com/dprelease/dprelease/internal/plugin/sandbox"
	"github.com/dprelease/dprelease/internal/plugin/wire"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// Release carries out a plan: it feeds the rows, draws the noise that the plan
// names, and returns the result. Without an error, what the host drew is the plan's event,
// leaf by leaf (calls.Walk). An error of feed's own comes back as it is; every other failure is an
// Error with nothing but a code (P20), after which the plugin is dead.
//
// Feed is called once, in the caller's goroutine. It must return when its context
// is done or when Write fails.
//
// Where the plan has a finish, the plugin only turns rows into vectors; the host draws the noise
// after the plugin has answered, and computes the result. Where it has queries, the plugin takes no part.
//
// The event of a self-noising plugin is what it claims: it makes no calls.
func (p *Plugin) Release(ctx context.Context, req sdk.ReleaseRequest,
	feed func(ctx context.Context, w RowWriter) error, drawer Drawer) (sdk.Result, error) {
	if req.Plan.Finish != nil {
		return p.declared(ctx, req, feed, drawer)
	}
	return p.release(ctx, req, feed, drawer)
}

func (p *Plugin) release(ctx context.Context, req sdk.ReleaseRequest,
	feed func(ctx context.Context, w RowWriter) error, drawer Drawer) (sdk.Result, error) {
	p.call.Lock()
	defer p.call.Unlock()
	desc, err := p.describe(ctx)
	if err != nil {
		return sdk.Result{}, err
	}
	r, err := p.newRelease(req, desc, drawer)
	if err != nil {
		return sdk.Result{}, err
	}
	var result sdk.Result
	err = p.invoke(ctx, p.limits.Release, func(ctx context.Context) error {
		var err error
		result, err = r.run(ctx, feed)
		return err
	})
	made := r.noise.finish()
	switch {
	case err != nil:
		return sdk.Result{}, err
	case !made:
		p.abandon()
		return sdk.Result{}, p.fault(CodeNoiseMismatch)
	}
	return result, nil
}

// release is one release on its way.
type release struct {
	p       *Plugin
	req     sdk.ReleaseRequest
	start   *wire.ReleaseRequest
	columns []sdk.Column // those of the plan
	noise   *noiseServer
	dropped bool // the result is not looked at: the plugin only makes vectors
	rounded bool // the result is rounded to the lattice of the plan

	once sync.Once
	code string             // the first failure that was noticed on the host's side
	stop context.CancelFunc // ends everything
}

func (p *Plugin) newRelease(req sdk.ReleaseRequest, desc sdk.Description, drawer Drawer) (*release, error) {
	if err := req.Plan.Check(req.PlanRequest); err != nil {
		return nil, err
	}
	if err := p.uncapped(desc, req.Public); err != nil {
		return nil, err
	}
	r := &release{p: p, req: req, rounded: p.cmd.Lattice}
	_, r.dropped = drawer.(*sums)
	var err error
	if r.start, err = wire.FromReleaseRequest(desc.Name, req); err != nil {
		return nil, err
	}
	if r.columns, err = req.Plan.Declared(req.Public); err != nil {
		return nil, err
	}
	r.noise = &noiseServer{drawer: drawer, fail: r.fail}
	for _, f := range req.Plan.Output {
		r.noise.lattice = append(r.noise.lattice, f.Granularity)
	}
	if !desc.SelfNoising {
		if r.noise.calls, err = calls.New(req.Plan.Event); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// fail notes the first failure and ends the release.
func (r *release) fail(code string) {
	r.once.Do(func() {
		r.code = code
		r.stop()
	})
}

func (r *release) run(outer context.Context, feed func(context.Context, RowWriter) error) (sdk.Result, error) {
	ctx, cancel := context.WithCancel(outer)
	defer cancel()
	r.stop = cancel
	result, err := r.exchange(ctx, feed)
	// A deadline or a cancellation shows as such; a failure that the host noticed
	// is the cause of whatever came back.
	settled := true
	r.once.Do(func() { settled = false })
	if settled && outer.Err() == nil {
		return sdk.Result{}, r.p.fault(r.code)
	}
	return result, err
}

func (r *release) exchange(ctx context.Context, feed func(context.Context, RowWriter) error) (sdk.Result, error) {
	id, stopNoise, err := r.serveNoise(ctx)
	if err != nil {
		return sdk.Result{}, err
	}
	defer stopNoise()
	r.start.Noise = id
	l, err := r.openLane()
	if err != nil {
		return sdk.Result{}, err
	}
	defer l.close()
	l.describe(r.start)
	if proto.Size(r.start) > wire.MaxMessage {
		return sdk.Result{}, r.p.fault(CodeOversize)
	}
	stream, err := r.p.joint.mechanism.Release(ctx, r.start)
	if err != nil {
		return sdk.Result{}, err
	}

	// The result, or the news that there will be none, may come at any time.
	fed := make(chan struct{})
	type answer struct {
		result sdk.Result
		err    error
	}
	got := make(chan answer, 1)
	laneCtx, closeLane := context.WithCancel(ctx)
	defer closeLane()
	go func() {
		var a answer
		a.err = guard.Do(func() (err error) { a.result, err = r.receive(stream, fed); return err })
		if a.err != nil {
			closeLane()
		}
		got <- a
	}()
	feedErr := r.feed(laneCtx, l, feed)
	close(fed)
	var own *callerError
	if errors.As(feedErr, &own) {
		r.noise.finish() // the plugin may take the end of the lane for the end of the rows
		r.stop()
		<-got
		return sdk.Result{}, feedErr
	}
	if feedErr != nil {
		// The plugin stopped reading: its status says more than the broken pipe. If it
		// sent a result all the same, it did so without reading every row.
		closeLane()
		a := <-got
		if a.err == nil {
			a.err = r.p.fault(CodeProtocol)
		}
		return sdk.Result{}, a.err
	}
	a := <-got
	return a.result, a.err
}

// openLane picks the fastest lane that the plugin supports.
func (r *release) openLane() (lane, error) {
	if p := r.p; p.columns && !(p.limits.SlowestLane && p.socket) {
		return newColumnsLane(p, r.layout())
	}
	return newSocketLane(r.p)
}

// layout is the layout of shared memory for as many rows as are publicly known to come.
func (r *release) layout() wire.Layout {
	rows := r.req.Public.Population
	if n := r.req.Public.Design.SampleSize; n > 0 {
		rows = n
	}
	return wire.NewLayout(r.columns, rows)
}

// feed runs the caller's feed into the lane.
func (r *release) feed(ctx context.Context, l lane, feed func(context.Context, RowWriter) error) error {
	sink, err := l.open(ctx, r.columns)
	if err != nil {
		return err
	}
	f := &feeder{columns: r.columns, sink: sink}
	err = feed(ctx, f)
	switch {
	case err == nil:
		err = f.err
	case ctx.Err() != nil:
		return ctx.Err() // the release ended first
	}
	if err != nil && (f.err == nil || f.bad || !errors.Is(err, f.err)) {
		return &callerError{err}
	}
	if err != nil {
		return err // the plugin's fault, not the feed's
	}
	r.noise.rowsDone(f.rows)
	return sink.Close()
}

// appendPiece appends a piece of a column, which has room for so many rows. It returns the rows of the piece, and the bytes of its
// texts where they were sent as codes.
func appendPiece(to *sdk.ResultColumn, c *wire.ResultColumn, rows int64) (n int, size int64, ok bool) {
	to.Float64 = append(roomy(to.Float64, len(c.GetFloat64()), rows), c.GetFloat64()...)
	to.Int64 = append(roomy(to.Int64, len(c.GetInt64()), rows), c.GetInt64()...)
	before := len(to.Texts)
	if to.Texts, ok = c.AppendTexts(roomy(to.Texts, max(len(c.GetString_()), len(c.GetCodes())), rows)); !ok {
		return 0, 0, false
	}
	texts := to.Texts[before:]
	if len(c.GetCodes()) > 0 {
		for _, text := range texts {
			size += int64(len(text))
		}
	}
	return len(c.GetFloat64()) + len(c.GetInt64()) + len(texts), size, true
}

// roomy makes room for all rows once, for a list whose first n values fit in them.
func roomy[T any](to []T, n int, rows int64) []T {
	if to == nil && n > 0 && int64(n) <= rows {
		return make([]T, 0, rows)
	}
	return to
}

// receive collects the result while it watches its size.
func (r *release) receive(stream grpc.ServerStreamingClient[wire.ReleaseOutput], fed <-chan struct{}) (sdk.Result, error) {
	plan := r.req.Plan
	result := sdk.Result{Columns: make([]sdk.ResultColumn, len(plan.Output))}
	for i, f := range plan.Output {
		result.Columns[i].Name = f.Name
	}
	var rows, bytes int64
	for {
		out, err := stream.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			return sdk.Result{}, err
		}
		if wire.Known(out) != nil || len(out.GetColumns()) != len(plan.Output) {
			return sdk.Result{}, r.p.fault(CodeShape)
		}
		bytes += int64(proto.Size(out))
		n := -1
		for i, c := range out.GetColumns() {
			k, more, ok := appendPiece(&result.Columns[i], c, plan.Rows)
			if !ok || c.GetName() != plan.Output[i].Name || (n >= 0 && k != n) || k == 0 {
				return sdk.Result{}, r.p.fault(CodeShape)
			}
			n, bytes = k, bytes+more
		}
		rows += int64(n)
		if bytes > r.p.limits.ResultBytes {
			return sdk.Result{}, r.p.fault(CodeOversize)
		}
		if rows > plan.Rows {
			return sdk.Result{}, r.p.fault(CodeShape)
		}
	}
	// A plugin that has read the mark of the end has left nothing to feed; one that
	// has not would be answering before it had read every row.
	select {
	case <-fed:
	case <-time.After(r.p.limits.Plan):
		return sdk.Result{}, r.p.fault(CodeProtocol)
	}
	if r.dropped {
		return sdk.Result{}, nil
	}
	err := error(nil)
	if r.rounded {
		if err = result.Shape(plan); err == nil {
			err = newLattice(r.req).hold(&result)
		}
	}
	if err == nil {
		err = result.Check(plan)
	}
	switch err {
	case nil:
		return result, nil
	case sdk.ErrNonFinite:
		return sdk.Result{}, r.p.fault(CodeNonfinite)
	case sdk.ErrLattice:
		return sdk.Result{}, r.p.fault(CodeLattice)
	default:
		return sdk.Result{}, r.p.fault(CodeShape)
	}
}

// serveNoise serves Noise for this release alone, on a socket that the broker
// announces, to processes of this plugin.
func (r *release) serveNoise(ctx context.Context) (id uint32, stop func(), err error) {
	id = r.p.joint.broker.NextId()
	type accepted struct {
		l   *sandbox.Listener
		err error
	}
	ch := make(chan accepted, 1)
	go func() { // the broker waits for the plugin, for as long as it takes
		var a accepted
		a.err = guard.Do(func() error {
			l, err := r.p.joint.broker.Accept(id)
			a.l = r.p.runner.process().Guard(l, 2)
			return err
		})
		ch <- a
	}()
	var a accepted
	select {
	case a = <-ch:
	case <-ctx.Done():
		r.p.kill() // ends the wait
		if a = <-ch; a.err == nil {
			a.l.Close()
		}
		return 0, nil, ctx.Err()
	}
	switch {
	case a.err != nil && r.p.ended():
		return 0, nil, r.p.fault(CodeCrash)
	case a.err != nil:
		return 0, nil, r.p.fault(CodeProtocol)
	}
	s := grpc.NewServer(grpc.MaxRecvMsgSize(wire.MaxNoiseMessage), grpc.MaxSendMsgSize(wire.MaxNoiseMessage),
		grpc.MaxConcurrentStreams(2), grpc.MaxHeaderListSize(64<<10), grpc.UnaryInterceptor(r.noise.guarded))
	wire.RegisterNoiseServer(s, r.noise)
	served := make(chan struct{})
	go func() {
		defer close(served)
		guard.Quietly(func() { _ = s.Serve(a.l) })
	}()
	return id, func() {
		s.Stop()
		<-served
	}, nil
}
