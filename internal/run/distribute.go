package run

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"sync"

	"github.com/dprelease/dprelease/internal/failure"
	"github.com/dprelease/dprelease/internal/host"
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// Engine has other machines add up the parts of a job.
type Engine interface {
	// Check has the engine read an order that has no key yet, before anything is spent.
	Check(ctx context.Context, order []byte) error
	// Tallies carries an order out and returns what was found in each part of the table, and in each shard. An answer that
	// came twice is there once.
	Tallies(ctx context.Context, order []byte, parts, shards int) (ofParts, ofShards [][]byte, err error)
}

// What an engine can do wrong, after the debit: fixed texts (P20).
var (
	errEngine = failure.New(failure.ExitPlugin, "ENGINE_FAILED", "the engine did not add up every part of the table"+failure.SpentOnly)
	errSums   = failure.New(failure.ExitPlugin, "ENGINE_SUMS", "what the engine's machines added up does not fit together"+failure.SpentOnly)
)

// NewOrder is the order for a job, without its key and counts.
func NewOrder(p *plan.Plan, t *OpenedTable, memory int64) (*Order, error) {
	o := &Order{Memory: memory, Rows: t.Rows()}
	var err error
	if o.Job, err = p.Job.Pack(); err == nil {
		o.Plan, err = p.Digest()
	}
	splits, shards, _ := plan.Parts(p.Job)
	if p.Job.Dataset.Key.Column != "" {
		o.Shards = shards
	}
	o.Cuts = cuts(t, splits)
	return o, err
}

// cuts cuts the rows of a table into parts of about the same size, where a block begins if there are enough of them: a
// block is then decoded on one machine. There are as many parts as the job says, whatever the table; some may be empty.
func cuts(t *OpenedTable, parts int) []int64 {
	rows := t.Rows()
	out := make([]int64, parts+1)
	for i := range out {
		out[i] = rows / int64(parts) * int64(i)
		out[i] += rows % int64(parts) * int64(i) / int64(parts)
	}
	if blocks := t.Table.Blocks(); t.rows == rowSource(t.Table) && len(blocks) >= 2*parts {
		for i, k := 1, 0; i < parts; i++ {
			for blocks[k].First < out[i] {
				k++
			}
			out[i] = blocks[k].First
		}
	}
	return out
}

// sums are the vectors of all releases, as far as they are not finished.
type sums struct {
	mu      sync.Mutex
	vectors map[string][][][]int64
}

// next are the vectors of the next run of a release's mechanism.
func (s *sums) next(release string) [][]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.vectors[release]
	if len(of) == 0 {
		return nil // Finish refuses it
	}
	s.vectors[release] = of[1:]
	return of[0]
}

// add adds the vectors of one more part.
func (s *sums) add(more map[string][][][]int64) error {
	for name, runs := range more {
		if s.vectors[name] == nil {
			s.vectors[name] = make([][][]int64, len(runs))
		}
		if len(s.vectors[name]) != len(runs) {
			return errSums
		}
		for i, vectors := range runs {
			var err error
			if s.vectors[name][i], err = host.AddVectors(s.vectors[name][i], vectors); err != nil {
				return errSums
			}
		}
	}
	return nil
}

// distribute has the engine add up the parts of the table, adds up the parts, and makes all releases of that. The noise is
// drawn here, once, after every part was counted once.
//
// # Contract
//
// The releases have the law of those of one machine: the same draw, the same bounds of units, the same sums, the same
// noise. Proof: distribute.proof.md.
func (r *Runner) distribute(ctx context.Context, src *noise.Source) error {
	total, err := r.gather(ctx, src)
	if err != nil {
		return err
	}
	r.sums = total
	none := func(context.Context, host.RowWriter) error { return nil }
	for _, d := range r.Plan.Draws {
		r.options.Observe(Event{Kind: "draw", Draw: d.Name})
		for _, rel := range d.Releases {
			r.options.Observe(Event{Kind: "release-start", Release: rel.Job.Name})
			if err := guarded(func() error { return r.release(ctx, d, rel, src.Child(), none) }); err != nil {
				return err
			}
		}
		r.progress(d, 0, 1)(r.Table.Rows())
	}
	return nil
}

// gather has everything added up.
func (r *Runner) gather(ctx context.Context, src *noise.Source) (*sums, error) {
	order, err := NewOrder(r.Plan, r.Table, r.Table.memory)
	if err != nil {
		return nil, err
	}
	order.Key = src.NewKey()
	sizes := []int64{order.Rows}
	if order.Shards > 0 && r.fixedSize() {
		order.Count = true
		if sizes, err = r.tallies(ctx, order, &sums{vectors: map[string][][][]int64{}}); err != nil {
			return nil, err
		}
		order.Count = false
	}
	order.Taken = map[string][][]int64{}
	for _, d := range r.Plan.Draws {
		if samplers.FixedSize(d.Design) {
			if order.Taken[d.Name], err = samplers.Counts(d.Design, src.Child(), sizes); err != nil {
				return nil, err
			}
		}
	}
	total := &sums{vectors: map[string][][][]int64{}}
	_, err = r.tallies(ctx, order, total)
	return total, err
}

// fixedSize says that a draw needs to know how many units there are.
func (r *Runner) fixedSize() bool {
	for _, d := range r.Plan.Draws {
		if samplers.FixedSize(d.Design) {
			return true
		}
	}
	return false
}

// tallies carries an order out, adds up what it gives, and returns the number of units of each shard.
func (r *Runner) tallies(ctx context.Context, order *Order, into *sums) (units []int64, err error) {
	text, err := json.Marshal(order)
	if err != nil {
		return nil, err
	}
	ofParts, ofShards, err := r.options.Engine.Tallies(ctx, text, order.Parts(), order.Shards)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil || len(ofParts) != order.Parts() || len(ofShards) != order.Shards:
		return nil, errEngine
	}
	count := int64(0)
	for i, b := range append(ofParts, ofShards...) {
		var t Tally
		if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&t); err != nil {
			return nil, errEngine
		}
		if t.Failure != nil {
			return nil, t.Failure
		}
		if err := r.Table.Content.Note(t.Marks); err != nil {
			return nil, err
		}
		if err := into.add(t.Vectors); err != nil {
			return nil, err
		}
		if i >= order.Parts() {
			units = append(units, t.Units)
			count += t.Units
		}
	}
	if d := &r.Plan.Job.Dataset; order.Shards > 0 && d.Relation == privacy.ReplaceOne && count != d.Size {
		return nil, errSize
	}
	return units, nil
}
