//go:build linux

package host

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	plugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/dprelease/dprelease/internal/plugin/wire"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// raw is a plugin without the SDK, so that nothing keeps it from misbehaving.
type raw struct {
	plugin.NetRPCUnsupportedPlugin
	wire.UnimplementedMechanismServer
	mode   string
	broker *plugin.GRPCBroker
	asked  int
}

// serveRaw serves the protocol with go-plugin itself.
func serveRaw(mode string) {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{ProtocolVersion: wire.Version, MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue},
		Plugins:         plugin.PluginSet{wire.PluginName: &raw{mode: mode}},
		GRPCServer:      func(o []grpc.ServerOption) *grpc.Server { return grpc.NewServer(o...) },
	})
}

func (r *raw) GRPCServer(b *plugin.GRPCBroker, s *grpc.Server) error {
	r.broker = b
	if r.mode != "other-service" {
		wire.RegisterMechanismServer(s, r)
	}
	return nil
}

func (r *raw) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, io.EOF
}

func (r *raw) Describe(context.Context, *wire.DescribeRequest) (*wire.DescribeResponse, error) {
	r.asked++
	d := sum{}.Describe()
	switch r.mode {
	case "describe-twice":
		d.Version += strings.Repeat("x", r.asked)
	case "describe-name":
		d.Name = "../etc"
	case "describe-crash":
		os.Exit(2)
	case "linear":
		d.Linear, d.Capped = true, true
	case "broker-flood": // sockets of its own, announced to the host by the thousand
		go func() {
			for i := uint32(1000); ; i++ {
				if _, err := r.broker.Accept(i); err != nil {
					return
				}
			}
		}()
		time.Sleep(20 * time.Millisecond)
	case "descriptors": // uses up what it can
		for {
			if _, err := os.Open("/dev/null"); err != nil {
				break
			}
		}
	}
	m := mustMessage(wire.FromDescription(d))
	lanes := []wire.Lane{wire.Lane_LANE_SOCKET}
	switch {
	case r.mode == "no-lane":
		lanes = nil
	case strings.HasPrefix(r.mode, "memory"):
		lanes = []wire.Lane{wire.Lane_LANE_COLUMNS}
	}
	return &wire.DescribeResponse{Mechanisms: []*wire.Description{m}, Lanes: lanes}, nil
}

func (r *raw) Plan(_ context.Context, req *wire.PlanRequest) (*wire.PlanResponse, error) {
	r.asked++
	plan, _ := sum{}.defaultPlan(mustMessage(wire.ToPlanRequest(req)))
	switch {
	case strings.HasPrefix(r.mode, "huge"):
		plan.Rows = 5_000_000
	case r.mode == "arrow-one":
		plan.Columns = []string{"x"}
	}
	m := mustMessage(wire.FromPlan(plan))
	switch r.mode {
	case "plan-twice":
		m.Rows += int64(r.asked)
	case "plan-refuse-once":
		if r.asked%2 == 0 {
			return &wire.PlanResponse{Answer: &wire.PlanResponse_Refusal{Refusal: "no"}}, nil
		}
	case "plan-empty":
		return &wire.PlanResponse{}, nil
	case "plan-unknown-field":
		m.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1))
	case "plan-nan":
		m.Event = []byte(`{"discrete_laplace":{"scale":NaN}}`)
	case "plan-uncallable":
		m.Event = []byte(`{"gaussian":{"sigma":1}}`)
	case "plan-column":
		m.Columns = []string{"y"}
	case "plan-rows":
		m.Rows = math.MaxInt64
	case "plan-deep":
		e := m.Event
		for range 200 {
			e = fmt.Appendf(nil, `{"repeat":{"n":1,"event":%s}}`, e)
		}
		m.Event = e
	case "plan-large":
		m.Errors = append(m.Errors, &wire.ExpectedError{Field: "value", Note: strings.Repeat("x", 8<<20)})
	case "plan-at-limit":
		padded(m, wire.MaxMessage)
	case "plan-over-limit":
		padded(m, wire.MaxMessage+1)
	case "plan-crash":
		os.Exit(2)
	case "plan-hang":
		select {}
	}
	return &wire.PlanResponse{Answer: &wire.PlanResponse_Plan{Plan: m}}, nil
}

func (r *raw) Release(start *wire.ReleaseRequest, stream grpc.ServerStreamingServer[wire.ReleaseOutput]) (err error) {
	switch r.mode {
	case "release-hang":
		select {}
	case "release-stop":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		select {}
	case "release-crash":
		os.Exit(2)
	case "early-result":
		return r.send(stream, wireResult())
	}
	var src io.Reader
	if start.GetLane() == wire.Lane_LANE_SOCKET {
		conn, err := net.Dial("unix", start.GetSocket())
		if err != nil {
			return err
		}
		if r.mode == "early-result-open" {
			return r.send(stream, wireResult())
		}
		defer conn.Close()
		src = conn
	}
	var rows sdk.Rows
	if start.GetLane() == wire.Lane_LANE_COLUMNS {
		if rows, err = rawMemory(r.mode, start); err != nil {
			return err
		}
	}
	noise, err := r.broker.Dial(start.GetNoise())
	if err != nil {
		return err
	}
	defer noise.Close()
	c := wire.NewNoiseClient(noise)
	if r.mode == "unknown-method" { // a plugin of a later protocol may try; what it does then is as planned
		m := &wire.AddNoiseRequest{Event: event(laplace), Values: []int64{secret}}
		_ = noise.Invoke(stream.Context(), "/dprelease.plugin.v1.Noise/Later", m, &wire.AddNoiseResponse{})
		_ = noise.Invoke(stream.Context(), "/dprelease.plugin.v9.Later/Later", m, &wire.AddNoiseResponse{})
	}
	switch r.mode {
	case "crash-between-rows":
		_, _ = io.CopyN(io.Discard, src, 1000)
		os.Exit(2)
	case "sample-before-rows":
		_, _ = c.NextSample(stream.Context(), &wire.NextSampleRequest{Event: event(laplace)})
	}
	switch {
	case strings.Contains(r.mode, "arrow"):
		return r.sumArrow(stream, src, c)
	case rows != nil:
		_, _, _ = tally(rows)
	default:
		_, _ = io.Copy(io.Discard, src)
	}
	r.noise(stream.Context(), c)
	switch r.mode {
	case "crash-after-rows":
		os.Exit(2)
	case "stderr-value":
		_, _ = os.Stderr.WriteString("the value is 4815162342\n")
		panic("4815162342")
	}
	out := wireResult()
	switch r.mode {
	case "nan":
		out.Columns[0].Float64[1] = math.NaN()
	case "inf":
		out.Columns[0].Float64[1] = math.Inf(-1)
	case "lattice":
		out.Columns[0].Float64[1] = 0.25
	case "column-missing":
		out.Columns = out.Columns[:2]
	case "column-renamed":
		out.Columns[1].Name = "m"
	case "column-type":
		out.Columns[1].Float64, out.Columns[1].Int64 = []float64{1, 2}, nil
	case "column-both":
		out.Columns[1].Float64 = []float64{1, 2}
	case "row-missing":
		for _, c := range out.Columns {
			c.Float64, c.Int64, c.String_ = first(c.Float64), first(c.Int64), first(c.String_)
		}
	case "row-extra":
		_ = r.send(stream, wireResult())
	case "ragged":
		out.Columns[1].Int64 = []int64{1}
	case "string-long":
		out.Columns[2].String_[0] = strings.Repeat("4815162342", 200)
	case "codes":
		out.Columns[2].String_, out.Columns[2].Codes = []string{"b", "a"}, []uint32{1, 0}
	case "code-of-none":
		out.Columns[2].Codes = []uint32{0, 2}
	case "codes-of-numbers":
		out.Columns[1].Codes = []uint32{0, 0}
	case "codes-huge":
		out.Columns[0].Float64, out.Columns[1].Int64 = many(out.Columns[0].Float64), many(out.Columns[1].Int64)
		out.Columns[2].String_ = []string{strings.Repeat("4815162342", 100)}
		out.Columns[2].Codes = make([]uint32, len(out.Columns[1].Int64))
		return r.send(stream, out)
	case "no-result":
		return nil
	case "unknown-field":
		out.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1))
	case "message-large":
		out.Columns[2].String_[0] = strings.Repeat("4815162342", 1<<20)
	case "huge-endless":
		for _, c := range out.Columns {
			c.Float64, c.Int64, c.String_ = many(c.Float64), many(c.Int64), many(c.String_)
		}
		for r.send(stream, out) == nil {
		}
		return nil
	case "header-value":
		_ = stream.SetHeader(map[string][]string{"value": {"4815162342"}})
	}
	return r.send(stream, out)
}

// sumArrow does what sum does, with nothing but an Arrow library: as a plugin in any
// language would.
func (r *raw) sumArrow(stream grpc.ServerStreamingServer[wire.ReleaseOutput], src io.Reader, c wire.NoiseClient) error {
	in, err := ipc.NewReader(src)
	if err != nil {
		return err
	}
	defer in.Release()
	var total, first int64
	for in.Next() {
		rec := in.Record()
		x := rec.Column(0).(*array.Float64)
		if r.mode == "arrow-one" {
			for _, v := range x.Float64Values() {
				total += int64(v)
			}
			continue
		}
		g := rec.Column(1).(*array.Int32)
		for i := range int(rec.NumRows()) {
			w := 1.0
			if rec.NumCols() > 2 {
				w = rec.Column(2).(*array.Float64).Value(i)
			}
			if x.IsValid(i) {
				total += int64(math.RoundToEven(2 * x.Value(i) * w))
			}
			if g.IsValid(i) && g.Value(i) == 0 {
				first++
			}
		}
	}
	if in.Err() != nil {
		return in.Err()
	}
	ctx := stream.Context()
	a, err := c.AddLaplace(ctx, &wire.AddNoiseRequest{Event: event(laplace), Values: []int64{total}})
	if err != nil {
		return err
	}
	b, err := c.AddGaussian(ctx, &wire.AddNoiseRequest{Event: event(gaussian), Values: []int64{first, 2}})
	if err != nil {
		return err
	}
	d, err := c.AddGaussian(ctx, &wire.AddNoiseRequest{Event: event(gaussian), Values: []int64{7}})
	if err != nil {
		return err
	}
	out := &wire.ReleaseOutput{}
	for _, c := range good(a.Values[0], b.Values[0], d.Values[0]).Columns {
		out.Columns = append(out.Columns, &wire.ResultColumn{Name: c.Name, Float64: c.Float64, Int64: c.Int64, String_: c.Texts})
	}
	return r.send(stream, out)
}

// padded makes the answer with this plan exactly so large.
func padded(m *wire.Plan, size int) {
	note := &wire.ExpectedError{Field: "value", Note: strings.Repeat("x", size)}
	m.Errors = append(m.Errors, note)
	answer := &wire.PlanResponse{Answer: &wire.PlanResponse_Plan{Plan: m}}
	note.Note = note.Note[proto.Size(answer)-size:]
	if proto.Size(answer) != size {
		panic("the lengths take other numbers of bytes")
	}
}

func mustMessage[M any](m M, err error) M {
	if err != nil {
		panic(err)
	}
	return m
}

// noise makes the planned calls, or nearly.
func (r *raw) noise(ctx context.Context, c wire.NoiseClient) {
	l := &wire.AddNoiseRequest{Event: event(laplace), Values: []int64{secret}}
	g := &wire.AddNoiseRequest{Event: event(gaussian), Values: []int64{secret, 1}}
	lap := func(m *wire.AddNoiseRequest) { _, _ = c.AddLaplace(ctx, m) }
	gau := func(m *wire.AddNoiseRequest) { _, _ = c.AddGaussian(ctx, m) }
	switch r.mode {
	case "noise-none":
		return
	case "noise-unknown-field":
		l.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1))
		lap(l)
		gau(g)
		return
	case "noise-fewer":
		lap(l)
		gau(g)
		return
	case "noise-order":
		gau(g)
		lap(l)
	case "noise-scale":
		smaller := laplace
		smaller.Scale = math.Nextafter(smaller.Scale, 0)
		l.Event = event(smaller)
		lap(l)
	case "noise-sensitivity":
		other := laplace
		other.Sensitivity.AddRemove = 1
		l.Event = event(other)
		lap(l)
	case "noise-method":
		gau(l)
	case "noise-event-missing":
		l.Event = nil
		lap(l)
	case "noise-sample":
		if s, err := c.NextSample(ctx, &wire.NextSampleRequest{Event: event(laplace)}); err == nil {
			_, _ = s.Recv()
		}
	case "noise-retry": // the same call again, to see its noise twice
		lap(l)
		lap(l)
	case "noise-parallel":
		done := make(chan bool)
		for range 4 {
			go func() { lap(l); done <- true }()
		}
		for range 4 {
			<-done
		}
	default:
		lap(l)
		gau(g)
		gau(g)
		if r.mode == "noise-more" {
			gau(g)
		}
	}
}

func (r *raw) send(s grpc.ServerStreamingServer[wire.ReleaseOutput], m *wire.ReleaseOutput) error {
	return s.Send(m)
}

func event(e privacy.Event) []byte {
	out, err := wire.FromEvent(e)
	if err != nil {
		panic(err)
	}
	return out
}

func wireResult() *wire.ReleaseOutput {
	return &wire.ReleaseOutput{Columns: []*wire.ResultColumn{
		{Name: "value", Float64: []float64{secret, 1}}, {Name: "n", Int64: []int64{1, 2}}, {Name: "label", String_: []string{"a", "b"}},
	}}
}

func first[T any](s []T) []T { return s[:min(1, len(s))] }

func many[T any](s []T) []T {
	var out []T
	for len(s) > 0 && len(out) < 10_000 {
		out = append(out, s...)
	}
	return out
}

// The modes below do not even serve.

func handshake(line string) { os.Stdout.WriteString(line + "\n"); time.Sleep(time.Minute) }

func socketPath() string { return os.Getenv(plugin.EnvUnixSocketDir) + "/s" }

// child starts this binary again as a process that sleeps, with our marker.
func child(marker string, attr *syscall.SysProcAttr, clean bool, args ...string) {
	cmd := exec.Command("/proc/self/exe", append([]string{"plugin", "sleep", marker}, args...)...)
	cmd.SysProcAttr = attr
	cmd.Stdout, cmd.Stderr, cmd.Stdin = os.Stdout, os.Stderr, os.Stdin
	if clean {
		cmd.Env = []string{"A=B"}
	}
	if err := cmd.Start(); err != nil {
		os.Exit(9)
	}
}
