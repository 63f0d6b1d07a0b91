package samplers

import (
	"slices"

	"github.com/dprelease/dprelease/internal/noise"
)

// PartBlock is the number of rows that share one stream of choices in a draw that is carried out in parts.
const PartBlock = 1 << 16

// Part is some rows in a row of a table, for which one machine carries a secret draw out. Whoever carries a part out
// again, or in smaller parts, draws the same rows.
//
// # Contract
//
// All parts of a table together draw with the law of the design, however the table is cut: each row in one part. For
// Poisson each row is selected independently with the design's rate, for SRSWOR each subset of the size is selected with
// the same probability, where Taken comes from Counts. Designs with a frame are drawn in parts that are tables of their
// own, each with its own key: rows are drawn with the rate of their stratum, or every subset of the rows of a unit with
// the same probability, where Needs comes from Split. The law is that of the keys' streams. Proof: part.proof.md.
type Part struct {
	Key   noise.Key // of this draw and this table: secret
	Table int64     // rows of the table
	First int64     // row of the table with which the part begins
	Rows  int64     // of the part
	// Taken is the number of rows drawn in each block of the whole table, for a design of a fixed size. It is as secret as
	// the draw.
	Taken []int64
	// Units are the units of the frame in which the rows lie, and Needs is how many rows of each are drawn, for a design
	// that takes fixed numbers in a frame. Needs is as secret as the draw.
	Units []int32
	Needs map[int32]int64
}

// CanPart reports whether a design can be drawn in parts.
func CanPart(d Design) bool {
	switch d.(type) {
	case *Full, *Poisson, *SRSWOR, *StratifiedTake, *StratifiedPoisson, *Multistage:
		return true
	}
	return false
}

// FixedSize reports whether a design needs Counts.
func FixedSize(d Design) bool {
	_, ok := d.(*SRSWOR)
	return ok
}

// BeginPart starts one part of a secret draw.
func BeginPart(d Design, p Part) (Selector, error) {
	return beginPart(d, p, PartBlock, newSubset, func(b int64) *noise.Source { return p.Key.Derive("draw", uint64(b)).Source() })
}

// beginPart is BeginPart with other blocks and streams, which lets a test list all draws.
func beginPart(d Design, p Part, size int64, subset func(src *noise.Source, size, rows int64) Selector,
	stream func(b int64) *noise.Source) (Selector, error) {
	if p.First < 0 || p.Rows < 0 || p.First+p.Rows > p.Table {
		return nil, fail(Misuse)
	}
	var block func(b, rows int64) (Selector, error)
	switch d := d.(type) {
	case *StratifiedPoisson:
		return d.begin(stream(0), p.Rows)
	case *StratifiedTake:
		return beginUnits(newUnitSelector(stream(0), d.overFrame), p)
	case *Multistage:
		return beginUnits(newUnitSelector(stream(0), d.overFrame), p)
	case *Full:
		return allOf(p.Rows), nil
	case *Poisson:
		open := *d
		open.population = 0 // blocks have sizes of their own
		block = func(b, rows int64) (Selector, error) { return open.begin(stream(b), rows) }
	case *SRSWOR:
		if int64(len(p.Taken)) != (p.Table+size-1)/size {
			return nil, fail(Misuse)
		}
		block = func(b, rows int64) (Selector, error) {
			switch n := p.Taken[b]; {
			case n < 0 || n > rows:
				return nil, fail(SizeMismatch)
			case n == 0:
				return &placed{walk: walk{rows: rows}}, nil
			default:
				return subset(stream(b), n, rows), nil
			}
		}
	default:
		return nil, fail(Misuse)
	}
	return inBlocks(p, size, block), nil
}

// Counts draws how many rows of each block of some tables are in a sample of all of them together: for each table, the
// Taken of its parts.
func Counts(d Design, src *noise.Source, tables []int64) ([][]int64, error) {
	total := int64(0)
	for _, rows := range tables {
		total += rows
	}
	whole, err := begin(d, src, total)
	if err != nil {
		return nil, err
	}
	return counts(whole, tables, PartBlock)
}

// counts keeps of a whole draw how many rows each block has: that is the law of the counts by definition.
func counts(whole Selector, tables []int64, size int64) ([][]int64, error) {
	out := make([][]int64, len(tables))
	for i, rows := range tables {
		for left := rows; left > 0; left -= size {
			n := min(left, size)
			sel, err := whole.Next(int(n))
			if err != nil {
				return nil, err
			}
			taken := int64(len(sel.Rows))
			if sel.All {
				taken = n
			}
			out[i] = append(out[i], taken)
		}
	}
	return out, whole.Done()
}

// inBlocks draws block after block of size rows, each from its own stream.
func inBlocks(p Part, size int64, block func(b, rows int64) (Selector, error)) Selector {
	var now Selector // of the block that the walk stands in, nil at its beginning
	return &placed{walk: walk{rows: p.Rows}, pick: func(w *walk, first int64) (err error) {
		for at := first; at < w.pos; {
			row := p.First + at
			b, inside := row/size, row%size
			rows := min(size, p.Table-b*size)
			if now == nil {
				if now, err = block(b, rows); err != nil {
					return err
				}
				if inside > 0 { // the part begins within a block, whose first rows are another part's
					if _, err := now.Next(int(inside)); err != nil {
						return err
					}
				}
			}
			take := min(w.pos-at, rows-inside)
			sel, err := now.Next(int(take))
			if err != nil {
				return err
			}
			w.out = slices.Grow(w.out, len(sel.Rows))
			for _, r := range sel.Rows {
				w.out = append(w.out, uint32(at-first)+r)
			}
			for r := int64(0); sel.All && r < take; r++ {
				w.out = append(w.out, uint32(at-first+r))
			}
			if at += take; inside+take == rows {
				if err := now.Done(); err != nil {
					return err
				}
				now = nil
			}
		}
		return nil
	}}
}
