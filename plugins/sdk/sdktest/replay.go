package sdktest

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/dprelease/dprelease/internal/plugin/calls"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// SmoothClaim divides the (ε, δ) of a SmoothLaplace call as a mechanism does: the
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
		return broken("result",
			"with the same noise, %s of the result differs between the tables: it depends on rows by more than the noisy answers", what)
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

// Neighbours are two tables as a host hands them over, one step of a relation apart.
type Neighbours struct {
	Left, Right Table
	Relation    privacy.Relation

	_ struct{}
}

// Compare runs a plan on two neighbouring tables with the same noise. It returns the first
// promise that is broken, nil where none is, and how many noise calls it saw.
func Compare(ctx context.Context, s Subject, req sdk.PlanRequest, plan sdk.Plan, n Neighbours, seed uint64) (*Finding, int) {
	r := &replayer{subject: s, req: req, plan: plan, layout: newLayout(req, plan), seed: seed}
	p := pair{left: r.layout.records(n.Left), right: r.layout.records(n.Right), relation: n.Relation, distance: 1}
	for p.focus < min(len(p.left), len(p.right)) && same(p.left[p.focus], p.right[p.focus]) {
		p.focus++ // a record's id is its place
	}
	v := r.run(ctx, p, seed)
	if v == nil {
		return nil, r.calls
	}
	return &Finding{Check: v.check, Detail: v.detail, Request: describeRequest(req), Tables: r.layout.print(p)}, r.calls
}

// records are the rows of a table.
func (l layout) records(t Table) []record {
	out := make([]record, t.Rows)
	for i := range out {
		out[i] = record{id: i, weight: 1}
		for _, c := range l.columns {
			v := t.Columns[c.Name]
			x := cell{valid: v.Valid == nil || v.Valid[i>>3]>>(i&7)&1 == 1}
			if c.Type == sdk.Category {
				x = cell{code: v.Codes[i], valid: v.Codes[i] >= 0}
			} else {
				x.x = v.Float64[i]
			}
			out[i].cells = append(out[i].cells, x)
		}
		if l.weights {
			out[i].weight = t.Weights[i]
		}
	}
	return out
}
