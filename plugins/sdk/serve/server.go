package serve

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/dprelease/dprelease/internal/plugin/wire"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// errRelease is all that is ever said of a release that failed: whatever else
// could be said may depend on a row (P20).
var errRelease = status.Error(codes.Aborted, "release failed")

// errShape is a result that cannot even be sent.
var errShape = status.Error(codes.FailedPrecondition, "result does not have the planned shape")

// server is the plugin's end of the Mechanism service.
type server struct {
	wire.UnimplementedMechanismServer
	byName map[string]sdk.Mechanism
	order  []sdk.Mechanism
	dial   func(id uint32) (*grpc.ClientConn, error)
}

func newServer(mechanisms []sdk.Mechanism) (*server, error) {
	s := &server{byName: map[string]sdk.Mechanism{}, order: mechanisms}
	for _, m := range mechanisms {
		d := m.Describe().Whole()
		if err := d.Check(); err != nil {
			return nil, fmt.Errorf("serve: %w", err)
		}
		if s.byName[d.Name] != nil {
			return nil, fmt.Errorf("serve: two mechanisms are called %q", d.Name)
		}
		s.byName[d.Name] = m
	}
	if len(mechanisms) == 0 {
		return nil, fmt.Errorf("serve: there is no mechanism to serve")
	}
	return s, nil
}

func (s *server) Describe(context.Context, *wire.DescribeRequest) (_ *wire.DescribeResponse, err error) {
	defer recovered(&err)
	out := &wire.DescribeResponse{Lanes: []wire.Lane{wire.Lane_LANE_COLUMNS}}
	for _, m := range s.order {
		d, err := wire.FromDescription(m.Describe())
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
	req, err := wire.ToPlanRequest(m)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, "plan request cannot be read")
	}
	plan, err := mech.Plan(req)
	if err != nil {
		return &wire.PlanResponse{Answer: &wire.PlanResponse_Refusal{Refusal: err.Error()}}, nil
	}
	out, err := wire.FromPlan(plan)
	if err != nil {
		if wrong := plan.Check(req); wrong != nil { // it says where
			err = wrong
		}
		return nil, status.Error(codes.FailedPrecondition, err.Error()) // the job has no part in it
	}
	return &wire.PlanResponse{Answer: &wire.PlanResponse_Plan{Plan: out}}, nil
}

func (s *server) Release(start *wire.ReleaseRequest, stream grpc.ServerStreamingServer[wire.ReleaseOutput]) (err error) {
	defer recovered(&err)
	mech := s.byName[start.GetMechanism()]
	if mech == nil || wire.Forget(start) != nil {
		return status.Error(codes.InvalidArgument, "release request cannot be read")
	}
	req, err := wire.ToReleaseRequest(start)
	if err != nil {
		return status.Error(codes.InvalidArgument, "release request cannot be read")
	}
	columns, err := req.Plan.Declared(req.Public)
	if err != nil || start.GetLane() != wire.Lane_LANE_COLUMNS {
		return status.Error(codes.InvalidArgument, "release request cannot be read")
	}
	rows, closeRows, err := openRows(start.GetSocket(), columns)
	if err != nil {
		return errRelease
	}
	defer closeRows()
	conn, err := s.dial(start.GetNoise())
	if err != nil {
		return errRelease
	}
	defer conn.Close()
	result, err := mech.Release(stream.Context(), req, rows, &remoteHost{c: wire.NewNoiseClient(conn)})
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err) // as with a panic
		return errRelease
	}
	if drain(rows) != nil {
		return errRelease
	}
	if req.Plan.Finish != nil {
		return nil // the host makes the result
	}
	if result.Shape(req.Plan) != nil {
		return errShape // the host finds all else that may be wrong with it
	}
	return sendResult(stream, result, req.Plan.Rows)
}

// drain reads what a mechanism left unread: a host that still writes must not be cut
// off, and how many rows a mechanism looked at must not show.
func drain(rows sdk.Rows) error {
	for {
		switch _, err := rows.Next(); err {
		case nil:
		case io.EOF:
			return nil
		default:
			return err
		}
	}
}

// sendResult sends the result in pieces that stay below the message limit.
func sendResult(stream grpc.ServerStreamingServer[wire.ReleaseOutput], r sdk.Result, rows int64) error {
	width := 1
	for _, c := range r.Columns {
		width += 8
		longest := 0
		for _, s := range c.Texts {
			longest = max(longest, len(s)+4)
		}
		width += longest
	}
	step := int64(max(1, wire.ResultChunk/width))
	for at := int64(0); at < rows; at += step {
		end := min(rows, at+step)
		out := &wire.ReleaseOutput{}
		for _, c := range r.Columns {
			column := &wire.ResultColumn{Name: c.Name, Float64: cut(c.Float64, at, end), Int64: cut(c.Int64, at, end)}
			column.String_, column.Codes = coded(cut(c.Texts, at, end))
			out.Columns = append(out.Columns, column)
		}
		if err := stream.Send(out); err != nil {
			return err
		}
	}
	return nil
}

// coded returns different texts and the place of each text among them, or the texts themselves where most differ.
func coded(texts []string) (different []string, codes []uint32) {
	known, after := map[string]uint32{}, []uint32{0} // after each code, the code that came last: rows often repeat an order
	codes = make([]uint32, 0, len(texts))
	last := uint32(0)
	for _, text := range texts {
		k := after[last]
		if int(k) >= len(different) || different[k] != text {
			var ok bool
			if k, ok = known[text]; !ok {
				if k = uint32(len(different)); len(different) > len(texts)/2 {
					return texts, nil
				}
				known[text], different, after = k, append(different, text), append(after, k+1)
			}
		}
		codes, after[last], last = append(codes, k), k, k
	}
	return different, codes
}

func cut[T any](s []T, at, end int64) []T {
	if len(s) == 0 {
		return nil
	}
	return s[at:end]
}

// recovered turns a panic into a fixed status: what a mechanism panics with may
// hold a value (P20). The stack goes to standard error, which a host drops, and which the
// plugin check shows to the author.
func recovered(err *error) {
	if p := recover(); p != nil {
		fmt.Fprintf(os.Stderr, "panic: %v\n%s", p, stack(string(debug.Stack())))
		*err = status.Error(codes.Internal, "mechanism panicked")
	}
}

// stack is the part of a stack between the panic and this package.
func stack(all string) string {
	if _, after, ok := strings.Cut(all, "\npanic("); ok {
		_, all, _ = strings.Cut(after, "\n\t")
		_, all, _ = strings.Cut(all, "\n")
	}
	mine, _, _ := strings.Cut(all, "github.com/dprelease/dprelease/plugins/sdk/serve.(*server)")
	return mine
}
