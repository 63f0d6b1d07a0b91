package sdktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// Config sets the effort of the suite. The zero value stands for the defaults.
type Config struct {
	// Requests are the requests that the mechanism is to plan and release; empty stands for those
	// that Requests finds.
	Requests []sdk.PlanRequest
	// Seed chooses the tables. The same seed makes the same tables.
	Seed uint64
	// Seeds is the number of seeds that are tried, from Seed on; 1.
	Seeds int
	// Pairs is the number of pairs of tables that a request is tried with for each seed; 150. Fewer are tried
	// where a release has very many noise calls.
	Pairs int
	// Releases is the number of releases over which the growth of memory is watched; 1000, and
	// negative for none.
	Releases int
	// Sizes is the number of large tables that the first request of a linear mechanism is tried with; 48, and
	// negative for none.
	Sizes int
	// Runs is the number of runs of a mechanism that draws its own noise on each table of
	// a pair; 4000.
	Runs int
	// Shrink is the number of pairs that are tried to make a counterexample smaller; 400.
	Shrink int

	_ struct{}
}

func (c Config) filled() Config {
	c.Seeds, c.Pairs, c.Releases = cmp.Or(c.Seeds, 1), cmp.Or(c.Pairs, 150), cmp.Or(c.Releases, 1000)
	c.Shrink, c.Runs, c.Sizes = cmp.Or(c.Shrink, 400), cmp.Or(c.Runs, 4000), cmp.Or(c.Sizes, 48)
	return c
}

// Finding is one promise that the mechanism broke.
type Finding struct {
	// Check names the promise; specs/conformance-v1.md lists them.
	Check string `json:"check"`
	// Detail describes the observation. It holds generated data only.
	Detail string `json:"detail"`
	// Request is the request that was planned.
	Request string `json:"request,omitempty"`
	// Tables is the counterexample: a pair of generated tables.
	Tables string `json:"tables,omitempty"`
}

// Report holds the findings of the suite. A report without findings proves nothing.
type Report struct {
	Mechanism   string    `json:"mechanism"`
	Version     string    `json:"version"`
	SelfNoising bool      `json:"self_noising"`
	Seed        uint64    `json:"seed"`
	Requests    int       `json:"requests"`
	Refused     int       `json:"refused"`
	Pairs       int       `json:"pairs"`
	Calls       int       `json:"noise_calls"`
	Findings    []Finding `json:"findings"`
	// Used is the largest share of a declared sensitivity that a pair used up.
	Used map[string]float64 `json:"used"`
	// Statistics are the lower bounds found for a mechanism that draws its own noise.
	Statistics []Statistic `json:"statistics,omitempty"`

	// Ended says why the suite ended before it was through, "" where it was through.
	Ended string `json:"ended,omitempty"`

	over func() bool // the suite was given up
}

// Refuted reports whether a promise was seen broken.
func (r *Report) Refuted() bool { return len(r.Findings) > 0 }

// Verdict is REFUTED or NOT REFUTED. There is no third: no test can pass a
// mechanism.
func (r *Report) Verdict() string {
	if r.Refuted() {
		return "REFUTED"
	}
	return "NOT REFUTED"
}

// Found reports whether a promise of that name was seen broken.
func (r *Report) Found(check string) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Check == check })
}

// add keeps the first finding of each check. After the suite is canceled it keeps none:
// the releases under way fail, which says nothing about the mechanism.
func (r *Report) add(f Finding) {
	if r.over != nil && r.over() {
		return
	}
	if !r.Found(f.Check) {
		r.Findings = append(r.Findings, f)
	}
}

// Check runs the suite. An error means that it could not be run at all; what it
// finds is in the report.
func Check(ctx context.Context, s Subject, cfg Config) (*Report, error) {
	cfg = cfg.filled()
	r := &Report{Seed: cfg.Seed, Used: map[string]float64{}, Findings: []Finding{}, over: func() bool { return ctx.Err() != nil }}
	d, err := s.Describe(ctx)
	if err != nil {
		r.add(Finding{Check: "describe", Detail: err.Error()})
		return r, ctx.Err()
	}
	r.Mechanism, r.Version, r.SelfNoising = d.Name, d.Version, d.SelfNoising
	requests := cfg.Requests
	if len(requests) == 0 {
		if requests, err = Requests(ctx, s, cfg.Seed); err != nil {
			return r, err
		}
	}
	tried, failed, refusal := 0, 0, error(nil)
	for i, req := range requests {
		if failed == hopeless {
			r.Ended = Hopeless
			break
		}
		plan, err := s.Plan(ctx, req)
		if errors.Is(err, ErrRefused) {
			r.Refused, refusal = r.Refused+1, err
			continue
		}
		tried++
		if err != nil {
			r.add(Finding{Check: "plan", Detail: err.Error(), Request: describeRequest(req)})
			failed++
			continue
		}
		if plan.Event == nil { // the host makes the rest of a plan with queries, and its releases
			r.Requests = tried
			continue
		}
		if f := price(req, plan); f != nil {
			r.add(*f)
		}
		if r.checkRequest(ctx, s, d, req, plan, cfg, uint64(i)) {
			failed = 0
		} else {
			failed++
		}
		r.Requests = tried
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
	}
	r.Requests = tried
	if tried == 0 {
		return r, fmt.Errorf("the mechanism refuses every request that was tried; give requests that it accepts: %w", refusal)
	}
	return r, nil
}

// Hopeless is why the suite ends early where nothing of a mechanism works.
const Hopeless = "every release fails"

// hopeless is the number of requests in a row whose releases may all fail.
const hopeless = 3

// checkRequest runs everything that needs one accepted plan. It returns false where every
// release failed.
func (r *Report) checkRequest(ctx context.Context, s Subject, d sdk.Description, req sdk.PlanRequest, plan sdk.Plan, cfg Config,
	index uint64) bool {
	_, direct := s.(inProcess)
	rep := &replayer{subject: s, req: req, plan: plan, used: r.Used, tries: cfg.Shrink}
	if p, ok := s.(inProcess); ok {
		if c, ok := p.m.(SmoothClaimer); ok {
			var err error
			if rep.smooth, err = c.SmoothClaims(req); err != nil {
				r.add(Finding{Check: "plan", Detail: err.Error(), Request: describeRequest(req)})
			}
		}
	}
	for seed := cfg.Seed; seed-cfg.Seed < uint64(cfg.Seeds); seed++ {
		rng := rand.New(rand.NewPCG(seed, index))
		g := newGenerator(req, plan, d.Relations, rng)
		if len(g.relations) == 0 {
			return true // no neighbour of this sample that the mechanism claims anything about
		}
		rep.layout, rep.seed = g.layout, rng.Uint64()
		if d.SelfNoising {
			r.falsify(ctx, rep, g, cfg)
		} else {
			rep.pairs(ctx, r, g, cfg.Pairs)
		}
		if rep.failures == giveUp {
			return false
		}
		if d.Linear && seed == cfg.Seed {
			rep.whole(ctx, r, g, d.Relations, cfg.Sizes, index == 0)
		}
		// A process does not survive these checks: they are made with a few requests.
		if seed == cfg.Seed && (direct || index < 3) {
			rep.behaviour(ctx, r, g)
		}
		if seed == cfg.Seed && index == 0 {
			rep.endurance(ctx, r, g, cfg)
			rep.many(ctx, r, d, rng)
		}
	}
	return true
}

// giveUp is the number of failed releases after which a request is given up, if none has worked.
const giveUp = 8

// pairs is record and replay over many pairs, with a counterexample shrunk for each
// promise that is broken.
func (r *replayer) pairs(ctx context.Context, out *Report, g *generator, n int) {
	before := r.calls
	r.known = out.Found
	if out.costly() {
		n = min(n, 4)
	}
	for i := 0; i < n && ctx.Err() == nil; i++ {
		p := g.pair()
		seed := g.rng.Uint64()
		v := r.run(ctx, p, seed)
		out.Pairs++
		if r.failures == giveUp {
			n = 0
		}
		if made := r.calls - before; i == 0 && made > 0 {
			n = min(n, max(12, 20_000/made)) // releases of very many calls
		}
		if v == nil || out.Found(v.check) {
			continue
		}
		used := r.used
		r.used = nil
		if v.check == "deadline" || v.check == "time" || v.check == "memory-by-row" {
			r.tries, n = min(r.tries, 2), 0 // each of them takes its time
		}
		p = shrink(r.layout, p, g.design.SampleSize > 0, r.tries, func(q pair) bool {
			w := r.run(ctx, q, seed)
			if w == nil || w.check != v.check {
				return false
			}
			v = w
			return true
		})
		r.used = used
		out.add(Finding{
			Check: v.check, Detail: fmt.Sprintf("%s (%s): %s", p.what, p.relation, v.detail),
			Request: describeRequest(r.req), Tables: r.layout.print(p),
		})
	}
	out.Calls += r.calls - before
}

// costly reports whether a release was seen to take very much, so that not many more
// should be made.
func (r *Report) costly() bool {
	return r.Found("deadline") || r.Found("time") || r.Found("memory-by-row")
}

// price holds the event to the target under every relation that is asked for. The
// host does the same before it debits anything.
func price(req sdk.PlanRequest, plan sdk.Plan) *Finding {
	for _, rel := range req.Public.SampleRelations {
		a, err := privacy.EpsilonAt(plan.Event, rel, req.Target.Delta)
		if err == nil && a.Epsilon <= req.Target.Epsilon {
			continue
		}
		detail := fmt.Sprintf("the event costs epsilon %v at delta %v under %v, more than the %v there is", a.Epsilon, req.Target.Delta, rel,
			req.Target.Epsilon)
		if err != nil {
			detail = fmt.Sprintf("the event has no price under %v: %v", rel, err)
		}
		return &Finding{Check: "price", Detail: detail, Request: describeRequest(req)}
	}
	return nil
}

// describeRequest is a request on one line.
func describeRequest(req sdk.PlanRequest) string {
	var rel []string
	for _, r := range req.Public.SampleRelations {
		rel = append(rel, r.String())
	}
	return fmt.Sprintf("params %s, design %s, sample relations %s, epsilon %v, delta %v",
		req.Params, req.Public.Design.Kind, strings.Join(rel, "+"), req.Target.Epsilon, req.Target.Delta)
}

// T is the part of testing.TB that Test uses.
type T interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
}

// Test runs the suite on m and fails t with every counterexample.
func Test(t T, m sdk.Mechanism, cfg Config) {
	t.Helper()
	r, err := Check(t.Context(), InProcess(m), cfg)
	if err != nil {
		t.Fatalf("the suite could not be run: %v", err)
		return
	}
	for _, f := range r.Findings {
		t.Errorf("%s: %s\n%s\n%s", f.Check, f.Detail, f.Request, f.Tables)
	}
	t.Logf("%s: %d requests, %d pairs of tables, %d noise calls", r.Verdict(), r.Requests, r.Pairs, r.Calls)
}
