package run

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/host"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/noise/insecurenoise"
	"github.com/dprelease/dprelease/internal/noise/noisetest"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/plugins/count"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/sdk"
	sumof "github.com/dprelease/dprelease/plugins/sum"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// These tests walk through every choice of the draw and of the cap for tiny tables of
// units with several rows, from the file to the vector that noise is added to, and look
// for two neighbours that the releases tell apart better than was charged (P22 to P24).

// within is a mechanism in the process of the test. Its noise calls are noted, and add
// nothing.
type within struct {
	sdk.Mechanism
	calls *[]call
}

type call struct {
	event  privacy.Event
	vector []int64
}

func (w within) Plan(_ context.Context, r sdk.PlanRequest) (sdk.Plan, error) {
	return w.Mechanism.Plan(r)
}
func (w within) About() sdk.Description         { return w.Describe() }
func (w within) Origin() (bool, string)         { return true, "" }
func (w within) Validate(json.RawMessage) error { return nil }
func (w within) Close()                         {}
func (w within) Confined() string               { return "" }

// Release lets the mechanism read what it is fed.
func (w within) Release(ctx context.Context, r sdk.ReleaseRequest, feed func(context.Context, host.RowWriter) error, _ host.Drawer) (sdk.Result, privacy.Event, error) {
	fed := &collected{}
	if err := feed(ctx, fed); err != nil {
		return sdk.Result{}, nil, err
	}
	result, err := w.Mechanism.Release(ctx, r, fed, noted{calls: w.calls})
	return result, r.Plan.Event, err
}

type collected struct{ batches []sdk.Batch }

func (c *collected) Write(b sdk.Batch) error {
	for i, v := range b.Columns {
		b.Columns[i] = sdk.Values{Float64: slices.Clone(v.Float64), Codes: slices.Clone(v.Codes), Valid: slices.Clone(v.Valid)}
	}
	b.Weights = slices.Clone(b.Weights)
	c.batches = append(c.batches, b)
	return nil
}

func (c *collected) Next() (*sdk.Batch, error) {
	if len(c.batches) == 0 {
		return nil, io.EOF
	}
	b := c.batches[0]
	c.batches = c.batches[1:]
	return &b, nil
}

type noted struct {
	sdk.Host
	calls *[]call
}

func (n noted) AddLaplace(_ context.Context, e privacy.DiscreteLaplace, v []int64) ([]int64, error) {
	*n.calls = append(*n.calls, call{e, slices.Clone(v)})
	return v, nil
}

func (n noted) AddGaussian(_ context.Context, e privacy.DiscreteGaussian, v []int64) ([]int64, error) {
	*n.calls = append(*n.calls, call{e, slices.Clone(v)})
	return v, nil
}

// shelf are the mechanisms of a job.
type shelf struct{ calls *[]call }

var mechanisms = map[string]sdk.Mechanism{"count": count.Mechanism{}, "sum": sumof.Mechanism{}, "mean": mean.Mechanism{}}

func (s shelf) Get(_ context.Context, name string) (plan.Mechanism, error) {
	return within{mechanisms[name], s.calls}, nil
}

// row is a row of a unit: a value and a group.
type row struct{ x, g int }

// world is a job, and a way to break it.
type world struct {
	t         *testing.T
	dataset   string // what is said of units and columns
	sample    string // of the draw "s"
	release   string
	relation  string
	afterward bool // breaks P24: only units with a row that passes are drawn
	lean      bool // breaks P22: the sensitivities are those of rows
	file      string
}

// law is the distribution of the vectors of a table.
type law struct {
	mass   map[string]float64
	vector map[string][]float64
	event  privacy.Event
	charge privacy.Point
}

func (w *world) job(units int) *job.Job {
	size := ""
	if w.relation == "replace-one" {
		size = fmt.Sprintf("\n  size: %d", units)
	} else if strings.Contains(w.sample, "srswor") {
		size = "\n  at_least: 2"
	}
	text := fmt.Sprintf(`version: 1
job: tiny
dataset:
  id: tiny
  source: {path: "%s"}
  relation: %s%s
  unit: {column: u, name: unit}
%s
  columns:
    x: {lower: -1, upper: 2, missing: drop}
    g: {domain: [a, b]}
budget: {limit: {epsilon: 100, delta: "0.1"}}
samples: {s: %s}
releases:
  - {name: r, %s}
output: {dir: out}
`, w.file, w.relation, size, w.dataset, w.sample, w.release)
	j, err := job.Parse("job.yaml", []byte(text), job.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	return j
}

// law walks through all choices that a run makes on a table.
func (w *world) law(units [][]row) law {
	t, ctx := w.t, w.t.Context()
	var file strings.Builder
	file.WriteString("u,x,g\n")
	n, rows := 0, 0
	for i, u := range units {
		for _, r := range u {
			fmt.Fprintf(&file, "u%d,%d,%c\n", i, r.x, 'a'+r.g)
			rows++
		}
		if len(u) > 0 {
			n++
		}
	}
	if err := os.WriteFile(w.file, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	j := w.job(n)
	calls := &[]call{}
	p, err := plan.Make(ctx, j, shelf{calls}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if w.lean {
		for _, r := range p.Draws[0].Releases {
			r.Public.Cap = nil
			if r.Plan, err = r.Mech.Plan(ctx, r.Request().PlanRequest()); err != nil {
				t.Fatal(err)
			}
		}
	}
	opened, err := OpenTable(ctx, p, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	out := law{mass: map[string]float64{}, vector: map[string][]float64{}, charge: privacy.Point{Epsilon: p.Answer.Epsilon, Delta: p.Answer.Delta}}
	names := map[int64]string{}
	ids := map[string]int64{}
	mass, rest := noisetest.Explore(1e-9, func(choose func(uint64) uint64) int64 {
		*calls = nil
		known := &mechanism{idle: []process{}}
		r := New(p, opened, &Mechanisms{known: map[string]func() (*mechanism, error){}}, Options{Observe: func(Event) {}})
		name := p.Draws[0].Releases[0].Job.Mechanism
		known.idle = append(known.idle, within{mechanisms[name], calls})
		r.set.known[name] = func() (*mechanism, error) { return known, nil }
		r.begins = func(d samplers.Design, n int64) (samplers.Selector, error) {
			return &chooser{design: d, n: n, choose: choose, w: w, units: units}, nil
		}
		src := insecurenoise.NewScript(choose)
		if err := r.settleUnits(ctx, src); err != nil {
			t.Fatal(err)
		}
		for _, d := range p.Draws {
			other, err := noise.NewSource()
			if err != nil {
				t.Fatal(err)
			}
			if err := r.draw(ctx, d, other); err != nil {
				t.Fatal(err)
			}
		}
		var key strings.Builder
		var vector []float64
		for _, c := range *calls {
			out.event = c.event
			for _, v := range c.vector {
				fmt.Fprintf(&key, "%d,", v)
				vector = append(vector, float64(v))
			}
		}
		id, ok := ids[key.String()]
		if !ok {
			id = int64(len(ids))
			ids[key.String()], names[id] = id, key.String()
			out.vector[key.String()] = vector
		}
		return id
	})
	if rest > 1e-6 {
		t.Fatalf("%g of the choices are not walked through", rest)
	}
	for id, m := range mass {
		out.mass[names[id]] = m
	}
	return out
}

// chooser draws units as the design says, with the choices of the test.
type chooser struct {
	design samplers.Design
	n      int64
	choose func(uint64) uint64
	w      *world
	units  [][]row
}

func (c *chooser) NextUnits([]int32) (samplers.Selection, error) { panic("no frame") }
func (c *chooser) Done() error                                   { return nil }

func (c *chooser) Next(n int) (samplers.Selection, error) {
	f := c.design.Facts()
	sel := samplers.Selection{}
	switch c.design.Kind() {
	case "full":
		return samplers.Selection{All: true}, nil
	case "poisson": // of rate ½
		for i := range n {
			if c.choose(2) == 1 {
				sel.Rows = append(sel.Rows, uint32(i))
			}
		}
	default:
		left := f.SampleSize
		if left == 0 {
			left = 1
		}
		among := n
		if c.w.afterward { // the population of the draw is that of the units that pass
			among = 0
			for _, u := range c.units {
				if slices.ContainsFunc(u, func(r row) bool { return r.g == 0 }) {
					among++
				}
			}
			left = min(left, int64(among))
		}
		seen := 0
		for i := range n {
			if c.w.afterward && !slices.ContainsFunc(c.units[i], func(r row) bool { return r.g == 0 }) {
				continue
			}
			if k := c.choose(uint64(among - seen)); int64(k) < left {
				sel.Rows = append(sel.Rows, uint32(i))
				left--
			}
			seen++
		}
	}
	return sel, nil
}

// told is a lower bound on the δ at ε of what noise on the vectors of two tables tells:
// that of cells between the values that the coordinates take.
func told(p, q law, epsilon float64) float64 {
	scale, cdf := 0.0, laplaceCDF
	switch e := p.event.(type) {
	case privacy.DiscreteLaplace:
		scale = e.Scale
	case privacy.DiscreteGaussian:
		scale, cdf = e.Sigma, func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	}
	dims := 0
	for _, v := range p.vector {
		dims = len(v)
	}
	cuts := make([][]float64, dims)
	for k := range cuts {
		var at []float64
		for _, l := range []law{p, q} {
			for _, v := range l.vector {
				at = append(at, v[k])
			}
		}
		slices.Sort(at)
		at = slices.Compact(at)
		lo, hi := at[0], at[len(at)-1]
		for _, far := range []float64{0.3, 1, 2, 3.5, 5, 8, 12} {
			at = append(at, lo-far*scale, hi+far*scale)
		}
		for i := 1; i < 8 && hi > lo; i++ {
			at = append(at, lo+(hi-lo)*float64(i)/8)
		}
		slices.Sort(at)
		cuts[k] = slices.Compact(at)
	}
	cell := make([]int, dims)
	total := 0.0
	mass := func(l law) float64 {
		sum := 0.0
		for key, m := range l.mass {
			for k, v := range l.vector[key] {
				below, above := 0.0, 1.0
				if cell[k] > 0 {
					below = cdf((cuts[k][cell[k]-1] - v) / scale)
				}
				if cell[k] < len(cuts[k]) {
					above = cdf((cuts[k][cell[k]] - v) / scale)
				}
				m *= above - below
			}
			sum += m
		}
		return sum
	}
	for {
		total += math.Max(0, mass(p)-math.Exp(epsilon)*mass(q))
		k := 0
		for ; k < dims; k++ {
			if cell[k]++; cell[k] <= len(cuts[k]) {
				break
			}
			cell[k] = 0
		}
		if k == dims {
			return total
		}
	}
}

func laplaceCDF(x float64) float64 {
	if x < 0 {
		return math.Exp(x) / 2
	}
	return 1 - math.Exp(-x)/2
}

// kinds are units with up to three rows on three values and two groups, up to symmetry.
func kinds() [][]row {
	var all [][]row
	one := []row{{-1, 0}, {0, 0}, {2, 0}, {-1, 1}, {0, 1}, {2, 1}}
	for i, a := range one {
		all = append(all, []row{a})
		for k, b := range one[i:] {
			all = append(all, []row{a, b})
			for _, c := range one[i+k:] {
				all = append(all, []row{a, b, c})
			}
		}
	}
	return all
}

// attack looks for the neighbours that are told apart best, and returns by how much the
// charge is exceeded, at most.
func (w *world) attack(tables int) float64 {
	rng := rand.New(rand.NewPCG(22, 24))
	dir, err := os.MkdirTemp("", "tiny")
	if err != nil {
		w.t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	w.file = filepath.Join(dir, "tiny.csv")
	units := kinds()
	worst := math.Inf(-1)
	try := func(a, b [][]row) {
		p, q := w.law(a), w.law(b)
		worst = max(worst, told(p, q, p.charge.Epsilon)-p.charge.Delta, told(q, p, q.charge.Epsilon)-q.charge.Delta)
	}
	// Extremes first: they are what breaks a wrong bound.
	extreme := [][]row{{{2, 0}, {2, 0}, {2, 0}}, {{-1, 0}, {-1, 0}, {-1, 0}}, {{2, 0}, {2, 1}}, {{-1, 0}, {-1, 1}}, {{2, 1}, {2, 1}, {2, 1}}, {{2, 0}}, {{-1, 1}}}
	for n := range tables {
		var others [][]row
		for range rng.IntN(3) + 1 {
			others = append(others, units[rng.IntN(len(units))])
		}
		x, y := units[rng.IntN(len(units))], units[rng.IntN(len(units))]
		if n < len(extreme)*len(extreme) {
			x, y = extreme[n/len(extreme)], extreme[n%len(extreme)]
			others = others[:1]
		}
		if w.relation == "add-remove" {
			others = append(others, extreme[n%len(extreme)]) // never too few for a draw
			try(others, append(slices.Clone(others), x))
		} else {
			try(append(slices.Clone(others), x), append(slices.Clone(others), y))
		}
	}
	return worst
}

const (
	foldBoth = "  fold: {x: sum, g: mode}"
	capOne   = "  cap: {groups: 1, rows: 1}"
	capTwo   = "  cap: {groups: 2, rows: 2}"
)

// No pair of neighbours is told apart better than was charged, for folds and caps, both
// relations and noises, every design.
func TestNoNeighboursBeatTheCharge(t *testing.T) {
	tables := 24
	if testing.Short() {
		tables = 2
	}
	for _, units := range []string{foldBoth, capOne, capTwo} {
		for _, relation := range []string{"add-remove", "replace-one"} {
			for _, sample := range []string{"", "{method: poisson, rate: 0.5}", "{method: srswor, size: 1}"} {
				for _, release := range []string{
					`mechanism: count, by: [g], guarantee: {epsilon: 1}`,
					`mechanism: sum, params: {column: x}, by: [g], where: "g == 'a' || x > 0", guarantee: {epsilon: 1}`,
					`mechanism: sum, params: {column: x, noise: gaussian}, guarantee: {epsilon: 1, delta: "0.01"}`,
					`mechanism: count, params: {noise: gaussian}, where: "x > 0", by: [g], guarantee: {epsilon: 1, delta: "0.01"}`,
					`mechanism: mean, params: {column: x}, where: "x != 0", guarantee: {epsilon: 1}`,
				} {
					w := world{dataset: units, relation: relation, sample: sample, release: release}
					switch {
					case sample == "":
						w.sample = "{method: poisson, rate: 0.5}" // of which nothing is released
					case strings.Contains(sample, "srswor") && relation == "add-remove" && !strings.Contains(release, "mean"):
						continue // a total cannot be scaled up: the size is secret
					default:
						w.release += ", from: s"
					}
					t.Run(strings.NewReplacer("\"", "", ":", "", "{", "", "}", "").Replace(strings.TrimSpace(units+" "+relation+" "+sample+" "+release)), func(t *testing.T) {
						w.t = t
						if over := w.attack(tables); over > 1e-7 {
							t.Errorf("the charge is exceeded by δ = %.3g", over)
						}
					})
				}
			}
		}
	}
}

// What breaks a rule on purpose is caught: else the test above would show nothing.
func TestBrokenRunsAreCaught(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tiny.csv")
	over := func(p, q law) float64 {
		return max(told(p, q, p.charge.Epsilon)-p.charge.Delta, told(q, p, q.charge.Epsilon)-q.charge.Delta)
	}
	const eight = "  cap: {groups: 2, rows: 2}"
	byGroup := `mechanism: count, by: [g], guarantee: {epsilon: 1}`
	full := world{t: t, file: file, dataset: eight, relation: "add-remove", sample: "{method: poisson, rate: 0.5}", release: byGroup}

	// P22: the sensitivity of a row for a unit with four.
	lean := full
	lean.lean = true
	others, four := [][]row{{{0, 0}}}, []row{{0, 0}, {0, 0}, {0, 1}, {0, 1}}
	if d := over(lean.law(others), lean.law(append(slices.Clone(others), four))); d < 0.1 {
		t.Errorf("a unit counted as a row is not caught: %g", d)
	}
	if d := over(full.law(others), full.law(append(slices.Clone(others), four))); d > 1e-9 {
		t.Errorf("the honest run is caught: %g", d)
	}

	// P23: a unit with three rows is in the sample when any of them is drawn.
	drawn := full
	drawn.dataset, drawn.release = foldBoth, byGroup+", from: s"
	whole := drawn
	whole.release = byGroup
	byRow := func(units [][]row) law {
		out := drawn.law(units)
		out.mass, out.vector = map[string]float64{}, map[string][]float64{}
		var rows int
		for _, u := range units {
			rows += len(u)
		}
		for set := range 1 << rows {
			some, at := make([][]row, len(units)), 0
			for i, u := range units {
				for _, r := range u {
					if set>>at&1 == 1 {
						some[i] = append(some[i], r)
					}
					at++
				}
			}
			one := whole.law(some)
			for key, m := range one.mass {
				out.mass[key] += m / float64(int(1)<<rows)
				out.vector[key] = one.vector[key]
			}
		}
		return out
	}
	three := []row{{0, 0}, {0, 0}, {0, 0}}
	if d := over(byRow(others), byRow(append(slices.Clone(others), three))); d < 0.05 {
		t.Errorf("a draw of rows is not caught: %g", d)
	}

	// P24: the one unit that passes the filter is drawn surely, if the draw comes after it.
	after := world{t: t, file: file, dataset: foldBoth, relation: "replace-one", sample: "{method: srswor, size: 1}",
		release: `mechanism: sum, params: {column: x}, where: "g == 'a'", guarantee: {epsilon: 1}, from: s`}
	left, right := [][]row{{{0, 1}}, {{0, 1}}, {{2, 0}}}, [][]row{{{0, 1}}, {{0, 1}}, {{2, 1}}}
	if d := over(after.law(left), after.law(right)); d > 1e-9 {
		t.Errorf("the honest run is caught: %g", d)
	}
	after.afterward = true
	if d := over(after.law(left), after.law(right)); d < 0.05 {
		t.Errorf("a filter before the draw is not caught: %g", d)
	}
}
