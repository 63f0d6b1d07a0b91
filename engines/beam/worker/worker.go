package worker

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
	"github.com/dprelease/dprelease/internal/guard"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/plugin/inprocess"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/samplers"
)

// Worker adds up parts of jobs, on any machine that has the table. It draws no noise, and knows no ledger.
type Worker struct {
	Builtins inprocess.Mechanisms

	mu    sync.Mutex
	last  [sha256.Size]byte
	ready *errand
}

// errand is an order that can be carried out.
type errand struct {
	run.Order
	plan     *planned.Plan
	table    *run.OpenedTable
	columns  []string
	builtins inprocess.Mechanisms
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
	j, err := language.Unpack(e.Job)
	if err != nil {
		return errPlans
	}
	priced, err := plan.Make(ctx, j, shelf{e.builtins, e.Told}, inprocess.NoPast{})
	if err != nil {
		return errPlans
	}
	e.plan = priced.Plan
	if made, err := e.plan.Digest(); err != nil || made != e.Plan {
		return errPlans
	}
	if e.table, err = run.OpenTable(ctx, e.plan, 0); err != nil {
		return errPlans
	}
	return nil
}

// Part adds up one part of the table.
func (w *Worker) Part(ctx context.Context, order []byte, i int) ([]byte, error) {
	return w.tally(ctx, order, func(e *errand) (*run.Tally, error) {
		t := e.part(i)
		out, err := e.add(ctx, t, i, samplers.Part{Table: e.Rows, First: e.Cuts[i]})
		if err == nil {
			out.Marks = t.Content.Marks()
		}
		return out, err
	})
}

// Scatter divides the rows of one part among the shards, and says what it read. A failure is the Tally of it.
func (w *Worker) Scatter(ctx context.Context, order []byte, i int) (pieces [][]byte, tally []byte, err error) {
	tally, err = w.tally(ctx, order, func(e *errand) (*run.Tally, error) {
		t := e.part(i)
		s, err := newScatter(e.Key, i, e.Shards, slices.Index(e.columns, e.plan.Job.Dataset.Key.Column))
		if err != nil {
			return nil, err
		}
		err = t.Read(ctx, e.columns, func(b table.Batch) error {
			s.add(b)
			return nil
		})
		if err == nil {
			pieces, err = s.pieces()
		}
		return &run.Tally{Marks: t.Content.Marks()}, err
	})
	return pieces, tally, err
}

// Shard adds up the rows of a shard, which all parts of the table sent.
func (w *Worker) Shard(ctx context.Context, order []byte, i int, sent [][]byte) ([]byte, error) {
	return w.tally(ctx, order, func(e *errand) (*run.Tally, error) {
		s, err := newShard(e.columns, sent, e.Parts())
		if err != nil {
			return nil, err
		}
		return e.add(ctx, e.table.Holding(s), i, samplers.Part{})
	})
}

// tally carries one piece of work out. What goes wrong is part of the answer: the engine's own errors, which it shows and
// keeps, say nothing (P20).
func (w *Worker) tally(ctx context.Context, order []byte, work func(e *errand) (*run.Tally, error)) ([]byte, error) {
	var out *run.Tally
	err := guard.Do(func() error {
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
		errors.As(run.CodeOf(ctx, err), &f)
		out = &run.Tally{Failure: f}
	}
	var b bytes.Buffer
	err = gob.NewEncoder(&b).Encode(out)
	return b.Bytes(), err
}

// part returns the table with the rows of one part.
func (e *errand) part(i int) *run.OpenedTable {
	rows := e.Cuts[i+1] - e.Cuts[i]
	return e.table.Narrowed(stretch{e.Cuts[i], rows}, rows)
}

// stretch is a set of rows that follow one another.
type stretch struct{ first, rows int64 }

func (s stretch) Has(row int64) bool { return row >= s.first && row < s.first+s.rows }

func (s stretch) Before(row int64) int64 { return min(max(0, row-s.first), s.rows) }

// add carries the job out on some rows without noise. at places the rows of part i in the table that is drawn from. Each
// shard is a table of its own, and so is each part of a draw from a frame.
func (e *errand) add(ctx context.Context, t *run.OpenedTable, i int, at samplers.Part) (*run.Tally, error) {
	choices := e.Key.Derive("cap", uint64(i)).Source() // of the rows that count of each unit
	if e.Count {
		return run.CountUp(ctx, e.plan, t, choices)
	}
	return run.AddUp(ctx, e.plan, t, e.builtins.Sums, func(d *planned.Draw, rows int64, units []int32) (samplers.Selector, error) {
		p, drawn := at, i
		switch {
		case units != nil:
			p = samplers.Part{Table: rows, Units: units}
			if of := e.Needs[d.Name]; of != nil {
				p.Needs = of[i]
			}
		case e.Shards > 0:
			p.Table = rows
		default:
			drawn = 0 // all parts are of one table
		}
		p.Rows, p.Key = rows, e.Key.Derive("draw "+d.Name, uint64(drawn))
		if of := e.Taken[d.Name]; of != nil {
			p.Taken = of[drawn]
		}
		return samplers.BeginPart(d.Design, p)
	}, choices)
}
