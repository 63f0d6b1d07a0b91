package budget

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"reflect"
	"slices"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/samplers"
)

// MostPlans bounds how often a job is planned again because others used its kept
// draw first.
const MostPlans = 50

// ErrMoved is the end of a plan that was overtaken before its debit.
var ErrMoved = failure.New(failure.ExitLedger, "RUN_OVERTAKEN", "other jobs used the same kept sample, collected table, "+
	"panel or series again and again while this one was planned; nothing was drawn and nothing debited")

// NewIDs chooses the ids of the draws that a run will keep, by the names of the draws.
// An id says nothing of the rows.
func NewIDs(p *planned.Plan) map[string]string {
	ids := map[string]string{}
	for _, d := range p.Draws {
		if d.Kept != nil && !d.Kept.Reused() {
			var id [16]byte
			rand.Read(id[:]) // never fails
			ids[d.Name] = hex.EncodeToString(id[:])
		}
	}
	return ids
}

// identify takes the fingerprint of the whole table, or the whole slice: of all columns, so
// that later jobs with other columns can compare.
func (b *Budget) identify(ctx context.Context, t *run.OpenedTable) error {
	of := t.Table.Fingerprint
	if b.plan.Job.Dataset.Slice != nil {
		of = func(ctx context.Context, columns []string, key table.Key) (table.Fingerprint, error) {
			f, _, err := t.SliceContent(ctx, key, columns)
			return f, err
		}
	}
	f, err := of(ctx, t.Table.Usable(), table.Key(b.Ledger.ContentKey()))
	if err == nil {
		b.whole = hex.EncodeToString(f[:])
	}
	return err
}

// OpenSamples opens the kept draws of other jobs. It refuses a table that is not
// the one that was drawn from: the rows would be others.
func (b *Budget) OpenSamples(ctx context.Context, t *run.OpenedTable) error {
	for _, d := range b.plan.Draws {
		if !d.Kept.Reused() {
			continue
		}
		if b.whole == "" {
			if err := b.identify(ctx, t); err != nil {
				return run.SourceFailure(ctx, b.plan.Job, err)
			}
		}
		s, err := b.Ledger.Node(ctx, d.Kept.Node.ID)
		if err != nil {
			return failure.OfLedger(ctx, err)
		}
		if s == nil || !reflect.DeepEqual(s.Begin, d.Kept.Node.Begin) { // the planner told of another draw
			return errUnsound
		}
		if s.Content != b.whole {
			return failure.New(failure.ExitSource, "SAMPLE_CHANGED",
				"%s: the table is not the one that sample %s was drawn from; nothing was drawn and nothing debited",
				b.plan.Job.Pos("samples."+d.Name), s.ID)
		}
		rows, err := b.Ledger.Rows(ctx, s.ID)
		if err != nil {
			return failure.OfLedger(ctx, err)
		}
		k, ok := d.Design.(*samplers.Kept)
		if !ok || k.Open(rows) != nil {
			return failure.New(failure.ExitLedger, ledger.CodeTampered, "the stored rows of sample %s cannot be read", s.ID)
		}
	}
	return nil
}

// Allotment returns the secret by which the units of the job's panel are allotted, nil where it
// draws none. The debit made it, or that of an earlier wave.
func (b *Budget) Allotment(ctx context.Context) ([]byte, error) {
	p := b.plan.Panel
	if p == nil || !p.Drawn {
		return nil, nil
	}
	key, err := b.Ledger.Allotment(ctx, p.ID)
	if err != nil {
		return nil, failure.OfLedger(ctx, err)
	}
	return key, nil
}

// WholeBeside identifies the table while it is drawn from, where a draw is to be
// kept. The rest waits for the end, and takes the draws down.
func (b *Budget) WholeBeside(ctx context.Context, t *run.OpenedTable, r *run.Runner) (stop func(err error) error) {
	if !slices.ContainsFunc(b.plan.Draws, func(d *planned.Draw) bool { return d.Kept != nil }) {
		return func(err error) error { return err }
	}
	identify := func(ctx context.Context) error {
		if b.whole != "" {
			return nil
		}
		return b.identify(ctx, t)
	}
	return beside(ctx, identify, func() error { return b.takeDown(r) })
}

// takeDown collects the rows of the draws that this run keeps.
func (b *Budget) takeDown(r *run.Runner) error {
	for _, d := range b.plan.Draws {
		if d.Kept == nil || d.Kept.Reused() {
			continue
		}
		drawn, err := r.Recorders[d.Name].Drawn()
		if err != nil {
			return err
		}
		b.rows = append(b.rows, ledger.Rows{Sample: b.ids[d.Name], Content: b.whole, Data: drawn})
	}
	return nil
}
