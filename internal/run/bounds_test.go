package run

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/bounds"
	"github.com/dprelease/dprelease/plugins/sdk"
	sumof "github.com/dprelease/dprelease/plugins/sum"
	"github.com/dprelease/dprelease/privacy"
)

// searched is a mechanism whose selection is noted, and decided by the test.
type searched struct {
	within
	seen *selection
}

type selection struct {
	pick   int
	pieces []sdk.Piece
	rate   float64
}

type deciding struct {
	noted
	seen *selection
}

func (d deciding) Select(_ context.Context, _ privacy.Selection, pieces []sdk.Piece, rate float64) (int64, error) {
	d.seen.pieces, d.seen.rate = pieces, rate
	return int64(d.seen.pick), nil
}

func (s searched) Release(ctx context.Context, r sdk.ReleaseRequest, feed func(context.Context, host.RowWriter) error, _ host.Drawer) (sdk.Result, error) {
	fed := &collected{}
	if err := feed(ctx, fed); err != nil {
		return sdk.Result{}, err
	}
	return s.Mechanism.Release(ctx, r, fed, deciding{noted{calls: s.calls}, s.seen})
}

// boundedTable is a job with a bound that is found, on a tiny table.
type boundedTable struct {
	tiny
	t    *testing.T
	plan *plan.Priced
	file string
}

type boundedShelf struct{}

func (boundedShelf) Get(_ context.Context, name string) (planned.Mechanism, error) {
	return within{map[string]sdk.Mechanism{"sum": sumof.Mechanism{}, "bounds": bounds.Mechanism{}}[name], nil}, nil
}

func newBoundedTable(t *testing.T, relation string, rows int) *boundedTable {
	b := &boundedTable{t: t, file: filepath.Join(t.TempDir(), "t.csv")}
	size := ""
	if relation == "replace-one" {
		size = fmt.Sprintf("\n  size: %d", rows)
	}
	j, err := language.Parse("job.yaml", fmt.Appendf(nil, `version: 1
job: tiny
dataset:
  id: tiny
  source: {path: "%s"}
  relation: %s%s
  columns:
    x: {bounds: {private: {epsilon: "0.8"}, at_most: 4}, missing: drop}
budget: {limit: {epsilon: 100}}
releases:
  - {name: total, mechanism: sum, params: {column: x}, guarantee: {epsilon: "0.5"}}
output: {dir: out}
`, b.file, relation, size), language.Options{})
	if err == nil {
		b.plan, err = plan.Make(t.Context(), j, boundedShelf{}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// run returns the input of the selection, and that of the noise with the bound that was picked.
func (b *boundedTable) run(values []float64, pick int) (selection, call, sdk.Result) {
	t, text := b.t, "x\n"
	for _, x := range values {
		text += fmt.Sprintf("%g\n", x)
	}
	opened, err := b.tiny.open(t, b.plan.Plan, map[string]string{b.file: text})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	var calls []call
	seen := &selection{pick: pick}
	r := New(b.plan.Plan, opened, &Mechanisms{known: map[string]func() (*mechanism, error){}}, Options{Observe: func(Progress) {}})
	for name, m := range map[string]sdk.Mechanism{"sum": sumof.Mechanism{}, "bounds": bounds.Mechanism{}} {
		known := &mechanism{idle: []Process{searched{within{m, &calls}, seen}}}
		r.set.known[name] = func() (*mechanism, error) { return known, nil }
	}
	src, err := noise.NewSource()
	if err == nil {
		err = r.drawAll(t.Context(), src)
	}
	if err != nil || len(calls) != 1 {
		t.Fatal(calls, err)
	}
	return *seen, calls[0], plan.Published(r.Plan, r.Results)["total"]
}

// joint is the law of the bound, and the vector of the sum for each bound.
type joint struct {
	log     []float64
	vectors []float64
	scale   float64
}

func (b *boundedTable) joint(values []float64, picks []int) joint {
	var out joint
	for _, pick := range picks {
		seen, c, _ := b.run(values, pick)
		if out.log == nil {
			best, sum := int64(math.MaxInt64), 0.0
			for _, p := range seen.pieces {
				best = min(best, p.Score)
			}
			for _, p := range seen.pieces {
				l := -seen.rate * float64(p.Score-best)
				out.log, sum = append(out.log, l), sum+math.Exp(l)
			}
			for i := range out.log {
				out.log[i] -= math.Log(sum)
			}
		}
		out.vectors, out.scale = append(out.vectors, float64(c.vector[0])), c.event.(privacy.DiscreteLaplace).Scale
	}
	return out
}

// TestPrivateBounds enumerates neighbours among tiny tables under both relations: a search
// and a sum over the bound together never tell them apart by more than what is charged. The
// twin adds noise of the same size to sums that are not divided by the bound.
func TestPrivateBounds(t *testing.T) {
	tier.Full(t, "TestNoNeighboursBeatTheCharge")
	values := []float64{-3.5, 0, 0.02, 1, 3.5}
	// So many rows may lie beyond a bound at no cost: from there on a row tells.
	base := []float64{3.5, 3.5, 3.5, 3.5}
	tables := map[int][][]float64{0: {base}}
	for n := 1; n <= 2; n++ {
		for _, some := range tables[n-1] {
			for _, x := range values {
				tables[n] = append(tables[n], append(append([]float64(nil), some...), x))
			}
		}
	}
	var picks []int
	for i := 96; i < 193; i += 8 {
		picks = append(picks, i)
	}
	for _, relation := range []string{"add-remove", "replace-one"} {
		worst, twin, charged := 0.0, 0.0, 0.0
		compare := func(a, b joint) {
			for k, pick := range picks {
				from := math.Abs(a.log[pick] - b.log[pick])
				moved := math.Abs(a.vectors[k] - b.vectors[k])
				worst = math.Max(worst, from+moved/a.scale)
				twin = math.Max(twin, from+moved*bounds.Candidate(4, pick)/a.scale)
			}
		}
		for n := 1; n <= 2; n++ {
			b, last := newBoundedTable(t, relation, len(base)+n), len(base)+n-1
			charged = b.plan.Answer.Epsilon
			laws := map[string]joint{}
			of := func(table []float64) joint {
				key := fmt.Sprint(table)
				if _, ok := laws[key]; !ok {
					laws[key] = b.joint(table, picks)
				}
				return laws[key]
			}
			for _, table := range tables[n] {
				if relation == "add-remove" {
					compare(of(table), of(table[:last]))
					continue
				}
				for _, x := range values {
					compare(of(table), of(append(append([]float64(nil), table[:last]...), x)))
				}
			}
		}
		if worst > charged*(1+1e-9) || worst < charged/2 {
			t.Errorf("%s: neighbours are told apart by %v, charged %v", relation, worst, charged)
		}
		if twin <= charged {
			t.Errorf("%s: the twin is not refuted: %v of %v", relation, twin, charged)
		}
	}
}

// What comes back is in the unit of the values, and the plan does not depend on the bound.
func TestPrivateBoundsUnits(t *testing.T) {
	b := newBoundedTable(t, "add-remove", 0)
	events := map[privacy.Event]bool{}
	for _, pick := range []int{150, 170, 192} {
		bound := bounds.Candidate(4, pick)
		_, c, result := b.run([]float64{3.5, 1, -0.25}, pick)
		events[c.event] = true
		want := 0.0
		for _, x := range []float64{3.5, 1, -0.25} {
			want += math.Max(-bound, math.Min(bound, x))
		}
		if got := result.Columns[0].Float64[0]; math.Abs(got-want) > 1e-4*bound {
			t.Errorf("with bound %v the sum is %v, want %v", bound, got, want)
		}
	}
	if len(events) != 1 {
		t.Errorf("the event depends on the bound: %v", events)
	}
	if names := b.plan.Releases(); len(names) != 2 || !strings.HasPrefix(names[1].Job.Name, "bound_of_") {
		t.Error("there is no search")
	}
}
