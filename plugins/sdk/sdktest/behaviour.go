package sdktest

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// patience is the time that a release may take to notice that it was given up.
const patience = 5 * time.Second

// largestBatch is the most rows that a host puts into one batch (plugin-v1).
const largestBatch = 32768

// behaviour checks what a plan promises besides its query: a failure of the host ends a
// release, and a release can be given up.
func (r *replayer) behaviour(ctx context.Context, out *Report, g *generator) {
	rows := g.table(g.size(), mixed)
	r.found(out, r.groups(ctx, rows))
	r.found(out, r.refused(ctx, rows))
	r.found(out, r.canceled(ctx, rows))
	if p, ok := r.subject.(inProcess); ok {
		r.found(out, r.cutOff(ctx, p.m, rows))
	}
}

// found reports a violation that needs no pair of tables.
func (r *replayer) found(out *Report, v *violation) {
	if v != nil {
		out.add(Finding{Check: v.check, Detail: v.detail, Request: describeRequest(r.req)})
	}
}

// endurance checks what takes many rows or many releases.
func (r *replayer) endurance(ctx context.Context, out *Report, g *generator, cfg Config) {
	r.found(out, r.longest(ctx, g))
	if cfg.Releases > 0 && !out.costly() {
		r.found(out, r.memory(ctx, g.table(g.size(), mixed), cfg.Releases))
	}
}

// errNoNoise is the answer of a host that cannot draw noise.
var errNoNoise = errors.New("the host could not draw the noise")

// failing is a host whose every call ends with the error of fail.
type failing struct{ fail func(context.Context) error }

func (f failing) AddLaplace(ctx context.Context, _ privacy.DiscreteLaplace, _ []int64) ([]int64, error) {
	return nil, f.fail(ctx)
}

func (f failing) AddGaussian(ctx context.Context, _ privacy.DiscreteGaussian, _ []int64) ([]int64, error) {
	return nil, f.fail(ctx)
}

func (f failing) SmoothLaplace(ctx context.Context, _ privacy.Approx, _, _, _ float64) (float64, error) {
	return 0, f.fail(ctx)
}

func (f failing) Select(ctx context.Context, _ privacy.Selection, _ []sdk.Piece, _ float64) (int64, error) {
	return 0, f.fail(ctx)
}

func (f failing) RandomizeCategories(ctx context.Context, _ privacy.RandomizedResponse, _ []int32) ([]int32, error) {
	return nil, f.fail(ctx)
}

func (f failing) NextBatch(ctx context.Context, _ privacy.LastIterate) ([]int64, error) {
	return nil, f.fail(ctx)
}

func (f failing) NextSample(ctx context.Context, _ privacy.Sampling) ([]int64, error) {
	return nil, f.fail(ctx)
}

// refused: when the host refuses a noise call, a result without its noise must not
// be returned.
func (r *replayer) refused(ctx context.Context, rows []record) *violation {
	out, err := r.subject.Release(ctx, r.req, r.plan, r.layout.table(rows, 0),
		failing{func(context.Context) error { return errNoNoise }})
	switch {
	case len(out.Calls) == 0 || out.Description.SelfNoising:
		return nil // nothing was refused
	case err == nil || out.Result.Columns != nil:
		return broken("host-refusal", "the host refused a noise call, and a result was returned all the same")
	}
	return nil
}

// canceled: a release that is given up while it waits for noise must end soon.
func (r *replayer) canceled(ctx context.Context, rows []record) *violation {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type end struct {
		out Outcome
		err error
	}
	done := make(chan end, 1)
	var once sync.Once
	asked := make(chan struct{})
	host := failing{func(ctx context.Context) error { // it never answers
		once.Do(func() { close(asked) })
		<-ctx.Done()
		return ctx.Err()
	}}
	go func() {
		out, err := r.subject.Release(ctx, r.req, r.plan, r.layout.table(rows, 0), host)
		done <- end{out, err}
	}()
	select {
	case <-asked:
	case <-done: // it made no call, which other checks have an opinion about
		return nil
	}
	cancel()
	select {
	case e := <-done:
		if e.err == nil {
			return broken("cancel", "the release was given up during a noise call, and a result was returned all the same")
		}
	case <-time.After(patience):
		return broken("cancel",
			"the release still runs %v after it was given up; hand the context to the noise calls and look at it in long loops", patience)
	}
	return nil
}

// errCut is the end of a row stream that lacks its end mark.
var errCut = errors.New("the row stream was cut off")

// cut is a stream that breaks off after its first batch.
type cut struct{ rows }

func (c *cut) Next() (*sdk.Batch, error) {
	b, err := c.rows.Next()
	if err == io.EOF {
		err = errCut
	}
	return b, err
}

// cutOff: a release that has not seen every row must fail.
func (r *replayer) cutOff(ctx context.Context, m sdk.Mechanism, table []record) (v *violation) {
	rows, err := newRows(r.layout.table(table, 0), r.req.Public, r.plan)
	if err != nil {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			v = broken("panic", "when the row stream is cut off: %v", p)
		}
	}()
	_, err = m.Release(ctx, sdk.ReleaseRequest{PlanRequest: r.req, Plan: r.plan},
		&cut{*rows}, NoNoise{Rows: len(table)})
	if err == nil {
		return broken("rows-error", "the row stream broke off, and a result was returned all the same")
	}
	return nil
}

// longest runs a table of many batches of the largest size, where the size of the
// sample is free.
func (r *replayer) longest(ctx context.Context, g *generator) *violation {
	if g.design.SampleSize > 0 || g.design.LargestCount > 0 {
		return nil
	}
	base := g.table(64, mixed)
	rows := make([]record, 0, crowdRows)
	for i := range cap(rows) {
		rows = append(rows, base[i%len(base)])
		rows[i].id = i
	}
	t := newTape(g.rng, 0)
	t.rows, t.fill = rows, -1
	if _, err := r.subject.Release(ctx, r.req, r.plan, r.layout.table(rows, largestBatch), t); err != nil {
		return failure("of 65541 rows", err)
	}
	return nil
}

// Memory that may be gained over the second nine tenths of the releases: per release,
// and what the runtime may take for itself.
const (
	growthEach  = 256
	growthSlack = 256 << 10
)

// Gauge is a Subject that knows how much memory its mechanism has in use, and by how
// much that may vary.
type Gauge interface {
	Memory() (used, slack uint64, err error)
}

// memory runs the same release many times and compares what is in use.
func (r *replayer) memory(ctx context.Context, rows []record, n int) *violation {
	table := r.layout.table(rows, 0)
	gauge, ok := r.subject.(Gauge)
	slack := uint64(growthSlack)
	var before uint64
	for i := range n + 1 {
		if i == n/10 || i == n {
			now := heap()
			if ok {
				var err error
				if now, slack, err = gauge.Memory(); err != nil {
					return nil
				}
			}
			if i == n && now > before+slack+growthEach*uint64(n) {
				return broken("memory", "memory grew by %d bytes over %d releases", now-before, n-n/10)
			}
			before = now
		}
		if i == n || ctx.Err() != nil {
			break
		}
		seen, err := r.subject.Release(ctx, r.req, r.plan, table, NoNoise{Rows: len(rows)})
		if err != nil {
			return nil // other checks say so
		}
		if i == 0 && len(seen.Calls) > 0 {
			n = min(n, max(100, 50_000/len(seen.Calls))) // releases of very many calls
		}
	}
	return nil
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}
