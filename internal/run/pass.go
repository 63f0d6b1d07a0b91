package run

import (
	"context"

	"github.com/dprelease/dprelease/internal/data/table"
)

// pass is one scan of a table, or of its units. Every scan of a run is one, whatever it makes of the rows: it sums, folds,
// caps, numbers or counts them, or finds where they lie.
type pass struct {
	source   rowSource
	content  *table.Content
	in       *reading // what is looked up, derived and judged in each block; nil where columns are read as they stand
	columns  []string // that the source delivers: those of in come first
	picks    *picker  // nil for all rows
	progress func(rows int64)
}

func newPass(source rowSource, content *table.Content, in *reading) *pass {
	return &pass{source: source, content: content, in: in, columns: append([]string(nil), in.sources...)}
}

// column adds a column that is read as it stands, and returns its place in a batch.
func (p *pass) column(name string) int { return appended(&p.columns, name) }

// run visits the blocks in their order. When it does, in holds their values and masks.
func (p *pass) run(ctx context.Context, visit func(b table.Batch) error) error {
	o := table.ScanOptions{Columns: p.columns, Content: p.content, Progress: p.progress}
	if p.picks != nil && !p.picks.every {
		o.Pick = p.picks.pick
	}
	return p.source.Scan(ctx, o, func(b table.Batch) error {
		if p.in != nil {
			if err := p.in.read(b); err != nil {
				return err
			}
		}
		return visit(b)
	})
}

// Read reads columns of all rows as they stand.
func (o *OpenedTable) Read(ctx context.Context, columns []string, visit func(b table.Batch) error) error {
	return (&pass{source: o.rows, content: o.Content, columns: columns}).run(ctx, visit)
}
