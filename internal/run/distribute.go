package run

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/internal/say/failure"
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

// Order tells a machine how to add up a part of a job. It holds the key of the draws, so whoever reads it knows who was
// drawn.
type Order struct {
	Job    job.Packed
	Plan   string // the digest of the plan that was paid for
	Key    noise.Key
	Rows   int64                // of the table
	Cuts   []int64              // the first row of each part, and the number of rows
	Shards int                  // parts of the rows, divided by unit; 0 where a row is a unit
	Count  bool                 // only count the units of each shard, and the rows in each unit of a frame
	Taken  map[string][][]int64 // by draw of a fixed size: of each table that is drawn from, how many rows of each block
	Needs  framed               // how many rows of each unit of a frame each table draws
	Told   map[string]Told      // what plugins said, by their names
}

// Parts returns the number of parts of the table.
func (o *Order) Parts() int { return len(o.Cuts) - 1 }

// framed are numbers of rows by draw with fixed numbers in a frame, by part or shard, and by unit of the frame.
type framed map[string][]map[int32]int64

// What an engine can do wrong, after the debit: fixed texts (P20).
var (
	errEngine = failure.New(failure.ExitPlugin, "ENGINE_FAILED", "the engine did not add up every part of the table"+failure.SpentOnly)
	errSums   = failure.New(failure.ExitPlugin, "ENGINE_SUMS", "what the engine's machines added up does not fit together"+failure.SpentOnly)
)

// NewOrder is the order for a job, without its key and counts.
func NewOrder(p *planned.Plan, t *OpenedTable) (*Order, error) {
	o := &Order{Rows: t.Rows()}
	var err error
	if o.Job, err = p.Job.Pack(); err == nil {
		o.Plan, err = p.Digest()
	}
	o.Told = told(p)
	splits, shards, _ := p.Job.Parts()
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
		r.options.Observe(Progress{Kind: "draw", Draw: d.Name})
		for _, rel := range d.Releases {
			r.options.Observe(Progress{Kind: "release-start", Release: rel.Job.Name})
			if err := guarded(func() error { return r.release(ctx, rel, src.Child(), none) }); err != nil {
				return err
			}
			r.finished(rel)
		}
		r.progress(d, 0, 1)(r.Table.Rows())
	}
	return nil
}

// gather has everything added up.
func (r *Runner) gather(ctx context.Context, src *noise.Source) (*sums, error) {
	order, err := NewOrder(r.Plan, r.Table)
	if err != nil {
		return nil, err
	}
	order.Key = src.NewKey()
	sizes, have := []int64{order.Rows}, r.Table.counts
	if r.draws(samplers.FixedUnits) && have == nil || order.Shards > 0 && r.draws(samplers.FixedSize) {
		var units []int64
		if units, have, err = r.count(ctx, *order); err != nil {
			return nil, err
		}
		if order.Shards > 0 {
			sizes = units
		}
	}
	order.Taken, order.Needs = map[string][][]int64{}, framed{}
	for _, d := range r.Plan.Draws {
		switch {
		case samplers.FixedSize(d.Design):
			order.Taken[d.Name], err = samplers.Counts(d.Design, src.Child(), sizes)
		case samplers.FixedUnits(d.Design):
			order.Needs[d.Name], err = samplers.Split(d.Design, src.Child(), have[d.Name])
		}
		if err != nil {
			return nil, err
		}
	}
	total := &sums{vectors: map[string][][][]int64{}}
	_, err = r.tallies(ctx, order, total)
	return total, err
}

// draws reports whether a draw has a design of some sort.
func (r *Runner) draws(sort func(samplers.Design) bool) bool {
	return slices.ContainsFunc(r.Plan.Draws, func(d *planned.Draw) bool { return sort(d.Design) })
}

// count has the units of each shard counted, and the rows in each unit of a frame of each part or shard, and compares
// these with the frame.
func (r *Runner) count(ctx context.Context, order Order) (units []int64, have framed, err error) {
	order.Count = true
	all, err := r.tallies(ctx, &order, &sums{vectors: map[string][][][]int64{}})
	if err != nil {
		return nil, nil, err
	}
	if order.Shards > 0 {
		all = all[order.Parts():]
	}
	have = framed{}
	for _, d := range r.Plan.Draws {
		if !samplers.FixedUnits(d.Design) {
			continue
		}
		total := map[int32]int64{}
		for _, t := range all {
			have[d.Name] = append(have[d.Name], t.Strata[d.Name])
			for u, n := range t.Strata[d.Name] {
				total[u] += n
			}
		}
		switch err := matches(r.Plan.Job, d, total); {
		case err != nil && order.Shards > 0:
			return nil, nil, errFrame
		case err != nil:
			return nil, nil, err
		}
	}
	for _, t := range all {
		units = append(units, t.Units)
	}
	return units, have, nil
}

// CountFrames has the engine compare the table with the public frames before the debit, as a run on one machine does.
// Where a unit of privacy has several rows, that is done after the debit: who is a unit is private.
func CountFrames(ctx context.Context, p *planned.Plan, t *OpenedTable, e Engine) error {
	r := New(p, t, nil, Options{Observe: func(Progress) {}, Engine: e})
	order, err := NewOrder(p, t)
	if err != nil || order.Shards > 0 || !r.draws(samplers.FixedUnits) {
		return err
	}
	if _, t.counts, err = r.count(ctx, *order); err == nil {
		return nil
	}
	var f *failure.Failure
	var problems job.Problems
	switch {
	case errors.As(err, &problems):
		return problems
	case ctx.Err() != nil || !errors.As(err, &f):
		return SourceFailure(ctx, p.Job, err)
	}
	said, after := strings.CutSuffix(f.Message, failure.SpentOnly)
	if !after {
		return f
	}
	return failure.New(f.Exit, f.Code, "%s; nothing was drawn and nothing debited", said)
}

// tallies carries an order out, adds up what it gives, and returns what was found in each part and shard.
func (r *Runner) tallies(ctx context.Context, order *Order, into *sums) (all []Tally, err error) {
	text, err := json.Marshal(order)
	if err != nil {
		return nil, err
	}
	ofParts, ofShards, err := r.options.Engine.Tallies(ctx, text, order.Parts(), order.Shards)
	var known *failure.Failure
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &known):
		return nil, known
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
			count += t.Units
		}
		all = append(all, t)
	}
	if d := &r.Plan.Job.Dataset; order.Shards > 0 && d.Relation == privacy.ReplaceOne && count != d.Size {
		return nil, errSize
	}
	return all, nil
}
