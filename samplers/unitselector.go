package samplers

import "github.com/dprelease/dprelease/internal/noise"

// unitSelector draws, inside each ultimate unit, the records that are needed of
// it, by sequential selection as the rows stream by in any order of units.
type unitSelector struct {
	unitwise
	need []int64 // by unit: records still to be drawn; 0 in units not drawn
	left []int64 // by unit: records still to come
}

func newUnitSelector(src *noise.Source, d overFrame) *unitSelector {
	f := d.frame
	s := &unitSelector{unitwise: unitwise{walk: walk{rows: f.records}, src: src, weights: d.uneven()}, need: make([]int64, f.Len()), left: make([]int64, f.Len())}
	for i, u := range f.units {
		s.left[i] = u.Records
	}
	return s
}

func (s *unitSelector) NextUnits(units []int32) (Selection, error) {
	if err := s.block(len(units)); err != nil {
		return Selection{}, err
	}
	for i, u := range units {
		if u < 0 || int(u) >= len(s.left) || s.left[u] == 0 {
			return Selection{}, fail(FrameMismatch)
		}
		if need := s.need[u]; need > 0 && takes(s.src, need, s.left[u]) {
			s.need[u]--
			s.take(i, u)
		}
		s.left[u]--
	}
	return s.taken()
}

func (s *unitSelector) Done() error {
	if err := s.unitwise.Done(); err != nil {
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
