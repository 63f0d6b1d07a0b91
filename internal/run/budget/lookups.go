package budget

import (
	"context"
	"encoding/hex"
	"errors"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/ledger"
)

// LookupsArePublic refuses a lookup that holds a column which any account of the ledger was charged for (P32): a table that
// was ever private is no lookup later, whatever its file is called.
func (b *Budget) LookupsArePublic(ctx context.Context) error {
	j := b.plan.Job
	if err := b.lookupsOf(ctx, j, "dataset.lookups"); err != nil {
		return err
	}
	for _, t := range j.Dataset.Tables {
		if err := b.lookupsOf(ctx, j.Of(t.Name), job.Key("dataset.tables", t.Name)+".lookups"); err != nil {
			return err
		}
	}
	return nil
}

// lookupsOf holds the lookups of one table to the ledger.
func (b *Budget) lookupsOf(ctx context.Context, j *job.Job, at string) error {
	key := table.Key(b.Ledger.ContentKey())
	for _, l := range j.Dataset.Lookups {
		t, err := table.Open(ctx, table.Spec{Path: l.Path, Format: table.FormatCSV})
		if err != nil {
			continue // a lookup need be no table: it was read as a lookup
		}
		columns, err := wholeColumns(ctx, b.Ledger, t, key)
		t.Close()
		if err == nil {
			err = b.Ledger.NeverPrivate(ctx, columns)
		}
		var known *ledger.Error
		switch {
		case errors.As(err, &known) && known.Code == ledger.CodeSame:
			return failure.New(failure.ExitBudget, known.Code, "%s: %s: %s; take columns from it with join, as a table of the data set; nothing was drawn and nothing debited", b.plan.Job.Pos(job.Key(at, l.Name)), job.Key(at, l.Name), known.Message)
		case errors.As(err, &known):
			return failure.OfLedger(ctx, err)
		case ctx.Err() != nil:
			return failure.New(failure.ExitInterrupted, "INTERRUPTED", "the run was interrupted; nothing was drawn and nothing debited")
		}
	}
	return nil
}

// wholeColumns identifies every column of a table.
func wholeColumns(ctx context.Context, l *ledger.Ledger, t *table.Table, key table.Key) ([]ledger.Column, error) {
	content, err := t.Content(ctx, t.Whole())
	if err != nil {
		return nil, err
	}
	each, err := content.Columns(ctx, key)
	if err != nil {
		return nil, err
	}
	var out []ledger.Column
	for name, digest := range each {
		out = append(out, ledger.Column{Name: name, Tag: l.Tag(name, t.Rows()), Digest: hex.EncodeToString(digest[:])})
	}
	return out, nil
}
