package table

import (
	"context"
	"slices"
	"sort"

	"github.com/dprelease/dprelease/internal/table/pagewalk"
)

// Direct says where the values of a scan of one column of floats are wanted, so that those of plain pages are put there by
// the goroutine that reads them, and nowhere before.
type Direct struct {
	// Room returns where the values of the next so many rows of the table belong, in stretches, each of which becomes a
	// batch of its own. It is called in row order from one goroutine, some pages ahead of visit; no further ones once it
	// had none. Later means that batches of an earlier room have to be visited first. The values of a page may be put
	// there, in part or as a whole, and yet arrive elsewhere; then the batches are cut in the same way.
	Room func(rows int) (parts [][]float64, later bool)
	// Move puts values, eight bytes each, in the machine's order, into dst, adjusted; changed goes into Values. Several
	// goroutines call it at once. Where it returns false the page is read again, and its values arrive as they are.
	Move func(dst []float64, src []byte) (changed int64, ok bool)
	_    struct{}
}

// loopDirect is loop without blocks: page after page.
func (s *scan) loopDirect(ctx context.Context, visit func(b Batch) error) error {
	d, rows := s.options.Direct, int64(0)
	var queue []*piece
	p, more := s.lanes[0].next()
	for {
		for more && (len(queue) == 0 || s.live < s.ahead && s.bytes < s.table.budget) {
			if d != nil && p.rows > 0 {
				parts, later := d.Room(p.rows)
				if later && len(queue) > 0 {
					break
				}
				if p.into, p.move = parts, d.Move; sum(parts) != p.rows {
					p.into, d = nil, nil
				}
			}
			p.refs, p.cols = 1, s.lanes[0].cols
			s.hand(p)
			queue = append(queue, p)
			p, more = s.lanes[0].next()
		}
		if len(queue) == 0 {
			break
		}
		q := queue[0]
		queue = slices.Delete(queue, 0, 1)
		if err := s.decoded(ctx, q); err != nil {
			return err
		}
		if err := s.deliverPage(q, visit); err != nil {
			return err
		}
		if q.rows > 0 && !q.data[0].moved {
			d = nil // the others are taken to be like it
		}
		rows += int64(q.rows)
		s.drop(q)
		if s.options.Progress != nil {
			s.options.Progress(q.end())
		}
	}
	if rows != s.table.rows {
		return fail(CodeCorrupt, "", "the pages end before the rows do")
	}
	return ctx.Err()
}

func sum(parts [][]float64) (n int) {
	for _, p := range parts {
		n += len(p)
	}
	return n
}

// deliverPage visits the rows of a page in the stretches that there was room for, or else in such as a block has.
func (s *scan) deliverPage(p *piece, visit func(b Batch) error) error {
	v, columns := &p.data[0], s.assembler.columns
	blocks := s.table.blocks
	for from, k := 0, 0; from < p.rows; k++ {
		n := min(blockRows, p.rows-from)
		if p.into != nil {
			n = len(p.into[k])
		}
		if v.moved {
			c := s.assembler.clear(0)
			c.Float64, c.Adjusted, c.Changed = p.into[k], true, v.changed
			v.changed = 0
		} else {
			s.assembler.column(0, 0, []span{{p: p, from: from, to: from + n}}, n)
		}
		first := p.first + int64(from)
		b := blocks[sort.Search(len(blocks), func(i int) bool { return blocks[i].First > first })-1]
		b.First, b.Rows = first, n
		if err := visit(Batch{Block: b, Picked: Pick{All: true}, Rows: n, Columns: columns}); err != nil {
			return err
		}
		from += n
	}
	return nil
}

// move is page for a page whose values are wanted elsewhere, and need nothing but to be moved there. With errWhole page has
// to do it.
func (w *worker) move(c *chunk, p *pagewalk.Page, to mark, how func([]float64, []byte) (int64, bool), into [][]float64, out *vec) error {
	if !c.pickable(p) || c.whole.Load() {
		return errWhole
	}
	m := mover{parts: into, how: how}
	err := w.plain(c, p, to, func(from int) { m.skip = from }, m.take)
	if err == nil && !m.done() {
		err = errWhole
	}
	if err != nil {
		if err == errWhole && !m.refused {
			c.whole.Store(true)
		}
		return err
	}
	out.moved, out.changed = true, m.changed
	return nil
}

// mover moves values as the bytes of their page go by.
type mover struct {
	parts   [][]float64 // those that are not full
	at      int         // values in the first of them
	how     func(dst []float64, src []byte) (int64, bool)
	skip    int // bytes in front of the first value
	over    [8]byte
	begun   int // bytes in over, of a value that ends in the next stretch of bytes
	changed int64
	refused bool
}

// take looks at the next bytes. It returns false where there are more than wanted, or how refuses.
func (m *mover) take(b []byte) bool {
	n := min(m.skip, len(b))
	m.skip, b = m.skip-n, b[n:]
	if m.begun > 0 {
		n := copy(m.over[m.begun:], b)
		m.begun, b = m.begun+n, b[n:]
		if m.begun < 8 {
			return true
		}
		m.begun = 0
		if !m.put(m.over[:]) {
			return false
		}
	}
	whole := len(b) &^ 7
	if !m.put(b[:whole]) {
		return false
	}
	m.begun = copy(m.over[:], b[whole:])
	return true
}

// put moves whole values.
func (m *mover) put(b []byte) bool {
	for len(b) > 0 {
		if len(m.parts) == 0 {
			return false
		}
		dst := m.parts[0][m.at:]
		n := min(len(dst), len(b)/8)
		changed, ok := m.how(dst[:n], b[:8*n])
		if m.changed += changed; !ok {
			m.refused = true
			return false
		}
		b = b[8*n:]
		if m.at += n; m.at == len(m.parts[0]) {
			m.parts, m.at = m.parts[1:], 0
		}
	}
	return true
}

func (m *mover) done() bool { return len(m.parts) == 0 && m.skip == 0 && m.begun == 0 }
