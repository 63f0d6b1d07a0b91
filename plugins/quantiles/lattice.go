package quantiles

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/plugins/sdk"
)

const (
	mostCells     = 1 << 23 // of all groups together, where the job gives no step
	mostMultiples = 1 << 40 // of a step: with 2^16 points each they leave a cut far below 2^63 (recursion.proof.md)
	mostSteps     = 1 << 20 // of a range that is cut evenly, where the job gives no step
	decades       = 4       // below the first, with full digits; then the numbers stay as fine
)

// lattice is the public, ascending list of the values that may be released: one stretch of equal
// steps, or one stretch for each decade.
type lattice struct {
	stretches []stretch
	cells     int64
	lower     float64 // bounds of the column
	upper     float64
}

// stretch is a run of values k·10^power or k·step, for whole numbers k ≥ first.
type stretch struct {
	at    int64 // index of the first value
	first int64
	step  float64
	over  float64 // 1/step if that is a whole number, which keeps decimals exact
	from  float64 // the stretch holds values from here on
}

func newStretch(step float64) stretch {
	s := stretch{step: step}
	if inverse := math.Round(1 / step); inverse >= 1 && math.Abs(inverse*step-1) < 1e-12 {
		s.over = inverse
	}
	return s
}

// times is x in steps.
func (s *stretch) times(x float64) float64 {
	if s.over > 0 {
		return x * s.over
	}
	return x / s.step
}

func (s *stretch) value(k int64) float64 {
	if s.over > 0 {
		return float64(k) / s.over
	}
	return float64(k) * s.step
}

// newLattice makes the lattice of a column for so many groups.
func newLattice(c sdk.Column, step float64, groups int) (lattice, error) {
	l := lattice{lower: c.Lower, upper: c.Upper}
	width, room := c.Upper-c.Lower, float64(mostCells/groups)
	switch {
	case !(width > 1e-290 && width < 1e300 && math.Max(math.Abs(c.Lower), math.Abs(c.Upper)) < 1e300):
		return l, fmt.Errorf("column: %q needs lower below upper, by an amount between 1e-290 and 1e300", c.Name)
	case step > 0 && !(width/step < mostMultiples-2):
		return l, fmt.Errorf("step: more than %d multiples of it lie between the bounds; give a larger step, or leave it out",
			int64(mostMultiples))
	case step > 0 && !(math.Max(math.Abs(c.Lower), math.Abs(c.Upper))/step < 1<<51):
		return l, errors.New("step: the bounds are more than 2^51 steps away from 0; give a larger step, or leave it out")
	case step > 0:
		return l, l.even(step)
	case room < 100:
		return l, errors.New("by: there are too many groups for quantiles without a step")
	case c.Lower > 0 && c.Upper < 10*c.Lower || c.Upper < 0 && c.Lower > 10*c.Upper:
		// All values are of one size, which may be far larger than their differences.
		return l, l.even(math.Pow10(int(math.Ceil(math.Log10(width / math.Min(mostSteps, room))))))
	}
	l.digits(room)
	return l, nil
}

// even are all multiples of step within the bounds.
func (l *lattice) even(step float64) error {
	s := newStretch(step)
	s.first, s.from = int64(math.Ceil(s.times(l.lower)-1e-9)), math.Inf(-1)
	l.cells = int64(math.Floor(s.times(l.upper)+1e-9)) - s.first + 1
	if l.cells < 2 {
		return errors.New("step: fewer than two multiples of it lie between the bounds")
	}
	l.stretches = []stretch{s}
	return nil
}

// digits are the numbers of as many digits as there is room for, at most five.
func (l *lattice) digits(room float64) {
	size := math.Max(math.Abs(l.lower), math.Abs(l.upper))
	top := int(math.Ceil(math.Log10(size)))
	sides := 1.0
	if l.lower < 0 && l.upper > 0 {
		sides = 2
	}
	n := 5
	for n > 1 && sides*(1+0.9*decades)*math.Pow10(n) > room {
		n--
	}
	// The stretches of the positive numbers, from the finest.
	var side []stretch
	at, most := int64(0), int64(math.Pow10(n))
	for k := range decades + 1 {
		s := newStretch(math.Pow10(top - decades + k - n))
		s.at = at
		if k > 0 {
			s.first = most / 10
			s.from = s.value(s.first)
		}
		side = append(side, s)
		at += most - s.first
	}
	l.stretches, l.cells = side, at+1
	// Below 0 they are the mirror image; index 0 moves to the lowest value within the bounds.
	low, high := l.index(l.lower), l.index(l.upper)
	for i := range l.stretches {
		l.stretches[i].at -= low
	}
	l.cells = high - low + 1
}

// index is the index of the value nearest to y, before it is held to the lattice.
func (l *lattice) index(y float64) int64 {
	if len(l.stretches) == 1 {
		s := &l.stretches[0]
		return int64(math.RoundToEven(s.times(y))) - s.first
	}
	origin := l.stretches[0].at // of the value 0
	a := math.Abs(y)
	for i := len(l.stretches) - 1; ; i-- {
		if s := &l.stretches[i]; i == 0 || a >= s.from {
			k := s.at + int64(math.RoundToEven(s.times(a))) - s.first
			if y < 0 {
				return 2*origin - k
			}
			return k
		}
	}
}

// cell is the index of the value that y is rounded to. It depends on y alone.
func (l *lattice) cell(y float64) int64 { return max(0, min(l.cells-1, l.index(y))) }

// value is the value with that index.
func (l *lattice) value(i int64) float64 {
	x := 0.0
	if len(l.stretches) == 1 {
		x = l.stretches[0].value(i + l.stretches[0].first)
	} else {
		away := i - l.stretches[0].at
		k := l.stretches[0].at + max(away, -away)
		n, _ := slices.BinarySearchFunc(l.stretches, k+1, func(s stretch, k int64) int { return int(s.at - k) })
		s := &l.stretches[n-1]
		if x = s.value(k - s.at + s.first); away < 0 {
			x = -x
		}
	}
	return math.Min(math.Max(x, l.lower), l.upper)
}

// finer reports whether somewhere below a value (side 1) or above one (side 0) the public numbers
// suddenly lie ten times as close to each other.
func (l *lattice) finer(side int) bool {
	return len(l.stretches) > 1 && (side == 1 && l.upper > 0 || side == 0 && l.lower < 0)
}
