package conformance

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"google.golang.org/protobuf/proto"

	"github.com/dprelease/dprelease/internal/plugin/finish"
	"github.com/dprelease/dprelease/internal/plugin/wire"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

// Piped is a mechanism at the other end of a pipe, in the process of an author who may have stopped it in
// a debugger. Nothing confines it, and no limit of time holds. A frame is a letter, the length of what follows
// as four bytes, the least first, and that: a message of plugin-v1, rows, or a text.
type Piped struct {
	in    io.Reader
	out   io.Writer
	about *sdk.Description // after the second question
	asked int
}

var _ sdk.Mechanism = (*Piped)(nil)

// NewPiped returns the mechanism that reads out and writes in.
func NewPiped(in io.Reader, out io.Writer) *Piped { return &Piped{in: in, out: out} }

// The letters of frames.
const (
	frameDescribe = 'D' // and its answer
	framePlan     = 'P' // a request; a plan, or a refusal
	frameRelease  = 'R' // a request; its end, without anything
	frameResult   = 'O' // rows of a result
	frameRows     = 'B' // a question for rows; a batch
	frameEnd      = 'E' // there are no more rows
	frameNoise    = 'N' // a method of the service Noise, before its message
	frameMessage  = 'M' // that message; its answer
	frameFault    = 'F' // what went wrong, as a text
	frameVerdict  = 'V' // the last one: the verdict for people
)

const largestFrame = 256 << 20

// lost ends the suite: nobody is at the other end.
func lost(err error) {
	if err != nil {
		panic(sdktest.Fault("the process of the mechanism is gone"))
	}
}

func (p *Piped) send(kind byte, body []byte) {
	head := binary.LittleEndian.AppendUint32([]byte{kind}, uint32(len(body)))
	_, err := p.out.Write(append(head, body...))
	lost(err)
}

func (p *Piped) receive() (kind byte, body []byte) {
	var head [5]byte
	_, err := io.ReadFull(p.in, head[:])
	lost(err)
	n := binary.LittleEndian.Uint32(head[1:])
	if n > largestFrame {
		lost(io.ErrShortBuffer)
	}
	body = make([]byte, n)
	_, err = io.ReadFull(p.in, body)
	lost(err)
	return head[0], body
}

// ask sends a message and reads the answer into another. A fault of the mechanism is a panic, as in Go.
func (p *Piped) ask(kind byte, m, answer proto.Message) {
	b, err := proto.Marshal(m)
	lost(err)
	p.send(kind, b)
	got, body := p.receive()
	if got == frameFault {
		panic(sdktest.Fault(body))
	}
	lost(proto.Unmarshal(body, answer))
}

// Verdict sends the verdict.
func (p *Piped) Verdict(text string) { p.send(frameVerdict, []byte(text)) }

// Describe asks the mechanism, at most twice.
func (p *Piped) Describe() sdk.Description {
	if p.asked < 2 {
		var m wire.Description
		p.ask(frameDescribe, &wire.DescribeRequest{}, &m)
		d, err := wire.ToDescription(&m)
		if err != nil {
			panic(sdktest.Fault(err.Error()))
		}
		p.asked, p.about = p.asked+1, &d
	}
	return *p.about
}

// About is the description that the suite was given, nothing where it was given none.
func (p *Piped) About() (d sdk.Description) {
	if p.about != nil {
		d = *p.about
	}
	return d
}

// Plan asks the mechanism.
func (p *Piped) Plan(req sdk.PlanRequest) (sdk.Plan, error) {
	m, err := wire.FromPlanRequest(p.Describe().Name, req)
	if err != nil {
		return sdk.Plan{}, err
	}
	var answer wire.PlanResponse
	p.ask(framePlan, m, &answer)
	if r, ok := answer.GetAnswer().(*wire.PlanResponse_Refusal); ok {
		return sdk.Plan{}, errors.New(r.Refusal)
	}
	plan, err := wire.ToPlan(answer.GetPlan())
	if err != nil {
		panic(sdktest.Fault("plan: " + err.Error()))
	}
	return plan, p.readable(plan, req)
}

// readable finds what the host cannot read in the queries and the finish of a plan.
func (p *Piped) readable(plan sdk.Plan, req sdk.PlanRequest) error {
	if !p.about.DeclaresQuery || len(plan.Queries) == 0 || plan.Check(req) != nil { // the suite finds these
		return nil
	}
	whole, err := finish.Complete(plan, req)
	if err == nil {
		_, err = finish.New(whole)
	}
	if refused := new(finish.Refusal); err != nil && !errors.As(err, &refused) {
		panic(sdktest.Fault(err.Error()))
	}
	return err
}

// Release answers the questions of the mechanism until it is through.
func (p *Piped) Release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) (sdk.Result, error) {
	var out sdk.Result
	m, err := wire.FromReleaseRequest(p.Describe().Name, req)
	if err != nil {
		return out, err
	}
	b, err := proto.Marshal(m)
	if err != nil {
		return out, err
	}
	p.send(frameRelease, b)
	for {
		switch kind, body := p.receive(); kind {
		case frameRows:
			b, err := rows.Next()
			switch {
			case err == io.EOF:
				p.send(frameEnd, nil)
			case err != nil:
				p.send(frameFault, []byte("the row stream was cut off"))
			default:
				p.send(frameRows, batchBytes(b))
			}
		case frameNoise:
			_, question := p.receive()
			answer, err := answerNoise(ctx, host, string(body), question)
			if err != nil {
				p.send(frameFault, []byte("the host refused the noise call"))
				continue
			}
			p.send(frameMessage, answer)
		case frameResult:
			var piece wire.ReleaseOutput
			lost(proto.Unmarshal(body, &piece))
			for i, c := range piece.GetColumns() {
				if len(out.Columns) == i {
					out.Columns = append(out.Columns, sdk.ResultColumn{Name: c.GetName()})
				}
				to := &out.Columns[i]
				to.Float64, to.Int64 = append(to.Float64, c.GetFloat64()...), append(to.Int64, c.GetInt64()...)
				var ok bool
				if to.Texts, ok = c.AppendTexts(to.Texts); !ok {
					return sdk.Result{}, errors.New("a code of the result stands for no text")
				}
			}
		case frameRelease:
			return out, nil
		default:
			return sdk.Result{}, errors.New(string(body))
		}
	}
}

// batchBytes are the number of rows and whether they have weights; then, of each column, whether some numbers
// are missing, the values, and which are present; then the weights.
func batchBytes(b *sdk.Batch) []byte {
	le := binary.LittleEndian
	out := le.AppendUint32(nil, uint32(b.Rows))
	flag := func(set bool) {
		if set {
			out = append(out, 1)
		} else {
			out = append(out, 0)
		}
	}
	numbers := func(all []float64) {
		for _, x := range all {
			out = le.AppendUint64(out, math.Float64bits(x))
		}
	}
	flag(b.Weights != nil)
	for _, c := range b.Columns {
		flag(c.Valid != nil)
		numbers(c.Float64)
		for _, x := range c.Codes {
			out = le.AppendUint32(out, uint32(x))
		}
		if c.Valid != nil {
			out = append(out, c.Valid[:(b.Rows+7)/8]...)
		}
	}
	numbers(b.Weights)
	return out
}

var errNoise = errors.New("no such noise")

// eventOf reads the event of a noise call.
func eventOf[E privacy.Event](b []byte) (e E, err error) {
	any, err := wire.ToEvent(b)
	e, ok := any.(E)
	if err == nil && !ok {
		err = errNoise
	}
	return e, err
}

// called reads the question of a noise call, makes the call, and writes the answer.
func called[E privacy.Event, M interface {
	proto.Message
	GetEvent() []byte
}](m M, question []byte, call func(E) (proto.Message, error)) ([]byte, error) {
	if err := proto.Unmarshal(question, m); err != nil {
		return nil, err
	}
	e, err := eventOf[E](m.GetEvent())
	if err != nil {
		return nil, err
	}
	answer, err := call(e)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(answer)
}

// answerNoise makes the call of a method of the service Noise.
func answerNoise(ctx context.Context, h sdk.Host, method string, question []byte) ([]byte, error) {
	switch method {
	case "AddLaplace":
		m := &wire.AddNoiseRequest{}
		return called(m, question, func(e privacy.DiscreteLaplace) (proto.Message, error) {
			out, err := h.AddLaplace(ctx, e, m.GetValues())
			return &wire.AddNoiseResponse{Values: out}, err
		})
	case "AddGaussian":
		m := &wire.AddNoiseRequest{}
		return called(m, question, func(e privacy.DiscreteGaussian) (proto.Message, error) {
			out, err := h.AddGaussian(ctx, e, m.GetValues())
			return &wire.AddNoiseResponse{Values: out}, err
		})
	case "SmoothLaplace":
		m := &wire.SmoothLaplaceRequest{}
		return called(m, question, func(e privacy.Approx) (proto.Message, error) {
			out, err := h.SmoothLaplace(ctx, e, m.GetValue(), m.GetScale(), m.GetGranularity())
			return &wire.SmoothLaplaceResponse{Value: out}, err
		})
	case "Select":
		m := &wire.SelectRequest{}
		return called(m, question, func(e privacy.Selection) (proto.Message, error) {
			var pieces []sdk.Piece
			for _, x := range m.GetPieces() {
				pieces = append(pieces, sdk.Piece{Lo: x.GetLo(), Hi: x.GetHi(), Score: x.GetScore(), Slope: x.GetSlope()})
			}
			out, err := h.Select(ctx, e, pieces, m.GetRate())
			return &wire.SelectResponse{Point: out}, err
		})
	case "RandomizeCategories":
		m := &wire.RandomizeRequest{}
		return called(m, question, func(e privacy.RandomizedResponse) (proto.Message, error) {
			out, err := h.RandomizeCategories(ctx, e, m.GetCodes())
			return &wire.RandomizeResponse{Codes: out}, err
		})
	case "NextSample":
		return called(&wire.NextSampleRequest{}, question, func(e privacy.Event) (proto.Message, error) { return sampled(ctx, h, e) })
	}
	return nil, errNoise
}

// sampled draws a sample or a batch, as the gaps between its rows.
func sampled(ctx context.Context, h sdk.Host, e privacy.Event) (proto.Message, error) {
	var rows []int64
	err := errNoise
	switch e := e.(type) {
	case privacy.LastIterate:
		rows, err = h.NextBatch(ctx, e)
	case privacy.Sampling:
		rows, err = h.NextSample(ctx, e)
	}
	out, at := &wire.NextSampleResponse{}, int64(-1)
	for _, r := range rows {
		out.Gaps, at = append(out.Gaps, uint64(r-at-1)), r
	}
	return out, err
}
