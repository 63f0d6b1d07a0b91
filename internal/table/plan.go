package table

import (
	"context"
	"slices"
)

// plan is a block that is on its way.
type plan struct {
	block Block
	pick  Pick
	parts [][]*piece // for each lane the pieces that overlap the block; those without a picked row were not decoded
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
	for _, pieces := range p.parts {
		for _, part := range pieces {
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
		part := plan{block: b, pick: p.pick, parts: make([][]*piece, len(p.parts))}
		for i, pieces := range p.parts {
			for _, q := range pieces {
				if q.first < cut && q.end() > first {
					part.parts[i] = append(part.parts[i], q)
				}
			}
		}
		out = append(out, part)
		first = cut
	}
	return out
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
					s.need(part, p.sparse())
				}
			}
		}
	}
	s.planned = append(s.planned, p)
	return nil
}

// sparse says that reading values one by one costs less than unpacking pages.
func (p *plan) sparse() bool { return !p.pick.All && len(p.pick.Rows) <= p.block.Rows/32 }

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
		p.refs, p.cols = 1, l.cols
		l.window = append(l.window, p)
		last = p.end()
	}
	return nil
}

// need hands a piece to the workers, once, and counts the block that asked.
func (s *scan) need(p *piece, sparse bool) {
	p.refs++
	if p.done != nil {
		return
	}
	p.done, p.sparse = make(chan struct{}), sparse
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
