package run

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/noise/insecurenoise"
	"github.com/dprelease/dprelease/internal/noise/noisetest"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/plugin/calls"
	"github.com/dprelease/dprelease/internal/plugin/finish"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/internal/plugin/inprocess"
	"github.com/dprelease/dprelease/plugins/count"
	"github.com/dprelease/dprelease/plugins/mean"
	"github.com/dprelease/dprelease/plugins/sdk"
	sumof "github.com/dprelease/dprelease/plugins/sum"
	"github.com/dprelease/dprelease/plugins/unitrows"
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
	if !w.Describe().DeclaresQuery {
		return w.Mechanism.Plan(r)
	}
	_, one, err := r.Ungrouped()
	if err != nil {
		return sdk.Plan{}, err
	}
	p, err := w.Mechanism.Plan(one)
	if err != nil {
		return sdk.Plan{}, err
	}
	return finish.Complete(p, r)
}
func (w within) About() sdk.Description         { return w.Describe().Whole() }
func (w within) Origin() (bool, string)         { return true, "" }
func (w within) Validate(json.RawMessage) error { return nil }
func (w within) Close()                         {}
func (w within) Confined() string               { return "" }

// Release lets the mechanism read what it is fed.
func (w within) Release(ctx context.Context, r sdk.ReleaseRequest, feed func(context.Context, host.RowWriter) error, _ host.Drawer) (sdk.Result, error) {
	if len(r.Plan.Queries) > 0 {
		return w.declared(ctx, r, feed)
	}
	fed := &collected{}
	if err := feed(ctx, fed); err != nil {
		return sdk.Result{}, err
	}
	return w.Mechanism.Release(ctx, r, fed, noted{calls: w.calls})
}

// declared has the host add up what the mechanism declares.
func (w within) declared(ctx context.Context, r sdk.ReleaseRequest, feed func(context.Context, host.RowWriter) error) (sdk.Result, error) {
	sums, err := host.Queried(ctx, r, feed)
	if err != nil {
		return sdk.Result{}, err
	}
	events, err := calls.Linear(r.Plan.Event)
	if err != nil {
		return sdk.Result{}, err
	}
	for i, e := range events {
		if _, err := (noted{calls: w.calls}).add(e, sums[i]); err != nil {
			return sdk.Result{}, err
		}
	}
	p, err := finish.New(r.Plan)
	return p.Result(sums), err
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
	return n.add(e, v)
}

func (n noted) AddGaussian(_ context.Context, e privacy.DiscreteGaussian, v []int64) ([]int64, error) {
	return n.add(e, v)
}

var noting sync.Mutex // releases of a job are made at the same time

func (n noted) add(e privacy.Event, v []int64) ([]int64, error) {
	noting.Lock()
	defer noting.Unlock()
	*n.calls = append(*n.calls, call{e, slices.Clone(v)})
	return v, nil
}

// shelf are the mechanisms of a job.
type shelf struct{ calls *[]call }

var mechanisms = map[string]sdk.Mechanism{"count": count.Mechanism{}, "sum": sumof.Mechanism{}, "mean": mean.Mechanism{}, "unit_rows": unitrows.Mechanism{},
	"declared": declared{}}

func (s shelf) Get(_ context.Context, name string) (planned.Mechanism, error) {
	return within{mechanisms[name], s.calls}, nil
}

// row is a row of a unit: a value and a group.
type row struct{ x, g int }

// world is a job, and a way to break it.
type world struct {
	t         *testing.T
	unit      string // what is said of units, "" for a column that says who they are
	dataset   string // what is said of their rows
	sample    string // of the draw "s"
	release   string
	relation  string
	groups    string  // of the column g, "" for its two values
	places    []int   // the stratum or cluster of each unit, nil where the design has none
	takes     [][]int // the samples of a design with a frame, each as likely as the others
	afterward bool    // breaks P24: only units with a row that passes are drawn
	byRow     bool    // breaks P23: a unit is drawn where any of its rows is
	lean      bool    // breaks P22: the sensitivities are those of rows
	file      string
	framed    []int // what the frame says of the places, where it is wrong
	failed    error // why the run failed, where it is to fail or the frame is wrong
	// drawn are the units that are drawn, whatever the design says; nil lets it choose.
	drawn  []int
	fails  bool                    // the run is to fail
	plans  map[string]*plan.Priced // by the job and the number of units
	calls  []call
	tables tiny
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
		size = fmt.Sprintf("\n  at_least: %d", w.take()+1)
	}
	strata := ""
	if w.places != nil {
		strata = "\n    s: {domain: [a, b]}"
	}
	if w.takes != nil {
		size += fmt.Sprintf("\n  frame: {path: %q, records: n}", w.frame())
	}
	text := fmt.Sprintf(`version: 1
job: tiny
dataset:
  id: tiny
  source: {path: "%s"}
  relation: %s%s
  unit: {%s}
%s
  columns:
    x: {lower: -1, upper: 2, missing: drop}
    g: {%s}%s
budget: {limit: {epsilon: 100, delta: "0.1"}}
samples: {s: %s}
releases:
  - {name: r, %s}
output: {dir: out}
`, w.file, w.relation, size, cmp.Or(w.unit, "column: u, name: unit"), w.dataset, cmp.Or(w.groups, "domain: [a, b]"), strata, w.sample, w.release)
	j, err := language.Parse("job.yaml", []byte(text), language.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	return j
}

// frame is the public list of the places, and of how many units lie in each.
func (w *world) frame() string {
	text, counts := "s,n\n", map[int]int{}
	places := w.framed
	if places == nil {
		places = w.places
	}
	for _, p := range places {
		counts[p]++
	}
	for _, p := range slices.Sorted(maps.Keys(counts)) {
		text += fmt.Sprintf("%c,%d\n", 'a'+p, counts[p])
	}
	path := filepath.Join(filepath.Dir(w.file), "frame.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// place is the stratum or cluster of a unit.
func (w *world) place(unit int) int {
	if w.places == nil {
		return 0
	}
	return w.places[unit]
}

// take is the size of a simple random sample.
func (w *world) take() int {
	var n int
	fmt.Sscanf(w.sample, "{method: srswor, size: %d}", &n)
	return n
}

// plan is the plan for a table of so many units.
func (w *world) plan(units int) *plan.Priced {
	if w.relation == "add-remove" {
		units = 0 // nobody knows it
	}
	key := fmt.Sprint(w.dataset, w.sample, w.release, w.relation, w.lean, w.places, units)
	if p := w.plans[key]; p != nil {
		return p
	}
	p, err := plan.Make(w.t.Context(), w.job(units), shelf{&w.calls}, inprocess.NoPast{})
	if err != nil {
		w.t.Fatal(err)
	}
	if w.lean {
		for _, r := range p.Draws[0].Releases {
			r.Public.Cap = nil
			if r.Plan, err = r.Mech.Plan(w.t.Context(), r.Request().PlanRequest); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	if w.plans == nil {
		w.plans = map[string]*plan.Priced{}
	}
	w.plans[key] = p
	return p
}

// law walks through all choices that a run makes on a table.
func (w *world) law(units [][]row) law {
	var file strings.Builder
	file.WriteString("u,x,g,s\n")
	n := 0
	for i, u := range units {
		for k, r := range u {
			place := w.place(i)
			if len(u) == 3 && k == 0 { // a unit lies where most of its rows do
				place = 1 - place
			}
			fmt.Fprintf(&file, "u%d,%d,%c,%c\n", i, r.x, 'a'+r.g, 'a'+place)
		}
		if len(u) > 0 {
			n++
		}
	}
	return w.walk(w.plan(n), units, map[string]string{w.file: file.String()})
}

// walk walks through all choices that a run of a plan makes. texts are the tables, by the paths of their files.
func (w *world) walk(p *plan.Priced, units [][]row, texts map[string]string) law {
	t, ctx, calls := w.t, w.t.Context(), &w.calls
	opened, err := w.tables.open(t, p.Plan, texts)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	out := law{mass: map[string]float64{}, vector: map[string][]float64{}, charge: privacy.Point{Epsilon: p.Answer.Epsilon, Delta: p.Answer.Delta}}
	names := map[int64]string{}
	ids := map[string]int64{}
	mass, rest := noisetest.Explore(1e-9, func(choose func(uint64) uint64) int64 {
		*calls = nil
		r := New(p.Plan, opened, &Mechanisms{known: map[string]func() (*mechanism, error){}}, Options{Observe: func(Progress) {}})
		for _, rel := range p.Releases() {
			name := rel.Job.Mechanism
			known := &mechanism{idle: slices.Repeat([]Process{within{mechanisms[name], calls}}, len(p.Releases()))}
			r.set.known[name] = func() (*mechanism, error) { return known, nil }
		}
		r.begins = func(drawn *planned.Draw, n int64, _ []int32) (samplers.Selector, error) {
			d := drawn.Design
			if _, ok := d.(*samplers.Gathered); ok && d.Event(nil) == nil { // it takes the whole table, and has no choice
				return samplers.Begin(d, n)
			} else if ok {
				return &halver{facts: d.Facts(), choose: choose}, nil
			}
			return &chooser{design: d, n: n, choose: choose, w: w, units: units}, nil
		}
		src := insecurenoise.NewScript(choose)
		if err := r.settleUnits(ctx, src); err != nil {
			t.Fatal(err)
		}
		for i := range p.Draws {
			other, err := noise.NewSource()
			if err != nil {
				t.Fatal(err)
			}
			err = r.draw(ctx, i, other)
			if w.fails || err != nil {
				w.failed = err
			}
			if err != nil && !w.fails && w.framed == nil {
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

func (c *chooser) Done() error { return nil }

// NextUnits is for the designs with a frame.
func (c *chooser) NextUnits(places []int32) (samplers.Selection, error) {
	sel, err := c.Next(len(places))
	if f := c.design.Facts(); !f.EqualWeights {
		for _, i := range sel.Rows {
			sel.Weights = append(sel.Weights, c.design.(interface{ Weight(int32) float64 }).Weight(places[i]))
		}
	}
	return sel, err
}

func (c *chooser) Next(n int) (samplers.Selection, error) {
	sel, w := samplers.Selection{}, c.w
	take := func(units []int) (samplers.Selection, error) {
		for _, i := range units {
			sel.Rows = append(sel.Rows, uint32(i))
		}
		return sel, nil
	}
	kind := c.design.Kind()
	switch {
	case w.drawn != nil:
		return take(w.drawn)
	case kind == "full":
		return samplers.Selection{All: true}, nil
	case w.takes != nil:
		return take(w.takes[c.choose(uint64(len(w.takes)))])
	case kind == "poisson" || kind == "stratified":
		for i := range n {
			hit := false
			for k := 0; k == 0 || w.byRow && k < len(c.units[i]); k++ {
				hit = c.choose(w.odds(w.place(i))) == 0 || hit
			}
			if hit {
				sel.Rows = append(sel.Rows, uint32(i))
			}
		}
		return sel, nil
	}
	left, among := c.design.Facts().SampleSize, n
	passes := func(u []row) bool { return slices.ContainsFunc(u, func(r row) bool { return r.g == 0 }) }
	if w.afterward { // the population of the draw is that of the units that pass
		among = 0
		for _, u := range c.units {
			if passes(u) {
				among++
			}
		}
		left = min(left, int64(among))
	}
	seen := 0
	for i := range n {
		if w.afterward && !passes(c.units[i]) {
			continue
		}
		if k := c.choose(uint64(among - seen)); int64(k) < left {
			sel.Rows = append(sel.Rows, uint32(i))
			left--
		}
		seen++
	}
	return sel, nil
}

// odds says that a Poisson sample takes one in so many units: two, and four in the second
// stratum.
func (w *world) odds(place int) uint64 { return uint64(2 + 2*place) }
