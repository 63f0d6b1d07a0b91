package sdk

import (
	"context"
	"fmt"
	"io"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/dprelease/dprelease/internal/wire"
)

// errRelease is all that is ever said of a release that failed: whatever else
// could be said may depend on a row (P20).
var errRelease = status.Error(codes.Aborted, "release failed")

// errShape is a result that cannot even be sent.
var errShape = status.Error(codes.FailedPrecondition, "result does not have the planned shape")

// server is the plugin's end of the Mechanism service.
type server struct {
	wire.UnimplementedMechanismServer
	byName map[string]Mechanism
	order  []Mechanism
	dial   func(id uint32) (*grpc.ClientConn, error)
}

func (s *server) Describe(context.Context, *wire.DescribeRequest) (_ *wire.DescribeResponse, err error) {
	defer recovered(&err)
	out := &wire.DescribeResponse{Lanes: lanes}
	for _, m := range s.order {
		d, err := fromDescription(m.Describe())
		if err != nil {
			return nil, status.Error(codes.Internal, "description cannot be sent")
		}
		out.Mechanisms = append(out.Mechanisms, d)
	}
	return out, nil
}

func (s *server) Plan(_ context.Context, m *wire.PlanRequest) (_ *wire.PlanResponse, err error) {
	defer recovered(&err)
	mech := s.byName[m.GetMechanism()]
	if mech == nil {
		return nil, status.Error(codes.NotFound, "no such mechanism")
	}
	if err := wire.Forget(m); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	req, err := toPlanRequest(m)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, "plan request cannot be read")
	}
	plan, err := mech.Plan(req)
	if err != nil {
		return &wire.PlanResponse{Answer: &wire.PlanResponse_Refusal{Refusal: err.Error()}}, nil
	}
	out, err := fromPlan(plan)
	if err != nil {
		return &wire.PlanResponse{Answer: &wire.PlanResponse_Refusal{Refusal: fmt.Sprintf("plan cannot be sent: %v", err)}}, nil
	}
	return &wire.PlanResponse{Answer: &wire.PlanResponse_Plan{Plan: out}}, nil
}

func (s *server) Release(stream grpc.BidiStreamingServer[wire.ReleaseInput, wire.ReleaseOutput]) (err error) {
	defer recovered(&err)
	in, err := stream.Recv()
	if err != nil {
		return errRelease
	}
	start := in.GetStart()
	mech := s.byName[start.GetMechanism()]
	if start == nil || mech == nil || wire.Forget(start) != nil {
		return status.Error(codes.InvalidArgument, "release request cannot be read")
	}
	req, err := toReleaseRequest(start)
	if err != nil {
		return status.Error(codes.InvalidArgument, "release request cannot be read")
	}
	specs, err := columnSpecs(req.Public, req.Plan)
	if err != nil {
		return status.Error(codes.InvalidArgument, "release request cannot be read")
	}
	src, closeSrc, err := openLane(start, stream)
	if err != nil {
		return errRelease
	}
	defer closeSrc()
	conn, err := s.dial(start.GetNoise())
	if err != nil {
		return errRelease
	}
	defer conn.Close()

	rows := &streamRows{r: wire.NewRowsReader(src, specs)}
	defer rows.r.Close()
	result, err := mech.Release(stream.Context(), req, rows, &remoteHost{c: wire.NewNoiseClient(conn)})
	if err != nil || rows.drain() != nil {
		return errRelease
	}
	if result.Check(req.Plan) == ErrShape {
		return errShape // the host finds all else that may be wrong with it
	}
	return sendResult(stream, result, req.Plan.Rows)
}

// openLane returns the row stream of a release.
func openLane(start *wire.ReleaseStart, stream grpc.BidiStreamingServer[wire.ReleaseInput, wire.ReleaseOutput]) (io.Reader, func() error, error) {
	switch start.GetLane() {
	case wire.Lane_LANE_SOCKET:
		conn, err := net.Dial("unix", start.GetSocket())
		if err != nil {
			return nil, nil, err
		}
		return conn, conn.Close, nil
	case wire.Lane_LANE_MEMORY:
		return openMemory(start.GetSocket())
	case wire.Lane_LANE_MESSAGES:
		return &chunkReader{recv: stream.Recv}, func() error { return nil }, nil
	}
	return nil, nil, errRelease
}

// chunkReader is the row stream of the lane of messages.
type chunkReader struct {
	recv func() (*wire.ReleaseInput, error)
	rest []byte
	last bool
}

func (c *chunkReader) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		if c.last {
			return 0, io.EOF
		}
		in, err := c.recv()
		if err != nil {
			return 0, io.ErrUnexpectedEOF
		}
		chunk := in.GetRows()
		if chunk == nil {
			return 0, io.ErrUnexpectedEOF
		}
		c.rest, c.last = chunk.GetData(), chunk.GetLast()
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// sendResult sends the result in pieces that stay below the message limit.
func sendResult(stream grpc.BidiStreamingServer[wire.ReleaseInput, wire.ReleaseOutput], r Result, rows int64) error {
	width := 1
	for _, c := range r.Columns {
		width += 8
		longest := 0
		for _, s := range c.String {
			longest = max(longest, len(s)+4)
		}
		width += longest
	}
	step := int64(max(1, wire.ResultChunk/width))
	for at := int64(0); at < rows; at += step {
		end := min(rows, at+step)
		out := &wire.ReleaseOutput{}
		for _, c := range r.Columns {
			out.Columns = append(out.Columns, &wire.ResultColumn{
				Name: c.Name, Float64: cut(c.Float64, at, end), Int64: cut(c.Int64, at, end), String_: cut(c.String, at, end),
			})
		}
		if err := stream.Send(out); err != nil {
			return err
		}
	}
	return nil
}

func cut[T any](s []T, at, end int64) []T {
	if len(s) == 0 {
		return nil
	}
	return s[at:end]
}

// recovered turns a panic into a fixed status: what a mechanism panics with may
// hold a value (P20).
func recovered(err *error) {
	if recover() != nil {
		*err = status.Error(codes.Internal, "mechanism panicked")
	}
}
