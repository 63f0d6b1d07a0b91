package samplers

import "github.com/dprelease/dprelease/internal/noise"

// FixedUnits reports whether a design takes fixed numbers of the rows of a frame's units: its parts need Split.
func FixedUnits(d Design) bool {
	switch d.(type) {
	case *StratifiedTake, *Multistage:
		return true
	}
	return false
}

// CountUnits counts the rows of each unit of a frame. Those that lie in none are counted under -1.
func CountUnits(units []int32) map[int32]int64 {
	out := map[int32]int64{}
	var of []int64
	for _, u := range units {
		if u < 0 {
			out[-1]++
			continue
		}
		if int(u) >= len(of) {
			of = append(of, make([]int64, int(u)+1-len(of))...)
		}
		of[u]++
	}
	for u, n := range of {
		if n > 0 {
			out[int32(u)] = n
		}
	}
	return out
}

// Split draws how many rows of each unit of the frame are in the sample, and how many of them lie in each of some tables,
// which hold the rows of the frame together: for each table, the Needs of its part. have counts the rows of each table
// (CountUnits).
func Split(d Design, src *noise.Source, have []map[int32]int64) ([]map[int32]int64, error) {
	return split(d, src, have, newSubset)
}

// split is Split with another way to draw a subset, which lets a test list all draws.
func split(d Design, src *noise.Source, have []map[int32]int64,
	subset func(src *noise.Source, size, rows int64) Selector) ([]map[int32]int64, error) {
	whole, err := begin(d, src, -1)
	if err != nil {
		return nil, err
	}
	s, ok := whole.(*unitSelector)
	if !ok {
		return nil, fail(Misuse)
	}
	left := map[int32]int64{}
	for u, n := range s.left {
		if n > 0 {
			left[int32(u)] = n
		}
	}
	for _, of := range have {
		for u, n := range of {
			if left[u] -= n; left[u] == 0 {
				delete(left, u)
			}
		}
	}
	if len(left) > 0 { // the tables are not those of the frame
		return nil, fail(FrameMismatch)
	}
	out := make([]map[int32]int64, len(have))
	for i := range out {
		out[i] = map[int32]int64{}
	}
	for u, need := range s.need {
		if need == 0 {
			continue
		}
		var tables []int64
		var at []int
		for i, of := range have {
			if n := of[int32(u)]; n > 0 {
				tables, at = append(tables, n), append(at, i)
			}
		}
		taken, err := counts(subset(src, need, s.left[u]), tables, PartBlock)
		if err != nil {
			return nil, err
		}
		for k, blocks := range taken {
			for _, n := range blocks {
				if n > 0 {
					out[at[k]][int32(u)] += n
				}
			}
		}
	}
	return out, nil
}

// beginUnits draws, of the rows of one table, the numbers that Split gave it.
func beginUnits(s *unitSelector, p Part) (Selector, error) {
	if int64(len(p.Units)) != p.Rows {
		return nil, fail(Misuse)
	}
	have := CountUnits(p.Units)
	for u, need := range p.Needs {
		if u < 0 || int(u) >= len(s.left) || need < 0 || need > have[u] {
			return nil, fail(FrameMismatch)
		}
	}
	s.walk = walk{rows: p.Rows}
	for u := range s.left {
		s.left[u], s.need[u] = have[int32(u)], p.Needs[int32(u)]
	}
	return s, nil
}
