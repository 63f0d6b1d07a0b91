package sdktest

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/dprelease/dprelease/internal/calls"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// SmoothClaim is how a mechanism splits the (ε, δ) of a SmoothLaplace call: the
// value moves by at most Shift·scale between neighbours, and the scale by a factor
// of at most e^±Beta.
type SmoothClaim struct{ Beta, Shift float64 }

// SmoothClaimer is a mechanism that says how it splits its SmoothLaplace calls, in
// their order (the last of them again where there are more calls). The suite then
// holds it to that as well; without it, it is held to the event alone.
type SmoothClaimer interface {
	SmoothClaims(req sdk.PlanRequest) ([]SmoothClaim, error)
}

// replayer runs pairs of tables through a subject.
type replayer struct {
	subject Subject
	req     sdk.PlanRequest
	plan    sdk.Plan
	layout  layout
	smooth  []SmoothClaim
	used    map[string]float64
	calls   int
	tries   int // to shrink a counterexample
	seed    uint64

	known    func(check string) bool // what was found already
	failures int                     // releases that failed since one did not, -1 after the first that did not
}

// run records a release of the left table and replays it on the right one with the
// same noise. It returns the first promise that is broken, or nil.
func (r *replayer) run(ctx context.Context, p pair, seed uint64) *violation {
	t := newTape(rand.New(rand.NewPCG(seed, r.seed)), p.focus)
	t.rows = p.left
	a, left, err := r.measured(ctx, p.left, p.batch[0], t)
	r.calls += len(a.Calls)
	if err != nil {
		if r.failures >= 0 {
			r.failures++
		}
		return failure("A", err)
	}
	r.failures = -1
	t.rewind(p.right)
	b, right, err := r.measured(ctx, p.right, p.batch[1], t)
	c := comparison{pair: p, smooth: r.smooth, used: r.used}
	if v := c.calls(a.Calls, b.Calls); v != nil {
		return v
	}
	if err != nil && !errors.Is(err, errTape) {
		return failure("B", err)
	}
	if len(a.Calls) != len(b.Calls) || err != nil {
		return broken("calls", "%d noise calls on one table, %d on its neighbour", len(a.Calls), len(b.Calls))
	}
	if what, ok := sameResult(a.Result, b.Result); !ok {
		return broken("result", "with the same noise, %s of the result differs between the tables: it depends on rows by more than the noisy answers", what)
	}
	return r.effort(ctx, p, seed, left, right)
}

// failure names what an error of a release breaks. A release may not fail on a
// table that its plan admits: that it failed would say something about the rows.
func failure(table string, err error) *violation {
	for _, k := range []struct {
		check string
		is    error
	}{
		{"deadline", ErrDeadline}, {"protocol", ErrProtocol}, {"panic", ErrPanic}, {"nonfinite", sdk.ErrNonFinite},
		{"lattice", sdk.ErrLattice}, {"calls", calls.ErrDiffers}, {"shape", sdk.ErrShape}, {"error", err},
	} {
		if errors.Is(err, k.is) {
			return broken(k.check, "on table %s: %v", table, err)
		}
	}
	return nil
}
