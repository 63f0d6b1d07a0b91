package samplers

import "github.com/dprelease/dprelease/internal/noise"

// unitSelector draws, inside each ultimate unit, the records that are needed of
// it, by sequential selection as the rows stream by in any order of units.
type unitSelector struct {
	walk
	src     *noise.Source
	need    []int64   // by unit: records still to be drawn; 0 in units not drawn
	left    []int64   // by unit: records still to come
	weights []float64 // by unit, nil where all are equal
	w       []float64
}

func newUnitSelector(src *noise.Source, f *Frame) *unitSelector {
	s := &unitSelector{walk: walk{rows: f.records}, src: src, need: make([]int64, f.Len()), left: make([]int64, f.Len())}
	for i, u := range f.units {
		s.left[i] = u.Records
	}
	return s
}

func (s *unitSelector) Next(n int) (Selection, error) {
	if n == 0 {
		return s.NextUnits(nil)
	}
	return Selection{}, fail(Misuse) // the units decide
}

func (s *unitSelector) NextUnits(units []int32) (Selection, error) {
	if _, err := s.advance(len(units)); err != nil {
		return Selection{}, err
	}
	s.w = s.w[:0]
	for i, u := range units {
		if u < 0 || int(u) >= len(s.left) || s.left[u] == 0 {
			return Selection{}, fail(FrameMismatch)
		}
		if need := s.need[u]; need > 0 && takes(s.src, need, s.left[u]) {
			s.need[u]--
			s.out = append(s.out, uint32(i))
			if s.weights != nil {
				s.w = append(s.w, s.weights[u])
			}
		}
		s.left[u]--
	}
	out := Selection{Rows: s.out}
	if s.weights != nil {
		out.Weights = s.w
	}
	return out, s.src.Err()
}

func (s *unitSelector) Done() error {
	if err := firstError(s.finish(), s.src.Err()); err != nil {
		return err
	}
	// As many rows went by as the frame has records, none in a unit that was
	// full: every unit is complete, and so is its draw.
	for u := range s.left {
		if s.left[u] != 0 || s.need[u] != 0 {
			return fail(FrameMismatch)
		}
	}
	return nil
}
