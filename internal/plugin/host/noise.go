package host

import (
	"context"
	"errors"
	"math"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/dprelease/dprelease/internal/guard"
	"github.com/dprelease/dprelease/internal/plugin/calls"
	"github.com/dprelease/dprelease/internal/plugin/wire"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

var errNoise = status.Error(codes.FailedPrecondition, "noise call refused")

// noiseServer serves Noise for one release.
//
// Contract: the canonical bytes of every call's event are compared with those of the
// next leaf of the plan before anything is drawn. The first that differs, and the first that
// cannot be drawn, fails the release and every later call.
type noiseServer struct {
	wire.UnimplementedNoiseServer
	drawer  Drawer
	lattice []float64 // the granularities of the plan's output: the public lattices
	fail    func(code string)

	mu     sync.Mutex
	calls  *calls.Walk // nil: a self-noising plugin, which has no calls to make
	rows   int64
	read   bool // the last row has been handed over
	failed bool
}

// guarded answers a call. A panic while it is answered, in a goroutine of gRPC, fails the release.
func (s *noiseServer) guarded(ctx context.Context, m any, _ *grpc.UnaryServerInfo, answer grpc.UnaryHandler) (out any, err error) {
	err = guard.Do(func() (err error) { out, err = answer(ctx, m); return err })
	if errors.Is(err, guard.ErrPanic) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return nil, s.stop(CodeNoiseFailed)
	}
	return out, err
}

// noiseCall is a call of the Noise service.
type noiseCall interface {
	proto.Message
	GetEvent() []byte
}

// extra reports whether a message has fields that this version does not know. What
// is inside it looks for itself.
func extra(m proto.Message) bool { return len(m.ProtoReflect().GetUnknown()) > 0 }

// take checks one call and runs draw under the lock. In good order, nothing is
// drawn before it is known to be planned.
func take[E privacy.Event](s *noiseServer, m noiseCall, draw func(ev E, shuffled int64) error) error {
	ev, err := wire.ToEvent(m.GetEvent())
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := ev.(E)
	if err != nil || !ok || extra(m) || s.failed || s.calls == nil {
		return s.stop(CodeNoiseMismatch)
	}
	shuffled, err := s.calls.Next(ev)
	if err != nil {
		return s.stop(CodeNoiseMismatch)
	}
	if err := draw(e, shuffled); err != nil {
		return s.stop(CodeNoiseFailed)
	}
	return nil
}

func (s *noiseServer) stop(code string) error {
	if !s.failed {
		s.failed = true
		s.fail(code)
	}
	return errNoise
}

// rowsDone notes that all rows have been handed over; it comes before the mark of the
// stream's end, so that a plugin that has seen the end may sample.
func (s *noiseServer) rowsDone(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows, s.read = n, true
}

// finish ends the calls, and reports whether all that were planned were made, and none failed.
func (s *noiseServer) finish() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.failed = true }() // no call after the end
	return !s.failed && (s.calls == nil || s.calls.Done() == nil)
}

func (s *noiseServer) AddLaplace(_ context.Context, req *wire.AddNoiseRequest) (*wire.AddNoiseResponse, error) {
	return add[privacy.DiscreteLaplace](s, req)
}

func (s *noiseServer) AddGaussian(_ context.Context, req *wire.AddNoiseRequest) (*wire.AddNoiseResponse, error) {
	return add[privacy.DiscreteGaussian](s, req)
}

func add[E privacy.Event](s *noiseServer, req *wire.AddNoiseRequest) (*wire.AddNoiseResponse, error) {
	err := take(s, req, func(ev E, _ int64) error { return s.drawer.Add(ev, req.GetValues()) })
	return &wire.AddNoiseResponse{Values: req.GetValues()}, err
}

func (s *noiseServer) SmoothLaplace(_ context.Context, req *wire.SmoothLaplaceRequest) (*wire.SmoothLaplaceResponse, error) {
	out := &wire.SmoothLaplaceResponse{}
	err := take(s, req, func(ev privacy.Approx, _ int64) (err error) {
		if !finiteAll(req.GetValue(), req.GetScale()) || req.GetScale() < 0 || !s.public(req.GetGranularity()) {
			return errNoise
		}
		out.Value, err = s.drawer.SmoothLaplace(ev, req.GetValue(), req.GetScale(), req.GetGranularity())
		return err
	})
	return out, err
}

// public reports whether g is a lattice that the plan names: one chosen after
// looking at rows could say something about them (P16).
func (s *noiseServer) public(g float64) bool {
	for _, have := range s.lattice {
		if g == have && g > 0 {
			return true
		}
	}
	return false
}

func (s *noiseServer) Select(_ context.Context, req *wire.SelectRequest) (*wire.SelectResponse, error) {
	out := &wire.SelectResponse{}
	err := take(s, req, func(ev privacy.Selection, _ int64) (err error) {
		if !finiteAll(req.GetRate()) {
			return errNoise
		}
		pieces := make([]sdk.Piece, len(req.GetPieces()))
		for i, p := range req.GetPieces() {
			if extra(p) {
				return errNoise
			}
			pieces[i] = sdk.Piece{Lo: p.GetLo(), Hi: p.GetHi(), Score: p.GetScore(), Slope: p.GetSlope()}
		}
		out.Point, err = s.drawer.Select(ev, pieces, req.GetRate())
		return err
	})
	return out, err
}

func (s *noiseServer) RandomizeCategories(_ context.Context, req *wire.RandomizeRequest) (*wire.RandomizeResponse, error) {
	err := take(s, req, func(ev privacy.RandomizedResponse, shuffled int64) error {
		for _, c := range req.GetCodes() {
			if c < 0 || int(c) >= ev.K {
				return errNoise
			}
		}
		// P8: fewer users than planned hide less.
		if int64(len(req.GetCodes())) < shuffled {
			return errNoise
		}
		if err := s.drawer.Randomize(ev, req.GetCodes()); err != nil || shuffled == 0 {
			return err
		}
		return s.drawer.Shuffle(req.GetCodes())
	})
	return &wire.RandomizeResponse{Codes: req.GetCodes()}, err
}

func (s *noiseServer) NextSample(req *wire.NextSampleRequest, stream grpc.ServerStreamingServer[wire.NextSampleResponse]) error {
	var rows []int64
	sample := func(ev privacy.Sampling, _ int64) (err error) {
		if !s.read {
			return errNoise
		}
		rows, err = s.drawer.Sample(ev, s.rows)
		return err
	}
	batch := func(ev privacy.LastIterate, _ int64) (err error) {
		// P9: the bound is about this many records, and these batches of them.
		if !s.read || s.rows != ev.N {
			return errNoise
		}
		rows, err = s.drawer.Batch(ev, s.rows, s.calls.Step())
		return err
	}
	ev, err := wire.ToEvent(req.GetEvent())
	if _, ok := ev.(privacy.LastIterate); ok && err == nil {
		err = take(s, req, batch)
	} else {
		err = take(s, req, sample)
	}
	if err != nil {
		return err
	}
	last := int64(-1)
	for len(rows) > 0 {
		n := min(len(rows), wire.SampleChunk)
		m := &wire.NextSampleResponse{Gaps: make([]uint64, n)}
		for i, row := range rows[:n] {
			m.Gaps[i] = uint64(row - last - 1)
			last = row
		}
		rows = rows[n:]
		if err := stream.Send(m); err != nil {
			return errNoise
		}
	}
	return nil
}

func finiteAll(xs ...float64) bool {
	for _, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}
