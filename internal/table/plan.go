package table

import (
	"cmp"
	"context"
	"slices"
)

// plan is a block that is on its way.
type plan struct {
	block Block
	pick  Pick
	parts [][]part // for each lane the pieces that overlap the block
}

// part is what a block takes from one piece.
type part struct {
	*piece
	first int // among the block's picked rows, the first that lies in the piece
	rows  int // how many do; of a block of which all rows are wanted, 1
	at    int // the first one's place among the piece's wanted rows
}

func (p *plan) rows() int {
	if p.pick.All {
		return p.block.Rows
	}
	return len(p.pick.Rows)
}

// partRows is how many rows a part of a block has at least, on average: less is not worth a visit of its own.
const partRows = 1 << 13

// split cuts a block of which every row is wanted where a page ends, so that each part is a view of the pages and
// nothing is copied.
func (p *plan) split() []plan {
	whole := []plan{*p}
	if !p.pick.All {
		return whole
	}
	end := p.block.First + int64(p.block.Rows)
	cuts := []int64{end}
	for _, parts := range p.parts {
		for _, part := range parts {
			if e := part.end(); e > p.block.First && e < end {
				cuts = append(cuts, e)
			}
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	if len(cuts) == 1 || len(cuts)*partRows > p.block.Rows {
		return whole
	}
	var out []plan
	first := p.block.First
	for _, cut := range cuts {
		b := p.block
		b.First, b.Rows = first, int(cut-first)
		some := plan{block: b, pick: p.pick, parts: make([][]part, len(p.parts))}
		for i, parts := range p.parts {
			for _, q := range parts {
				if q.piece.first < cut && q.end() > first {
					some.parts[i] = append(some.parts[i], q)
				}
			}
		}
		out = append(out, some)
		first = cut
	}
	return out
}

// room says whether another block may be planned. One always may, so that a page of any permitted size gets through.
func (s *scan) room() bool {
	if len(s.planned) == 0 {
		return true
	}
	return s.live < s.ahead && s.light < max(s.ahead, lightPieces) && s.bytes < s.table.budget && len(s.planned) < 1024
}

// lightPieces is how many pieces may be on their way of which little will stay: enough that the workers find more of
// them while a batch of many is delivered.
const lightPieces = 128

// plan picks the rows of the next block and hands the pieces that nothing more will be asked of to the workers.
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
	// Also where nothing was picked: with this block a piece may end of which others want rows.
	p.parts = make([][]part, len(s.lanes))
	for i, l := range s.lanes {
		if err := s.advance(l, b); err != nil {
			return err
		}
		p.parts[i] = s.take(l, &p)
	}
	s.planned = append(s.planned, p)
	return nil
}

// take asks the pieces in a lane's window for the rows of a block.
func (s *scan) take(l *lane, p *plan) []part {
	parts := make([]part, 0, len(l.window))
	end := p.block.First + int64(p.block.Rows)
	next := 0 // of the picked rows
	for _, q := range l.window {
		t := part{piece: q, first: next, at: len(q.want)}
		shift := p.block.First - q.first
		switch {
		case p.pick.All:
			t.rows = 1
			if q.done == nil { // what was handed out stays as it is
				q.whole, q.want = true, nil
			}
		default:
			rows := p.pick.Rows[next:]
			limit := int64(q.rows) - shift // above 0
			n, _ := slices.BinarySearchFunc(rows, limit, func(row uint32, limit int64) int { return cmp.Compare(int64(row), limit) })
			if t.rows = n; n > 0 && q.light && q.done == nil && !q.whole {
				q.want = slices.Grow(q.want, n)
				for _, row := range rows[:n] {
					q.want = append(q.want, uint32(int64(row)+shift))
				}
			}
			next += n
		}
		if t.rows > 0 {
			q.refs++
		}
		// What a later block will want of a light piece is not known yet.
		if q.done == nil && (t.rows > 0 && (!q.light || q.whole) || len(q.want) > 0 && q.end() <= end) {
			s.hand(q)
		}
		parts = append(parts, t)
	}
	return parts
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
		p.refs, p.cols = 1, l.cols
		l.window = append(l.window, p)
		last = p.end()
	}
	return nil
}

// hand gives a piece to the workers.
func (s *scan) hand(p *piece) {
	p.done = make(chan struct{})
	if p.want != nil {
		s.light++
	} else {
		s.live++
	}
	s.bytes += p.held()
	s.tasks <- p
}

// drop gives up one claim on a piece and its memory with the last one.
func (s *scan) drop(p *piece) {
	if p.refs--; p.refs > 0 || p.done == nil {
		return
	}
	if p.want != nil {
		s.light--
	} else {
		s.live--
	}
	s.bytes -= p.held()
	for i := range p.data {
		p.data[i].release(s.pool)
	}
}
