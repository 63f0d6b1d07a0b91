package table

import (
	"context"
	"sync"
)

// ScanOptions says what a Scan reads.
type ScanOptions struct {
	Columns []string // none: rows are counted, and no value is read
	// Pick chooses the rows of a block. It is called once for each block, in row order, from one goroutine, some
	// blocks ahead of visit. Nil picks every row. A block without a picked row is neither decoded nor visited, and a
	// page without one is not decoded either. Few rows of several blocks are visited together.
	Pick func(b Block) (Pick, error)
	// Adjust may change the floats of a column in place before they are delivered, on the goroutine that decoded them:
	// several at once. It is called once for every row, and only where Pick is nil and there is no null. Where it returns
	// true the values arrive marked as Adjusted.
	Adjust func(column int, x []float64) bool
	// Direct, where it is set and one column of floats is scanned without Pick, has values put where they are wanted.
	Direct *Direct
	// Workers is the number of goroutines that decode; 0 means one for each processor.
	Workers int
	// Content takes note of the stored bytes that are read, and fails the scan where they are not what it saw before.
	Content *Content
	// Progress is called with the number of table rows passed, after each visit.
	Progress func(rows int64)
	_        struct{}
}

// Pick says which rows of a block are wanted.
type Pick struct {
	All  bool
	Rows []uint32 // offsets in the block, ascending; copied, so the caller may use the memory again
}

// Batch holds the picked rows of a block or of several in a row, or all rows of a part of one. It is valid until visit
// returns.
type Batch struct {
	Block   Block // what it is of; a part of a block, and several blocks, are one of their own
	Picked  Pick
	Rows    int
	Columns []Values // in the order of ScanOptions.Columns
}

// Verify walks the pages of the named columns and checks all that can be checked without
// decoding a value: see package pagewalk. Scan does the same before the first row; calling Verify earlier lets a
// caller find most damage before anything is spent.
func (t *Table) Verify(ctx context.Context, columns []string) error {
	cols, err := t.find(columns)
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
	cols, err := t.find(o.Columns)
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
	s := &scan{table: t, options: o, lanes: t.lanes(cols, o.Content), pool: &pool{}, tasks: make(chan *piece, lightPieces)}
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
	loop := s.loop
	if o.Direct != nil && o.Pick == nil && len(cols) == 1 && s.assembler.shapes[0] == asFloat64 {
		loop = s.loopDirect
	}
	if err := loop(ctx, visit); err != nil {
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
	light     int   // the same of those of which only the wanted rows stay
	bytes     int64 // their cost
	ahead     int
	assembler assembler
	picked    []uint32 // of several blocks
	spans     []span
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
		if err := s.deliver(ctx, s.together(), visit); err != nil {
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
