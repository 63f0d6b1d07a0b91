package budget

import (
	"context"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/guard"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/ledger"
)

// contentText is the content in the ledger's words, "" while it is not known.
func (b *Budget) contentText() string {
	if b.content == nil {
		return ""
	}
	return hex.EncodeToString(b.content[:])
}

// columnTags returns the columns by which the ledger sees that two accounts, or two slices, spend on
// the same data: all that the job reads, without those that every neighbour keeps.
// The latter are public.
func columnTags(p *planned.Plan, l *ledger.Ledger, t *run.OpenedTable) []ledger.Column {
	if t.Pending() {
		return nil // how many rows there are is known after the debit
	}
	var out []ledger.Column
	for _, part := range t.Parts() {
		for _, name := range identifying(p, part) {
			c := ledger.Column{Name: name, Tag: l.Tag(name, part.Table.Rows())}
			if p.Job.Dataset.Slice != nil && t.Rows() > 0 {
				c.SliceTag = l.Tag(name, t.Rows())
			}
			out = append(out, c)
		}
	}
	return out
}

// identifying are the columns of a table, or of one of several, by which it is known again.
func identifying(p *planned.Plan, t *run.OpenedTable) []string {
	names := p.Known()
	if t.Name() != "" {
		names = p.ColumnsOf(t.Name())
	}
	if len(names) == 0 {
		names = t.Table.Usable()
	}
	if t.Name() != p.Job.Dataset.Population {
		return names // a neighbour keeps columns of the population alone
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(p.Keeps(), name) })
}

// fingerprint identifies the data by every stored byte of the columns that the job reads. It
// reads those that no scan has read, and decodes none of them. It identifies a slice by the
// values in its rows, because the files may hold other slices, and gain more. The stored
// bytes alone tell what two accounts have in common.
func (b *Budget) fingerprint(ctx context.Context, t *run.OpenedTable) error {
	return b.identified(ctx, t, func(key table.Key, names []string) (table.Fingerprint, map[string]table.Fingerprint, error) {
		return t.SliceContent(ctx, key, names)
	})
}

// identified is fingerprint where the content of the slice is found by slice, which is OpenedTable.SliceContent or stands
// for it.
func (b *Budget) identified(ctx context.Context, t *run.OpenedTable,
	slice func(table.Key, []string) (table.Fingerprint, map[string]table.Fingerprint, error)) error {
	if err := t.Load(ctx); err != nil {
		return err
	}
	if b.columns == nil {
		b.columns = columnTags(b.plan, b.Ledger, t)
	}
	key := table.Key(b.Ledger.ContentKey())
	f, err := t.Fingerprint(ctx, key)
	if err != nil {
		return err
	}
	var each map[string]table.Fingerprint
	i := 0
	for _, part := range t.Parts() {
		if each, err = part.Content.Columns(ctx, key); err != nil {
			return err
		}
		for range identifying(b.plan, part) {
			digest := each[b.columns[i].Name]
			b.columns[i].Digest = hex.EncodeToString(digest[:])
			i++
		}
	}
	if b.plan.Job.Dataset.Slice != nil {
		if f, each, err = slice(key, slices.Collect(maps.Keys(each))); err != nil {
			return err
		}
		for i, c := range b.columns {
			if digest, ok := each[c.Name]; ok {
				b.columns[i].SliceDigest = hex.EncodeToString(digest[:])
			} else {
				b.columns[i].SliceTag = "" // it identifies no rows
			}
		}
	}
	b.content = &f
	return nil
}

// Beside takes the fingerprint of the data while the run draws from them. It uses what the
// scans read, so that a first run reads the table once. stop waits for the end.
func (b *Budget) Beside(ctx context.Context, t *run.OpenedTable) (stop func(err error) error) {
	if b.content != nil {
		// Known from before the debit; the scans notice a change since.
		return func(err error) error { return err }
	}
	return beside(ctx, t.Ahead, func() error { return b.fingerprint(ctx, t) })
}

// beside starts work while a table is drawn from. The function that it returns cancels the
// work where the draws failed with err; otherwise it waits for the end and then does last.
func beside(ctx context.Context, work func(context.Context) error, last func() error) func(err error) error {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- guard.Do(func() error { return work(ctx) }) }()
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
		return last()
	}
}
