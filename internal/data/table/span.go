package table

// span names the rows that a block takes from one piece.
type span struct {
	v        *vec
	from, to int      // rows of the piece, when rows is nil
	rows     []uint32 // offsets in the block
	shift    int64    // row of the piece = offset in the block + shift
}

func (s *span) len() int {
	if s.rows != nil {
		return len(s.rows)
	}
	return s.to - s.from
}

// spans returns what a block takes from each piece of a lane.
func (p *plan) spans(lane int) []span {
	var out []span
	next := 0
	for _, q := range p.pieces[lane] {
		s := span{v: &q.out, shift: p.block.First - q.first}
		if p.pick.All {
			s.from, s.to = int(max(0, s.shift)), int(min(int64(q.rows), s.shift+int64(p.block.Rows)))
		} else {
			n := p.until(next, q.end())
			s.rows, next = p.pick.Rows[next:n], n
		}
		out = append(out, s)
	}
	return out
}
