package table

import (
	"context"
	"hash"
	"sync"
)

// ScanOptions says what a Scan reads.
type ScanOptions struct {
	Columns []string // nil: every usable column
	// Pick chooses the rows of a block. It is called once for each block, in row order, from one goroutine, some
	// blocks ahead of visit. Nil picks every row. A block without a picked row is neither decoded nor visited, and a
	// page without one is not decoded either.
	Pick func(b Block) (Pick, error)
	// Workers is the number of goroutines that decode; 0 means one for each processor.
	Workers int
	// Hash receives a SHA-256 digest of each stored page (or record batch) that is decoded, in a fixed order: the same
	// columns and picks of the same files give the same sum whatever Workers is. It costs about as much as the rest of
	// the scan. The sum identifies the data and is as private as they are. // P19
	Hash hash.Hash
	// Progress is called with the number of table rows passed, after each block.
	Progress func(rows int64)
	_        struct{}
}

// Pick says which rows of a block are wanted.
type Pick struct {
	All  bool
	Rows []uint32 // offsets in the block, ascending; copied, so the caller may use the memory again
}

// Batch holds the picked rows of one block. It is valid until visit returns.
type Batch struct {
	Block   Block
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
	s := &scan{table: t, options: o, lanes: t.lanes(cols, o.Hash != nil), pool: &pool{}, tasks: make(chan *piece, 64)}
	s.ahead = len(s.lanes) * (2*workers + 2)
	s.assembler.init(t, cols)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			w := newWorker(s.pool)
			defer w.close()
			for p := range s.tasks {
				p.run(inner, w)
			}
		})
	}
	err = s.loop(ctx, visit)
	cancel()
	close(s.tasks)
	wg.Wait()
	for _, l := range s.lanes {
		l.stop()
	}
	if err != nil {
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

// plan is a block that is on its way.
type plan struct {
	block Block
	pick  Pick
	parts [][]*piece // for each lane the pieces that overlap the block; those without a picked row were not decoded
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

// room says whether another block may be planned. One always may, so that a page of any permitted size gets through.
func (s *scan) room() bool {
	if len(s.planned) == 0 {
		return true
	}
	return s.live < s.ahead && s.bytes < s.table.budget && len(s.planned) < 1024
}

// plan picks the rows of the next block and hands the pieces it needs to the workers.
func (s *scan) plan(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b := s.table.blocks[s.block]
	s.block++
	p := plan{block: b, pick: Pick{All: true}}
	if s.options.Pick != nil {
		pick, err := s.options.Pick(b)
		if err != nil {
			return err
		}
		if !pick.All {
			for i, row := range pick.Rows {
				if int64(row) >= int64(b.Rows) || i > 0 && row <= pick.Rows[i-1] {
					return fail(CodeUsage, "", "picked rows must ascend within their block")
				}
			}
			pick.Rows = append([]uint32(nil), pick.Rows...)
		}
		p.pick = pick
	}
	if p.pick.All || len(p.pick.Rows) > 0 {
		p.parts = make([][]*piece, len(s.lanes))
		for i, l := range s.lanes {
			if err := s.advance(l, b); err != nil {
				return err
			}
			p.parts[i] = append(p.parts[i], l.window...)
			for _, part := range l.window {
				if p.pick.touches(b, part) {
					s.need(part)
				}
			}
		}
	}
	s.planned = append(s.planned, p)
	return nil
}

// touches says whether a row of b that lies in the piece is picked.
func (p *Pick) touches(b Block, part *piece) bool {
	if p.All {
		return true
	}
	from, to := part.first-b.First, part.end()-b.First
	lo, hi := 0, len(p.Rows)
	for lo < hi {
		if mid := (lo + hi) / 2; int64(p.Rows[mid]) < from {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo < len(p.Rows) && int64(p.Rows[lo]) < to
}

// advance moves a lane's window to the pieces that overlap b.
func (s *scan) advance(l *lane, b Block) error {
	end := b.First + int64(b.Rows)
	for len(l.window) > 0 && l.window[0].end() <= b.First {
		s.drop(l.window[0])
		l.window[0] = nil
		l.window = l.window[1:]
	}
	last := b.First
	if n := len(l.window); n > 0 {
		last = l.window[n-1].end()
	}
	for last < end {
		p, ok := l.next()
		if !ok {
			return fail(CodeCorrupt, s.table.files[b.File].name(), "the pages end before the rows do")
		}
		if p.end() <= b.First {
			continue // blocks in between had no picked row
		}
		p.refs = 1
		l.window = append(l.window, p)
		last = p.end()
	}
	return nil
}

// need hands a piece to the workers, once, and counts the block that asked.
func (s *scan) need(p *piece) {
	p.refs++
	if p.done != nil {
		return
	}
	p.done = make(chan struct{})
	s.live++
	s.bytes += p.cost
	s.tasks <- p
}

// drop gives up one claim on a piece and its memory with the last one.
func (s *scan) drop(p *piece) {
	if p.refs--; p.refs > 0 || p.done == nil {
		return
	}
	s.live--
	s.bytes -= p.cost
	for i := range p.data {
		p.data[i].release(s.pool)
	}
}

// deliver waits for the pieces of a block, puts its batch together, and gives it to visit.
func (s *scan) deliver(ctx context.Context, p *plan, visit func(b Batch) error) error {
	batch := Batch{Block: p.block, Picked: p.pick, Rows: p.block.Rows}
	if !p.pick.All {
		batch.Rows = len(p.pick.Rows)
	}
	if batch.Rows > 0 {
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
		batch.Columns = s.assembler.columns
		for i, l := range s.lanes {
			for k, col := range l.cols {
				s.assembler.column(col, k, p, p.parts[i], batch.Rows)
			}
		}
		if err := visit(batch); err != nil {
			return err
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

func (s *scan) wait(ctx context.Context, p *piece) error {
	select {
	case <-p.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if p.err != nil {
		return p.err
	}
	if s.options.Hash != nil && !p.hashed {
		p.hashed = true
		if c := p.chunk; p.dict && !c.counted {
			c.counted = true
			s.options.Hash.Write(c.dictHash[:])
		}
		s.options.Hash.Write(p.digest[:])
	}
	return nil
}
