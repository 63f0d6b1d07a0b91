package sdk

import (
	"context"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/dprelease/dprelease/internal/wire"
)

// fake is a mechanism of which each test sets what it needs.
type fake struct {
	name string
	plan func(PlanRequest) (Plan, error)
}

func (f fake) Describe() Description {
	d := someDescription
	d.Name = f.name
	return d
}
func (f fake) Plan(r PlanRequest) (Plan, error) { return f.plan(r) }
func (f fake) Release(context.Context, ReleaseRequest, Rows, Host) (Result, error) {
	return Result{}, nil
}

func TestNewServer(t *testing.T) {
	for name, ms := range map[string][]Mechanism{
		"none": nil, "twice": {fake{name: "a"}, fake{name: "a"}}, "undescribed": {fake{}},
	} {
		if _, err := newServer(ms); err == nil {
			t.Errorf("%s is served", name)
		}
	}
	if s, err := newServer([]Mechanism{fake{name: "b"}, fake{name: "a"}}); err != nil {
		t.Error(err)
	} else if m, err := s.Describe(context.Background(), &wire.DescribeRequest{}); err != nil || len(m.GetMechanisms()) != 2 || m.GetMechanisms()[0].GetName() != "b" {
		t.Errorf("described %v, %v", m, err)
	}
}

// A later host may say more, at any depth: what is left out is not missed.
func TestServerIgnoresUnknownFields(t *testing.T) {
	b, err := someRequest.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	req := &wire.PlanRequest{}
	if err := proto.Unmarshal(b, req); err != nil {
		t.Fatal(err)
	}
	req.Mechanism = "a"
	extra := protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1)
	for _, m := range []proto.Message{req, req.GetPublic(), req.GetPublic().GetDesign(), req.GetPublic().GetColumns()[0], req.GetTarget()} {
		m.ProtoReflect().SetUnknown(extra)
	}
	if wire.Known(req) == nil {
		t.Fatal("the host would not notice a field that it does not know")
	}
	s, err := newServer([]Mechanism{fake{"a", func(got PlanRequest) (Plan, error) {
		if !reflect.DeepEqual(got, someRequest) {
			t.Errorf("got %+v", got)
		}
		return somePlan, nil
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := s.Plan(context.Background(), req); err != nil || r.GetPlan() == nil {
		t.Errorf("%v, %v", r, err)
	}
	start := &wire.ReleaseStart{}
	if b, err = (ReleaseRequest{Params: someRequest.Params, Public: someRequest.Public, Target: someRequest.Target, Plan: somePlan}).MarshalBinary(); err != nil {
		t.Fatal(err)
	}
	if err := proto.Unmarshal(b, start); err != nil {
		t.Fatal(err)
	}
	for _, m := range []proto.Message{start, start.GetPlan(), start.GetPlan().GetEvent(), start.GetPlan().GetOutput()[0]} {
		m.ProtoReflect().SetUnknown(extra)
	}
	if err := wire.Forget(start); err != nil {
		t.Fatal(err)
	}
	if got, err := toReleaseRequest(start); err != nil || !reflect.DeepEqual(got.Plan, somePlan) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestServerPlan(t *testing.T) {
	b, err := someRequest.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	ask := func(plan func(PlanRequest) (Plan, error), name string) (*wire.PlanResponse, error) {
		s, err := newServer([]Mechanism{fake{"a", plan}})
		if err != nil {
			t.Fatal(err)
		}
		req := &wire.PlanRequest{}
		if err := proto.Unmarshal(b, req); err != nil {
			t.Fatal(err)
		}
		req.Mechanism = name
		return s.Plan(context.Background(), req)
	}
	if r, err := ask(func(PlanRequest) (Plan, error) { return somePlan, nil }, "a"); err != nil || r.GetPlan().GetRows() != 3 {
		t.Errorf("got %v, %v", r, err)
	}
	if r, err := ask(func(PlanRequest) (Plan, error) { return Plan{}, errors.New("no") }, "a"); err != nil || r.GetRefusal() != "no" {
		t.Errorf("got %v, %v", r, err)
	}
	if r, err := ask(func(PlanRequest) (Plan, error) { return Plan{}, nil }, "a"); err != nil || !strings.Contains(r.GetRefusal(), "cannot be sent") {
		t.Errorf("got %v, %v", r, err)
	}
	if _, err := ask(nil, "b"); err == nil {
		t.Error("a mechanism that is not there plans")
	}
	_, err = ask(func(PlanRequest) (Plan, error) { panic("4815162342") }, "a")
	if err == nil || strings.Contains(status.Convert(err).Message(), "4815162342") {
		t.Errorf("a panic became %v", err)
	}
}

// The lifeline ends the process when the host's end of it is closed, not before.
func TestExitWithHost(t *testing.T) {
	r, w := io.Pipe()
	exited := make(chan int, 1)
	go exitWithHost(r, func(code int) { exited <- code })
	select {
	case <-exited:
		t.Fatal("exited while the host lives")
	case <-time.After(20 * time.Millisecond):
	}
	w.Close()
	select {
	case code := <-exited:
		if code != 0 {
			t.Errorf("exit code %d", code)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("outlived its host")
	}
}

func TestChunkReader(t *testing.T) {
	chunks := []*wire.ReleaseInput{}
	for _, s := range []string{"ab", "", "c"} {
		chunks = append(chunks, &wire.ReleaseInput{Part: &wire.ReleaseInput_Rows{Rows: &wire.RowsChunk{Data: []byte(s)}}})
	}
	read := func(in []*wire.ReleaseInput) (string, error) {
		b, err := io.ReadAll(&chunkReader{recv: func() (*wire.ReleaseInput, error) {
			if len(in) == 0 {
				return nil, io.EOF
			}
			m := in[0]
			in = in[1:]
			return m, nil
		}})
		return string(b), err
	}
	if s, err := read(chunks); s != "abc" || err != io.ErrUnexpectedEOF {
		t.Errorf("without a last chunk: %q, %v", s, err)
	}
	chunks[2].GetRows().Last = true
	if s, err := read(chunks); s != "abc" || err != nil {
		t.Errorf("got %q, %v", s, err)
	}
	if _, err := read([]*wire.ReleaseInput{{Part: &wire.ReleaseInput_Start{Start: &wire.ReleaseStart{}}}}); err != io.ErrUnexpectedEOF {
		t.Errorf("another message: %v", err)
	}
}
