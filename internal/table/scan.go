package table

import (
	"context"
	"sync"
)

// ScanOptions says what a Scan reads.
type ScanOptions struct {
	Columns []string // nil: every usable column
	// Pick chooses the rows of a block. It is called once for each block, in row order, from one goroutine, some
	// blocks ahead of visit. Nil picks every row. A block without a picked row is neither decoded nor visited, and a
	// page without one is not decoded either.
	Pick func(b Block) (Pick, error)
	// Adjust may change the floats of a column in place before they are delivered, on the goroutine that decoded them:
	// several at once. It is called once for every row, and only where Pick is nil and there is no null. Where it returns
	// true the values arrive marked as Adjusted.
	Adjust func(column int, x []float64) bool
	// Workers is the number of goroutines that decode; 0 means one for each processor.
	Workers int
	// Content takes note of the stored bytes that are read, and fails the scan where they are not what it saw before.
	Content *Content
	// Progress is called with the number of table rows passed, after each block.
	Progress func(rows int64)
	_        struct{}
}

// Pick says which rows of a block are wanted.
type Pick struct {
	All  bool
	Rows []uint32 // offsets in the block, ascending; copied, so the caller may use the memory again
}

// Batch holds the picked rows of a block, or all rows of a part of one. It is valid until visit returns.
type Batch struct {
	Block   Block // what it is of; a part of a block is one of its own
	Picked  Pick
	Rows    int
	Columns []Values // in the order of ScanOptions.Columns
}

// Verify walks the pages of the named columns (nil: every usable one) and checks all that can be checked without
// decoding a value: see package pagewalk. Scan does the same before the first row; calling Verify earlier lets a
// caller find most damage before anything is spent.
func (t *Table) Verify(ctx context.Context, columns []string) error {
	cols, err := t.scanned(columns)
	if err != nil {
		return err
	}
	return t.verify(ctx, cols, workersOr(0))
}

// VerifyValues is Verify and decodes every value besides, delivering none: what it accepts, a Scan of the unchanged
// files cannot fail on. It costs a scan.
func (t *Table) VerifyValues(ctx context.Context, columns []string) error {
	return t.Scan(ctx, ScanOptions{Columns: columns}, func(Batch) error { return nil })
}

func (t *Table) scanned(names []string) ([]int, error) {
	if names == nil {
		return t.usable(), nil
	}
	return t.find(names)
}

func (t *Table) verify(ctx context.Context, cols []int, workers int) error {
	for _, f := range t.files {
		if err := f.verify(ctx, cols, workers); err != nil {
			return refuse(f.name(), err)
		}
		if err := f.changed(); err != nil {
			return err
		}
	}
	return nil
}

// Scan decodes blocks on several goroutines and hands them to visit in row order, one at a time. Before the first row
// everything that Verify checks has been checked. An error of Pick or visit ends the scan and is returned as it is.
func (t *Table) Scan(ctx context.Context, o ScanOptions, visit func(b Batch) error) error {
	cols, err := t.scanned(o.Columns)
	if err != nil {
		return err
	}
	workers := workersOr(o.Workers)
	if err := t.verify(ctx, cols, workers); err != nil {
		return err
	}
	if len(t.blocks) == 0 {
		return nil
	}
	inner, cancel := context.WithCancel(ctx)
	s := &scan{table: t, options: o, lanes: t.lanes(cols, o.Content), pool: &pool{}, tasks: make(chan *piece, 64)}
	s.ahead = len(s.lanes) * (workers + 2)
	s.assembler.init(t, cols)
	var wg sync.WaitGroup
	defer func() { // also when visit panics
		cancel()
		close(s.tasks)
		wg.Wait()
		for _, l := range s.lanes {
			l.stop()
		}
	}()
	for range workers {
		wg.Go(func() {
			w := newWorker(s.pool)
			defer w.close()
			for p := range s.tasks {
				p.run(inner, w, s.adjust())
			}
		})
	}
	if err := s.loop(ctx, visit); err != nil {
		return err
	}
	for _, f := range t.files {
		if err := f.changed(); err != nil {
			return err
		}
	}
	return nil
}

// scan is one running Scan. All of it but the pool and the tasks belongs to the goroutine that called Scan.
type scan struct {
	table     *Table
	options   ScanOptions
	lanes     []*lane
	pool      *pool
	tasks     chan *piece
	planned   []plan
	block     int   // next block to plan
	live      int   // pieces handed out and not yet released
	bytes     int64 // their cost
	ahead     int
	assembler assembler
}

func (s *scan) loop(ctx context.Context, visit func(b Batch) error) error {
	for {
		for s.block < len(s.table.blocks) && s.room() {
			if err := s.plan(ctx); err != nil {
				return err
			}
		}
		if len(s.planned) == 0 {
			return ctx.Err()
		}
		p := s.planned[0]
		s.planned[0] = plan{}
		s.planned = s.planned[1:]
		if err := s.deliver(ctx, &p, visit); err != nil {
			return err
		}
	}
}

// adjust is what is done to a piece all of whose rows are wanted.
func (s *scan) adjust() func(int, []float64) bool {
	if s.options.Pick != nil {
		return nil
	}
	return s.options.Adjust
}

// deliver waits for the pieces of a block, puts its batches together, and gives them to visit.
func (s *scan) deliver(ctx context.Context, p *plan, visit func(b Batch) error) error {
	if p.pick.All && p.block.Rows > 0 || len(p.pick.Rows) > 0 {
		for i := range p.parts {
			for _, part := range p.parts[i] {
				if part.done == nil {
					continue
				}
				if err := s.wait(ctx, part); err != nil {
					return err
				}
			}
		}
		for _, part := range p.split() {
			if err := visit(s.batch(&part)); err != nil {
				return err
			}
		}
		for i := range p.parts {
			for _, part := range p.parts[i] {
				if p.pick.touches(p.block, part) {
					s.drop(part)
				}
			}
		}
	}
	if s.options.Progress != nil {
		s.options.Progress(p.block.First + int64(p.block.Rows))
	}
	return nil
}

func (s *scan) batch(p *plan) Batch {
	b := Batch{Block: p.block, Picked: p.pick, Rows: p.block.Rows, Columns: s.assembler.columns}
	if !p.pick.All {
		b.Rows = len(p.pick.Rows)
	}
	for i, l := range s.lanes {
		for k, col := range l.cols {
			s.assembler.column(col, k, p, p.parts[i], b.Rows)
		}
	}
	return b
}

func (s *scan) wait(ctx context.Context, p *piece) error {
	select {
	case <-p.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	return p.err
}
