package table

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/dprelease/dprelease/internal/guard"
)

// ScanOptions selects the columns and rows that a Scan reads, and its workers.
type ScanOptions struct {
	Columns []string // none: Scan counts rows and reads no value
	// Pick chooses the rows of a block. Scan calls it once for each block, in row order, from one goroutine, some blocks
	// ahead of visit. Nil picks every row. A block without a picked row is not visited, and a page without one is not
	// decoded.
	Pick func(b Block) (Pick, error)
	// Workers is the number of goroutines that decode; 0 means one for each processor.
	Workers int
	// Content notes the stored bytes that the scan reads. The scan fails if they differ from what Content saw before.
	Content *Content
	// Progress is called with the number of table rows passed, after each block.
	Progress func(rows int64)
	examine  bool // the values are looked at, and not wanted: see Examine
	_        struct{}
}

// Pick selects rows of a block.
type Pick struct {
	All  bool
	Rows []uint32 // offsets in the block, ascending; copied, so the caller may use the memory again
}

// Batch holds the picked rows of a block, or all rows of a part of a block. It is valid until visit returns.
type Batch struct {
	Block   Block // of a part of a block: a block of its own
	Picked  Pick
	Rows    int
	Columns []Values // in the order of ScanOptions.Columns
}

// Verify checks everything about the named columns that needs no value (see package pagewalk), and that they can be read
// within the memory of the Spec. Scan does the same before the first row; a caller that verifies earlier finds most
// damage before anything is spent.
func (t *Table) Verify(ctx context.Context, columns []string) error {
	cols, err := t.find(columns)
	if err != nil {
		return err
	}
	return t.verify(ctx, cols, workersOr(0))
}

func (t *Table) verify(ctx context.Context, cols []int, workers int) error {
	for _, f := range t.files {
		if err := f.verifyColumns(ctx, cols, workers); err != nil {
			return refuse(f.name(), err)
		}
		if err := f.changed(); err != nil {
			return err
		}
	}
	_, _, err := t.need(cols, workers)
	return err
}

// piece is the smallest stretch of rows of one column that is decoded on its own: a Parquet page, or a stretch of an
// Arrow record batch.
type piece struct {
	first   int64 // its first row in the table
	rows    int
	cost    int64     // the most bytes that it holds while it is alive
	scratch int64     // further bytes that decoding takes
	shared  []*shared // what it has in common with its neighbours
	decode  func(w *worker, out *vec) error
	// glance, unless nil, reports that decode will not fail, without decoding. Its false means nothing.
	glance func(w *worker) bool
	// ready, unless nil, is called before the piece is decoded, in row order and from one goroutine.
	ready func(m *arena) error
	with  *piece // the piece of an earlier column whose decode fills this one too; nil for most

	out  vec
	err  error
	done chan struct{} // made when the piece goes to the workers, closed when it is decoded
	refs int           // claims: one for each planned block, and one of its lane while a later block may need it
}

func (p *piece) end() int64 { return p.first + int64(p.rows) }

// shared is memory that several pieces need: a chunk's dictionary, or the unpacked buffers of a record batch. The last
// piece gives it back.
type shared struct {
	pieces int   // that still need it
	cost   int64 // the most bytes
	once   sync.Once
	err    error
	hold   holding
}

// get calls read for the first piece that asks.
func (s *shared) get(read func() error) error {
	s.once.Do(func() {
		s.err = errPageSize // stands if reading panics
		s.err = read()
	})
	return s.err
}

// lane is the sequence of pieces that carries one column through the whole table.
type lane struct {
	next   func() (*piece, bool)
	stop   func()
	window []*piece // pieces that the current or a later block overlaps
}

// pieces yields a column's pieces in row order, through all files.
func (t *Table) pieces(col int, r *reading) iter.Seq[*piece] {
	return func(yield func(*piece) bool) {
		base := int64(0)
		for _, f := range t.files {
			for p := range f.piecesOf(t, col, r) {
				p.first += base
				if !yield(p) {
					return
				}
			}
			for _, rows := range f.groups() {
				base += rows
			}
		}
	}
}

// need returns the most memory that one block takes, and how many workers may decode: all pieces that overlap a block are
// alive at once, and each worker may unpack one more. It refuses columns that need more than the memory of the Spec with one
// worker.
func (t *Table) need(cols []int, workers int) (most int64, fit int, err error) {
	need := make([]int64, len(t.blocks))
	scratch := int64(0)
	r := t.reading(cols, nil)
	for _, col := range cols {
		at, counted := 0, map[*shared]int{} // counted: the last block that counts a piece of shared memory
		for p := range t.pieces(col, r) {
			scratch = max(scratch, p.scratch)
			for at < len(t.blocks) && t.blocks[at].First+int64(t.blocks[at].Rows) <= p.first {
				at++
			}
			for i := at; i < len(t.blocks) && t.blocks[i].First < p.end(); i++ {
				need[i] += p.cost
				for _, c := range p.shared {
					if last, ok := counted[c]; !ok || i > last {
						need[i] += c.cost
						counted[c] = i
					}
				}
				most = max(most, need[i])
				if total := most + scratch; total+total/16 > t.memory { // buffers are a little larger than what they hold
					return 0, 0, fail(CodeLimit, t.files[t.blocks[i].File].name(), "column "+t.columns[col].Name+
						": its pages or record batches, with those of the other columns beside them, need more memory than a run may take, "+
						"a quarter of what the machine has, and for Parquet at most 768 MiB; write the file with smaller ones")
				}
			}
		}
	}
	if scratch > 0 {
		workers = int(min(int64(workers), (t.memory/17*16-most)/scratch))
	}
	total := most + scratch*int64(max(1, workers))
	return total + total/16, max(1, workers), nil
}

// Scan decodes blocks on several goroutines and hands them to visit in row order, one at a time. Before the first row
// it checks everything that Verify checks. An error of Pick or visit ends the scan and is returned as it is.
func (t *Table) Scan(ctx context.Context, o ScanOptions, visit func(b Batch) error) error {
	cols, err := t.find(o.Columns)
	if err != nil {
		return err
	}
	workers := workersOr(o.Workers)
	if err := t.verify(ctx, cols, workers); err != nil {
		return err
	}
	need, workers, err := t.need(cols, workers)
	if err != nil {
		return err
	}
	inner, cancel := context.WithCancel(ctx)
	s := &scan{table: t, options: o, arena: &arena{limit: t.memory}, tasks: make(chan *piece, 64),
		ahead: len(cols) * (workers + 2), aheadCost: min(lookAhead, t.memory-need)}
	s.assembler.init(t, cols)
	r := t.reading(cols, o.Content)
	for _, col := range cols {
		l := &lane{}
		l.next, l.stop = iter.Pull(t.pieces(col, r))
		s.lanes = append(s.lanes, l)
	}
	var wg guard.Group
	defer func() { // also when visit panics
		cancel()
		close(s.tasks)
		wg.Wait()
		for _, l := range s.lanes {
			l.stop()
		}
	}()
	for range workers {
		wg.Run(func() {
			w := &worker{arena: s.arena, skim: o.examine}
			defer w.unpack.close()
			for p := range s.tasks {
				p.run(inner, w)
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

// run decodes the piece, once.
func (p *piece) run(ctx context.Context, w *worker) {
	defer close(p.done)
	if p.err = ctx.Err(); p.err != nil {
		return
	}
	p.err = guarded(func() error {
		if w.skim && p.glance != nil && p.glance(w) {
			return nil
		}
		err := p.decode(w, &p.out)
		if w.skim {
			return err
		}
		if v := &p.out; err == nil && (v.rows() != p.rows || v.valid != nil && len(v.valid)*8 < p.rows) {
			err = fail(CodeCorrupt, "", "fewer rows than declared were decoded")
		}
		return err
	})
}

// scan is one running Scan. Only the goroutine that called Scan uses it, except for arena and tasks.
type scan struct {
	table     *Table
	options   ScanOptions
	lanes     []*lane
	arena     *arena
	tasks     chan *piece
	planned   []plan
	block     int   // next block to plan
	live      int   // pieces that were handed out and not given back
	cost      int64 // of these pieces
	ahead     int   // no further block is planned while live reaches this,
	aheadCost int64 // or cost this
	assembler assembler
}

// plan is a block that is on its way.
type plan struct {
	block  Block
	pick   Pick
	pieces [][]*piece // for each lane, those that hold a wanted row
}

// lookAhead is the number of bytes of pieces that may be on their way beside those of the block that is delivered next.
const lookAhead = 32 << 20

func (s *scan) loop(ctx context.Context, visit func(b Batch) error) error {
	for {
		for s.block < len(s.table.blocks) && (len(s.planned) == 0 || s.live < s.ahead && s.cost < s.aheadCost) {
			if err := s.plan(ctx); err != nil {
				return err
			}
		}
		if len(s.planned) == 0 {
			return ctx.Err()
		}
		p := s.planned[0]
		s.planned = slices.Delete(s.planned, 0, 1)
		if err := s.deliver(ctx, &p, visit); err != nil {
			return err
		}
	}
}

// plan picks the rows of the next block and hands the pieces that hold them to the workers.
func (s *scan) plan(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p := plan{block: s.table.blocks[s.block], pick: Pick{All: true}}
	s.block++
	if s.options.Pick != nil {
		pick, err := s.options.Pick(p.block)
		if err != nil {
			return err
		}
		for i, row := range pick.Rows {
			if int64(row) >= int64(p.block.Rows) || i > 0 && row <= pick.Rows[i-1] {
				return fail(CodeUsage, "", "picked rows must ascend within their block")
			}
		}
		p.pick = Pick{All: pick.All, Rows: slices.Clone(pick.Rows)}
	}
	p.pieces = make([][]*piece, len(s.lanes))
	var todo []*piece // handed over when all lanes have their pieces: one piece may decode those of others
	for i, l := range s.lanes {
		if err := s.advance(l, p.block); err != nil {
			return err
		}
		next := 0 // of the picked rows
		for _, q := range l.window {
			if n := p.until(next, q.end()); p.pick.All || n > next {
				next = n
				q.refs++
				p.pieces[i] = append(p.pieces[i], q)
				if q.done != nil {
					continue
				}
				s.live++
				s.cost += q.cost
				if q.with != nil {
					q.done = q.with.done
					continue
				}
				q.done = make(chan struct{})
				todo = append(todo, q)
			}
		}
	}
	for _, q := range todo {
		if q.ready != nil && !s.options.examine {
			if err := q.ready(s.arena); err != nil {
				return err
			}
		}
		s.tasks <- q
	}
	s.planned = append(s.planned, p)
	return nil
}

// until returns the place of the first picked row at or behind a row of the table. It searches from a place on.
func (p *plan) until(from int, end int64) int {
	n, _ := slices.BinarySearchFunc(p.pick.Rows[from:], end-p.block.First,
		func(row uint32, limit int64) int { return cmp.Compare(int64(row), limit) })
	return from + n
}

// advance moves a lane's window to the pieces that overlap b.
func (s *scan) advance(l *lane, b Block) error {
	for len(l.window) > 0 && l.window[0].end() <= b.First {
		s.drop(l.window[0])
		l.window = slices.Delete(l.window, 0, 1)
	}
	last := b.First
	if n := len(l.window); n > 0 {
		last = l.window[n-1].end()
	}
	for last < b.First+int64(b.Rows) {
		p, ok := l.next()
		if !ok {
			return fail(CodeCorrupt, s.table.files[b.File].name(), "the pages end before the rows do")
		}
		p.refs = 1
		l.window = append(l.window, p)
		last = p.end()
	}
	return nil
}

// drop gives up one claim on a piece. The last claim frees its memory.
func (s *scan) drop(p *piece) {
	if p.refs--; p.refs > 0 {
		return
	}
	if p.done != nil {
		s.live--
		s.cost -= p.cost
		p.out.hold.release(s.arena)
		p.out = vec{}
	}
	for _, c := range p.shared {
		if c.pieces--; c.pieces == 0 {
			c.hold.release(s.arena)
		}
	}
}

// deliver waits for the pieces of a block, puts its batch together and gives it to visit.
func (s *scan) deliver(ctx context.Context, p *plan, visit func(b Batch) error) error {
	for _, pieces := range p.pieces {
		for _, q := range pieces {
			select {
			case <-q.done:
			case <-ctx.Done():
				return ctx.Err()
			}
			if q.err != nil {
				return q.err
			}
		}
	}
	var parts []plan
	if !s.options.examine {
		parts = p.split()
	}
	for _, part := range parts {
		b := Batch{Block: part.block, Picked: part.pick, Rows: part.block.Rows, Columns: s.assembler.columns}
		if !part.pick.All {
			b.Rows = len(part.pick.Rows)
		}
		if b.Rows == 0 {
			continue
		}
		for i := range s.lanes {
			s.assembler.column(i, part.spans(i), b.Rows)
		}
		if err := visit(b); err != nil {
			return err
		}
	}
	s.assembler.forget()
	for _, pieces := range p.pieces {
		for _, q := range pieces {
			s.drop(q)
		}
	}
	if s.options.Progress != nil {
		s.options.Progress(p.block.First + int64(p.block.Rows))
	}
	return nil
}

// partRows is the least number of rows of a part, on average: fewer are not worth a visit of their own.
const partRows = 1 << 13

// split cuts a block at the ends of pages if all its rows are wanted. Then each part is a view of its pages, and nothing
// is copied.
func (p *plan) split() []plan {
	end := p.block.First + int64(p.block.Rows)
	cuts := []int64{end}
	for _, pieces := range p.pieces {
		for _, q := range pieces {
			if e := q.end(); p.pick.All && e < end {
				cuts = append(cuts, e)
			}
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	if len(cuts) == 1 || len(cuts)*partRows > p.block.Rows {
		return []plan{*p}
	}
	var out []plan
	first := p.block.First
	for _, cut := range cuts {
		part := plan{block: p.block, pick: p.pick, pieces: make([][]*piece, len(p.pieces))}
		part.block.First, part.block.Rows = first, int(cut-first)
		for i, pieces := range p.pieces {
			for _, q := range pieces {
				if q.first < cut && q.end() > first {
					part.pieces[i] = append(part.pieces[i], q)
				}
			}
		}
		out = append(out, part)
		first = cut
	}
	return out
}
