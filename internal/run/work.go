package run

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"sync"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/params"
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/samplers"
)

// Order tells a machine how to add up a part of a job. It holds the key of the draws, so whoever reads it knows who was
// drawn.
type Order struct {
	Job    job.Packed
	Plan   string // the digest of the plan that was paid for
	Key    noise.Key
	Rows   int64                // of the table
	Cuts   []int64              // the first row of each part, and the number of rows
	Shards int                  // into which the rows are divided by unit, 0 where a row is a unit
	Count  bool                 // only count the units of each shard, and the rows in each unit of a frame
	Taken  map[string][][]int64 // by draw of a fixed size: of each table that is drawn from, how many rows of each block
	Needs  framed               // how many rows of each unit of a frame each table draws
}

// Parts returns the number of parts of the table.
func (o *Order) Parts() int { return len(o.Cuts) - 1 }

// framed are numbers of rows by draw with fixed numbers in a frame, by part or shard, and by unit of the frame.
type framed map[string][]map[int32]int64

// Tally is the answer of a machine about its part. All of it is private.
type Tally struct {
	Failure *failure.Failure           // why there is nothing else
	Vectors map[string][][][]int64     // by release: for each time that its mechanism is run, for each noise call
	Units   int64                      // of a shard
	Strata  map[string]map[int32]int64 // by draw, of each unit of its frame, how many rows there are
	Marks   []table.Mark               // what was read
}

// Worker adds up parts of jobs, on any machine that has the table. It draws no noise, and knows no ledger.
type Worker struct {
	Builtins map[string]sdk.Mechanism

	mu    sync.Mutex
	last  [sha256.Size]byte
	ready *errand
}

// errand is an order that can be carried out.
type errand struct {
	Order
	plan     *plan.Planned
	table    *OpenedTable
	columns  []string
	builtins map[string]sdk.Mechanism
}

// Check makes the plan of an order, opens its table, and says what is wrong.
func (w *Worker) Check(ctx context.Context, order []byte) error {
	_, err := w.errand(ctx, order)
	return err
}

var errPlans = failure.New(failure.ExitPlugin, "ENGINE_DIFFERS",
	"a machine of the engine makes another plan of the job, or has another table: "+
		"all must run the same version of dprelease-beam on the same files")

// errand reads an order, once.
func (w *Worker) errand(ctx context.Context, order []byte) (*errand, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	digest := sha256.Sum256(order)
	if w.ready != nil && w.last == digest {
		return w.ready, nil
	}
	e := &errand{builtins: w.Builtins}
	if err := json.Unmarshal(order, &e.Order); err != nil {
		return nil, errPlans
	}
	var err error
	if w.ready != nil && w.ready.Plan == e.Plan && reflect.DeepEqual(w.ready.Job, e.Job) {
		e.plan, e.table = w.ready.plan, w.ready.table // of an earlier order of the same run
	} else if err = e.open(ctx); err != nil {
		return nil, err
	}
	if e.table.Rows() != e.Rows {
		return nil, errPlans
	}
	e.columns = e.plan.Columns()
	w.last, w.ready = digest, e
	return e, nil
}

// open makes the plan of the order and opens its table. The launching host has done the same, and found nothing wrong.
func (e *errand) open(ctx context.Context) error {
	j, err := e.Job.Job()
	if err != nil {
		return errPlans
	}
	priced, err := plan.Make(ctx, j, builtins(e.builtins), noPast{})
	if err != nil {
		return errPlans
	}
	e.plan = priced.Planned
	if made, err := e.plan.Digest(); err != nil || made != e.Plan {
		return errPlans
	}
	if e.table, err = OpenTable(ctx, e.plan, 0); err != nil {
		return errPlans
	}
	return nil
}

// Part adds up one part of the table.
func (w *Worker) Part(ctx context.Context, order []byte, i int) ([]byte, error) {
	return w.tally(ctx, order, func(e *errand) (*Tally, error) {
		t := *e.table
		t.Content = t.Content.Fresh()
		t.rows = ranged(e.table.rows, e.Cuts[i], e.Cuts[i+1]-e.Cuts[i])
		out, err := e.add(ctx, &t, i, samplers.Part{Table: e.Rows, First: e.Cuts[i]})
		if err == nil {
			out.Marks = t.Content.Marks()
		}
		return out, err
	})
}

// Scatter divides the rows of one part among the shards, and says what it read. A failure is the Tally of it.
func (w *Worker) Scatter(ctx context.Context, order []byte, i int) (pieces [][]byte, tally []byte, err error) {
	tally, err = w.tally(ctx, order, func(e *errand) (*Tally, error) {
		content := e.table.Content.Fresh()
		from := ranged(e.table.rows, e.Cuts[i], e.Cuts[i+1]-e.Cuts[i])
		s, err := newScatter(e.Key, i, e.Shards, slices.Index(e.columns, e.plan.Job.Dataset.Key.Column))
		if err != nil {
			return nil, err
		}
		err = (&pass{source: from, content: content, columns: e.columns}).run(ctx, func(b table.Batch) error {
			s.add(b)
			return nil
		})
		if err == nil {
			pieces, err = s.pieces()
		}
		return &Tally{Marks: content.Marks()}, err
	})
	return pieces, tally, err
}

// Shard adds up the rows of a shard, which all parts of the table sent.
func (w *Worker) Shard(ctx context.Context, order []byte, i int, sent [][]byte) ([]byte, error) {
	return w.tally(ctx, order, func(e *errand) (*Tally, error) {
		s, err := newShard(e.columns, sent, e.Parts())
		if err != nil {
			return nil, err
		}
		t := *e.table
		t.Content, t.rows = nil, s
		return e.add(ctx, &t, i, samplers.Part{})
	})
}

// tally carries one piece of work out. What goes wrong is part of the answer: the engine's own errors, which it shows and
// keeps, say nothing (P20).
func (w *Worker) tally(ctx context.Context, order []byte, work func(e *errand) (*Tally, error)) ([]byte, error) {
	var out *Tally
	err := guarded(func() error {
		e, err := w.errand(ctx, order)
		if err == nil {
			out, err = work(e)
		}
		return err
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		var f *failure.Failure
		errors.As(CodeOf(ctx, err), &f)
		out = &Tally{Failure: f}
	}
	var b bytes.Buffer
	err = gob.NewEncoder(&b).Encode(out)
	return b.Bytes(), err
}

// summer has a mechanism add up rows without noise, and returns a vector for each of its noise calls. A release that is
// alone shares its process with no other.
type summer func(ctx context.Context, rel *plan.PlannedRelease, alone bool,
	feed func(context.Context, host.RowWriter) error) ([][]int64, error)

// inProcess adds up with the mechanisms of this program, in this process.
func inProcess(builtins map[string]sdk.Mechanism) summer {
	return func(ctx context.Context, rel *plan.PlannedRelease, _ bool, feed func(context.Context, host.RowWriter) error) ([][]int64, error) {
		return host.Vectors(ctx, builtins[rel.Job.Mechanism], rel.Request(), feed)
	}
}

// remotePart collects the sums that a runner makes for another machine, or of one slice of a series.
type remotePart struct {
	sum   summer
	mu    sync.Mutex
	tally Tally
}

// add runs the mechanism of a release on the rows of this machine, and keeps what its noise calls add up.
func (p *remotePart) add(ctx context.Context, rel *plan.PlannedRelease, alone bool,
	feed func(context.Context, host.RowWriter) error) error {
	vectors, err := p.sum(ctx, rel, alone, feed)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tally.Vectors[rel.Job.Name] = append(p.tally.Vectors[rel.Job.Name], vectors)
	return nil
}

// add carries the job out on some rows without noise: it bounds units, draws and adds up as a run on one machine does. at
// places the rows of part i in the table that is drawn from. Each shard is a table of its own, and so is each part of a draw
// from a frame.
func (e *errand) add(ctx context.Context, t *OpenedTable, i int, at samplers.Part) (*Tally, error) {
	r := New(e.plan, t, nil, Options{Observe: func(Progress) {}})
	r.part = &remotePart{tally: Tally{Vectors: map[string][][][]int64{}}, sum: inProcess(e.builtins)}
	r.begins = func(d samplers.Design, rows int64, units []int32) (samplers.Selector, error) {
		name := e.plan.Draws[slices.IndexFunc(e.plan.Draws, func(o *plan.PlannedDraw) bool { return o.Design == d })].Name
		p, drawn := at, i
		switch {
		case units != nil:
			p = samplers.Part{Table: rows, Units: units}
			if of := e.Needs[name]; of != nil {
				p.Needs = of[i]
			}
		case e.Shards > 0:
			p.Table = rows
		default:
			drawn = 0 // all parts are of one table
		}
		p.Rows, p.Key = rows, e.Key.Derive("draw "+name, uint64(drawn))
		if of := e.Taken[name]; of != nil {
			p.Taken = of[drawn]
		}
		return samplers.BeginPart(d, p)
	}
	choices := e.Key.Derive("cap", uint64(i)).Source() // of the rows that count of each unit
	var err error
	if e.Count {
		defer r.closeUnits()
		if err = r.settleUnits(ctx, choices); err == nil {
			r.part.tally.Strata, err = r.countFrames(ctx)
		}
	} else {
		err = r.drawAll(ctx, choices)
	}
	r.part.tally.Units = r.population
	return &r.part.tally, err
}

// countFrames counts the rows in each unit of the frames from which fixed numbers are drawn.
func (r *Runner) countFrames(ctx context.Context) (map[string]map[int32]int64, error) {
	out := map[string]map[int32]int64{}
	for _, d := range r.Plan.Draws {
		if !samplers.FixedUnits(d.Design) {
			continue
		}
		units, err := r.strata(ctx, d)
		if err != nil {
			return nil, err
		}
		out[d.Name] = samplers.CountUnits(units)
	}
	return out, nil
}

// builtins are the mechanisms of this program, in this process.
type builtins map[string]sdk.Mechanism

// Get finds a mechanism.
func (b builtins) Get(_ context.Context, name string) (plan.Mechanism, error) {
	m, ok := b[name]
	if !ok {
		return nil, errPlans
	}
	schema, err := params.Compile(m.Describe().Params)
	return local{m, schema}, err
}

// local is a mechanism in this process.
type local struct {
	sdk.Mechanism
	schema *params.Schema
}

func (m local) About() sdk.Description                { return m.Describe() }
func (m local) Origin() (builtin bool, sha256 string) { return true, "" }
func (m local) Confined() string                      { return "" }
func (m local) Validate(raw json.RawMessage) error    { return plan.ValidateParams(m.schema, raw) }
func (m local) Plan(_ context.Context, r sdk.PlanRequest) (sdk.Plan, error) {
	return m.Mechanism.Plan(r)
}

// noPast knows no earlier job: an engine carries out no job whose plan depends on one.
type noPast struct{}

func (noPast) Node(context.Context, *job.Job, string) (*ledger.Node, error) { return nil, nil }
