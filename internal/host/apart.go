package host

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"sync/atomic"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// vectorRows is about how many rows a linear mechanism turns into one vector.
const vectorRows = 1 << 18

// maxLinearCalls bounds the noise calls of a linear mechanism.
const maxLinearCalls = 1024

// ReleaseApart carries out the plan of a linear mechanism in two processes. This process turns
// rows into vectors. The host limits each vector to what its rows can add, adds the vectors up,
// and draws the noise. Finish, another process of the same plugin, runs the release on no rows:
// the host answers its noise calls with the noisy sums. It makes the result and has never seen a
// row.
//
// # Contract
//
// The result depends on rows only through the noisy sums, if the two processes cannot reach
// one another. Proof: apart.proof.md. That the sums have the declared sensitivity remains the
// mechanism's claim.
//
// Feed, errors and the event are those of Release. The answer of this process is dropped.
func (p *Plugin) ReleaseApart(ctx context.Context, finish *Plugin, req sdk.ReleaseRequest,
	feed func(ctx context.Context, w RowWriter) error, drawer Drawer) (sdk.Result, privacy.Event, error) {
	calls, err := linearCalls(nil, req.Plan.Event)
	if err != nil {
		return sdk.Result{}, nil, p.fault(CodePlan)
	}
	s := &sums{calls: calls, add: make([][]int64, len(calls))}
	ctx, cancel := context.WithTimeout(ctx, p.limits.Release)
	defer cancel()
	if err := p.reference(ctx, req, s); err != nil {
		return sdk.Result{}, nil, err
	}
	h := newHand(ctx)
	read := make(chan error, 1)
	go func() {
		defer close(h.gone)
		read <- p.vectors(ctx, req, s, h)
	}()
	fedErr := feed(ctx, h)
	close(h.rows)
	if err := <-read; err != nil {
		return sdk.Result{}, nil, err
	}
	if fedErr != nil {
		return sdk.Result{}, nil, fedErr
	}
	return finish.Finish(ctx, req, s.add, drawer)
}

// vectors has the plugin turn the rows into vectors, one release for some rows at a time.
func (p *Plugin) vectors(ctx context.Context, req sdk.ReleaseRequest, s *sums, h *hand) error {
	b, err := h.Next()
	ended := func() error { // nil at the end of the rows
		if err == io.EOF {
			return nil
		}
		return err
	}
	for err == nil {
		s.begin()
		_, _, failed := p.Release(ctx, req, func(_ context.Context, w RowWriter) error {
			for s.rows.Load() < vectorRows && err == nil {
				s.rows.Add(int64(b.Rows))
				if failed := w.Write(*b); failed != nil {
					return failed
				}
				b, err = h.Next()
			}
			return ended()
		}, s)
		if failed != nil {
			return failed
		}
	}
	return ended()
}

// reference asks for the vector of one public row. Where a plan says only how far a replaced
// row moves the query, the vectors of n rows lie around n times this vector.
func (p *Plugin) reference(ctx context.Context, req sdk.ReleaseRequest, s *sums) error {
	if !slices.ContainsFunc(s.calls, func(c linearCall) bool { return c.centred }) {
		return nil
	}
	columns, err := req.Plan.Declared(req.Public)
	if err != nil {
		return err
	}
	row := sdk.Batch{Rows: 1}
	for _, c := range columns {
		v := sdk.Values{Codes: []int32{0}}
		if c.Type == sdk.Number {
			v = sdk.Values{Float64: []float64{c.Lower}}
		}
		row.Columns = append(row.Columns, v)
	}
	if d := req.Public.Design; !d.EqualWeights {
		row.Weights = []float64{d.MinWeight}
	}
	first := &sums{calls: slices.Clone(s.calls), add: make([][]int64, len(s.calls))}
	for i := range first.calls {
		first.calls[i].bound = math.Inf(1)
	}
	first.begin()
	first.rows.Store(1)
	_, _, err = p.Release(ctx, req, func(_ context.Context, w RowWriter) error { return w.Write(row) }, first)
	s.centre = first.add
	return err
}

// hand passes batches from a feed in one goroutine to a reader in another.
type hand struct {
	ctx  context.Context // of the reader
	rows chan sdk.Batch
	took chan struct{} // the reader is done with a batch
	gone chan struct{} // nobody reads any more
	now  sdk.Batch
	have bool // the reader holds now
}

func newHand(ctx context.Context) *hand {
	return &hand{ctx: ctx, rows: make(chan sdk.Batch), took: make(chan struct{}), gone: make(chan struct{})}
}

var errGone = errors.New("the plugin takes no more rows")

// Write waits until the reader is done with the batch.
func (h *hand) Write(b sdk.Batch) error {
	select {
	case h.rows <- b:
	case <-h.gone:
		return errGone
	}
	select {
	case <-h.took:
		return nil
	case <-h.gone:
		return errGone
	}
}

// Next gives the batch before back, and takes the next one. It returns io.EOF after the last.
func (h *hand) Next() (*sdk.Batch, error) {
	if h.have {
		h.have = false
		select {
		case h.took <- struct{}{}:
		case <-h.ctx.Done():
			return nil, h.ctx.Err()
		}
	}
	select {
	case b, more := <-h.rows:
		if !more {
			return nil, cmp.Or(h.ctx.Err(), io.EOF) // Vectors ends the context of a feed that failed
		}
		h.now, h.have = b, true
		return &h.now, nil
	case <-h.ctx.Done():
		return nil, h.ctx.Err()
	}
}

// linearCall is a noise call of a linear mechanism.
type linearCall struct {
	euclidean bool    // the bound is on the L2 norm, otherwise on the L1 norm
	bound     float64 // what one row can add to the vector
	centred   bool    // apart from the vector of the reference row
}

// linearCalls lists the calls of an event. It fails for calls that a linear mechanism does not make.
func linearCalls(calls []linearCall, e privacy.Event) ([]linearCall, error) {
	add := func(s privacy.Sensitivity, euclidean bool) {
		c := linearCall{euclidean: euclidean, bound: s.Under(privacy.AddRemove)}
		if c.bound == 0 {
			c.bound, c.centred = s.Under(privacy.ReplaceOne), true
		}
		calls = append(calls, c)
	}
	var err error
	switch e := e.(type) {
	case privacy.DiscreteLaplace:
		add(e.Sensitivity, false)
	case privacy.DiscreteGaussian:
		add(e.Sensitivity, true)
	case privacy.Compose:
		for _, child := range e.Events {
			if calls, err = linearCalls(calls, child); err != nil {
				return nil, err
			}
		}
	case privacy.Repeat:
		for range min(e.N, maxLinearCalls+1) {
			if calls, err = linearCalls(calls, e.Event); err != nil {
				return nil, err
			}
		}
	default:
		return nil, errors.New("a linear mechanism adds Laplace or Gaussian noise, and nothing else")
	}
	if len(calls) > maxLinearCalls {
		return nil, errors.New("a linear mechanism makes at most 1024 noise calls")
	}
	return calls, nil
}

// sums adds up the vectors of a linear mechanism. As a Drawer it takes a vector and answers
// with zeros, which carry no information.
type sums struct {
	Drawer // nil: a linear mechanism makes no other call
	calls  []linearCall
	centre [][]int64 // the vectors of the reference row, nil where there is none
	add    [][]int64
	at     int          // the next call
	rows   atomic.Int64 // how many rows the next vectors are made of
}

// begin prepares for the vectors of the next rows.
func (s *sums) begin() {
	s.at = 0
	s.rows.Store(0)
}

// AddLaplace takes a vector.
func (s *sums) AddLaplace(_ privacy.DiscreteLaplace, values []int64) error { return s.take(values) }

// AddGaussian takes a vector.
func (s *sums) AddGaussian(_ privacy.DiscreteGaussian, values []int64) error { return s.take(values) }

var errVector = errors.New("the vector cannot be added")

func (s *sums) take(values []int64) error {
	c, k := s.calls[s.at], s.at
	s.at++
	var centre []int64
	if s.centre != nil {
		if centre = s.centre[k]; len(centre) != len(values) {
			return errVector
		}
	}
	c.limit(values, centre, s.rows.Load())
	if err := plus(&s.add[k], values); err != nil {
		return err
	}
	clear(values)
	return nil
}

// plus adds a vector to a sum, which begins as nil.
func plus(sum *[]int64, values []int64) error {
	if *sum == nil {
		*sum = make([]int64, len(values))
	}
	if len(*sum) != len(values) {
		return errVector
	}
	for i, v := range values {
		next := (*sum)[i] + v
		if (next < v) != ((*sum)[i] < 0) {
			return errVector // it overflows
		}
		(*sum)[i] = next
	}
	return nil
}

// limit shortens a vector, in place, that is longer than its rows can make it. Afterwards its
// norm, or its distance from rows times the centre, is at most rows times the bound, up to
// rounding. It does not change the vector of a mechanism that keeps to its plan.
func (c linearCall) limit(values, centre []int64, rows int64) {
	middle := func(i int) float64 {
		if !c.centred || centre == nil {
			return 0
		}
		return float64(centre[i]) * float64(rows)
	}
	norm := 0.0
	for i, v := range values {
		d := math.Abs(float64(v) - middle(i))
		if c.euclidean {
			norm = math.Hypot(norm, d)
		} else {
			norm += d
		}
	}
	most := float64(rows) * c.bound * (1 + 0x1p-30) // more than the rounding of a norm
	if norm <= most {
		return
	}
	for i, v := range values {
		m := middle(i)
		values[i] = int64(math.Max(-0x1p62, math.Min(0x1p62, math.Trunc(m+(float64(v)-m)*(most/norm)))))
	}
}

// finisher answers the noise calls of the process that finishes with the noisy sums.
type finisher struct {
	Drawer
	sums [][]int64
	at   int
}

// AddLaplace replaces the zeros of a release without rows by the sums, and adds noise.
func (f *finisher) AddLaplace(ev privacy.DiscreteLaplace, values []int64) error {
	if err := f.put(values); err != nil {
		return err
	}
	return f.Drawer.AddLaplace(ev, values)
}

// AddGaussian is AddLaplace with Gaussian noise.
func (f *finisher) AddGaussian(ev privacy.DiscreteGaussian, values []int64) error {
	if err := f.put(values); err != nil {
		return err
	}
	return f.Drawer.AddGaussian(ev, values)
}

func (f *finisher) put(values []int64) error {
	sum := f.sums[f.at]
	f.at++
	if slices.ContainsFunc(values, func(v int64) bool { return v != 0 }) || sum != nil && len(sum) != len(values) {
		return errVector // a query that is not 0 without rows is not linear
	}
	copy(values, sum)
	return nil
}
