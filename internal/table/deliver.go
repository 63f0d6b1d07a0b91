package table

import "context"

// fewRows is how many rows of several blocks are visited together: with fewer, the visit costs more than the rows.
const fewRows = 1 << 13

// together takes the blocks that are visited next off the plan: one, or several of which few rows were picked. While more
// are to come, half of them stay, so that the workers do not run out of pieces.
func (s *scan) together() []plan {
	most := len(s.planned)
	if s.block < len(s.table.blocks) {
		most = (most + 1) / 2
	}
	rows, n := s.planned[0].rows(), 1
	for ; n < most; n++ {
		last, p := &s.planned[n-1], &s.planned[n]
		if last.pick.All || p.pick.All || rows+p.rows() > fewRows {
			break
		}
		// The dictionaries of two row groups have nothing in common.
		if s.assembler.coded && (p.block.File != last.block.File || p.block.Group != last.block.Group) {
			break
		}
		rows += p.rows()
	}
	group := s.planned[:n:n]
	s.planned = s.planned[n:]
	return group
}

// deliver waits for the pieces of some blocks, puts a batch together, or several, and gives them to visit.
func (s *scan) deliver(ctx context.Context, group []plan, visit func(b Batch) error) error {
	if err := s.wait(ctx, group); err != nil {
		return err
	}
	parts := [][]plan{group}
	if group[0].pick.All {
		parts = parts[:0]
		for _, p := range group[0].split() {
			parts = append(parts, []plan{p})
		}
	}
	for _, some := range parts {
		if b := s.batch(some); b.Rows > 0 {
			if err := visit(b); err != nil {
				return err
			}
		}
	}
	for i := range group {
		for _, parts := range group[i].parts {
			for _, part := range parts {
				if part.rows > 0 {
					s.drop(part.piece)
				}
			}
		}
	}
	if s.options.Progress != nil {
		last := group[len(group)-1].block
		s.options.Progress(last.First + int64(last.Rows))
	}
	clear(group)
	return nil
}

// wait waits until every piece that the blocks take rows from is decoded. It begins with the last: when that is done most
// others are.
func (s *scan) wait(ctx context.Context, group []plan) error {
	var err error
	for i := len(group) - 1; i >= 0; i-- {
		for k := len(group[i].parts) - 1; k >= 0; k-- {
			parts := group[i].parts[k]
			for j := len(parts) - 1; j >= 0; j-- {
				if parts[j].rows == 0 {
					continue
				}
				if e := s.decoded(ctx, parts[j].piece); e != nil {
					err = e // the first in the order of the table
				}
			}
		}
	}
	return err
}

// decoded waits for one piece. One that reaches beyond what is planned is not handed out before that is.
func (s *scan) decoded(ctx context.Context, p *piece) error {
	for p.done == nil {
		if s.block == len(s.table.blocks) {
			return fail(CodeCorrupt, "", "the rows end before the pages do")
		}
		if err := s.plan(ctx); err != nil {
			return err
		}
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	return p.err
}

// batch puts the picked rows of some blocks together.
func (s *scan) batch(group []plan) Batch {
	b := Batch{Block: group[0].block, Picked: group[0].pick, Rows: group[0].rows(), Columns: s.assembler.columns}
	if len(group) > 1 {
		s.picked = s.picked[:0]
		for i := range group {
			shift := uint32(group[i].block.First - b.Block.First)
			for _, row := range group[i].pick.Rows {
				s.picked = append(s.picked, row+shift)
			}
		}
		last := group[len(group)-1].block
		b.Block.Rows = int(last.First-b.Block.First) + last.Rows
		b.Picked, b.Rows = Pick{Rows: s.picked}, len(s.picked)
	}
	if b.Rows == 0 {
		return b
	}
	for i, l := range s.lanes {
		s.spans = cut(s.spans[:0], group, i)
		for k, col := range l.cols {
			s.assembler.column(col, k, s.spans, b.Rows)
		}
	}
	clear(s.spans)
	return b
}
