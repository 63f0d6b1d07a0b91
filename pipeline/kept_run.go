package pipeline

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	"github.com/dprelease/dprelease/internal/table"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/samplers"
)

// mostPlans bounds how often a job is planned again because others used its kept
// draw first.
const mostPlans = 50

// errMoved is the end of a plan that was overtaken before its debit.
var errMoved = fail(ExitLedger, "RUN_OVERTAKEN", "other jobs used the same kept sample again and again while this one was planned; nothing was drawn and nothing debited")

// reuses says that the job uses a draw of another one.
func (p *Plan) reuses() bool {
	for _, d := range p.draws {
		if d.kept.reused() {
			return true
		}
	}
	return false
}

// allKept are the draws that more than one job uses, the one that made the table
// among them.
func (p *Plan) allKept() []*draw {
	var out []*draw
	if p.table != nil {
		out = append(out, p.table)
	}
	for _, d := range p.draws {
		if d.kept != nil {
			out = append(out, d)
		}
	}
	return out
}

// samples are the states of the kept samples that the plan began with, by id.
func (p *Plan) samples() map[string]*ledger.Sample {
	out := map[string]*ledger.Sample{}
	for _, d := range p.allKept() {
		if d.kept.reused() {
			out[d.kept.sample.ID] = d.kept.sample
		}
	}
	return out
}

// newIDs chooses the ids of the draws that a run will keep, by the names of the draws.
// An id says nothing of the rows.
func newIDs(p *Plan) (map[string]string, error) {
	ids := map[string]string{}
	for _, d := range p.draws {
		if d.kept == nil || d.kept.reused() {
			continue
		}
		var id [16]byte
		if _, err := rand.Read(id[:]); err != nil {
			return nil, fail(ExitBug, "NO_RANDOMNESS", "the operating system's random generator cannot be read")
		}
		ids[d.name] = hex.EncodeToString(id[:])
	}
	return ids, nil
}

// keepsAny says that the table as a whole must be known: positions of rows mean
// nothing in another one.
func (p *Plan) keepsAny() bool {
	for _, d := range p.draws {
		if d.kept != nil {
			return true
		}
	}
	return false
}

// identify finds out what the whole table is: all columns, whatever the job reads,
// so that later jobs with other columns can compare.
func (b *budget) identify(ctx context.Context, t *openedTable) error {
	f, err := t.table.Fingerprint(ctx, t.table.Whole(), table.Key(b.ledger.ContentKey()))
	if err == nil {
		b.whole = hex.EncodeToString(f[:])
	}
	return err
}

// openSamples opens the kept draws of other jobs. It refuses a table that is not
// the one that was drawn from: the rows would be others.
func (b *budget) openSamples(ctx context.Context, t *openedTable) error {
	if !b.plan.reuses() {
		return nil
	}
	if err := b.identify(ctx, t); err != nil {
		return sourceFailure(ctx, b.plan.job, err)
	}
	for _, d := range b.plan.draws {
		if !d.kept.reused() {
			continue
		}
		s := d.kept.sample
		if s.Content != b.whole {
			return fail(ExitSource, "SAMPLE_CHANGED", "%s: the table is not the one that sample %s was drawn from; nothing was drawn and nothing debited", b.plan.job.Pos("samples."+d.name), s.ID)
		}
		rows, err := b.ledger.Rows(ctx, s.ID)
		if err != nil {
			return ledgerFailure(ctx, err)
		}
		k, ok := d.design.(*samplers.Kept)
		if !ok || k.Open(rows) != nil {
			return fail(ExitLedger, ledger.CodeTampered, "the stored rows of sample %s cannot be read", s.ID)
		}
	}
	return nil
}

// wholeBeside identifies the table while it is drawn from, where a draw is to be
// kept. The rest waits for the end, and takes the draws down.
func (b *budget) wholeBeside(ctx context.Context, t *openedTable, r *running) (stop func(err error) error) {
	if !b.plan.keepsAny() {
		return func(err error) error { return err }
	}
	inner, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		if b.whole != "" {
			done <- nil
			return
		}
		done <- b.identify(inner, t)
	}()
	return func(err error) error {
		if err != nil {
			cancel()
		}
		mine := <-done
		cancel()
		switch {
		case err != nil:
			return err
		case mine != nil:
			return mine
		}
		return b.takeDown(r)
	}
}

// takeDown collects the rows of the draws that this run keeps.
func (b *budget) takeDown(r *running) error {
	for _, d := range b.plan.draws {
		if d.kept == nil || d.kept.reused() {
			continue
		}
		drawn, err := r.recorders[d.name].Drawn()
		if err != nil {
			return err
		}
		b.rows = append(b.rows, ledger.Rows{Sample: b.ids[d.name], Content: b.whole, Data: drawn})
	}
	return nil
}
