package plan

import (
	"cmp"
	"math"
)

// Fit looks for the value whose cost is the largest that keeps within target, in at most so
// many tries. It ends where a cost is near times the target, or more.
//
// # Contract
//
// What Fit returns was made by cost, which said at most target for it; Good is false where
// no value was found. Fit expects nothing else of cost. Where a cost does not grow as the
// steps expect, Fit finds a smaller value or none, and never one that costs more.
func Fit[T any](cost func(x float64) (made T, cost float64, err error), target, near float64, tries int, by *Scale) (Fitted[T], error) {
	var best Fitted[T]
	for range tries {
		x, ok := by.next()
		if !ok {
			break
		}
		made, c, err := cost(x)
		if err != nil {
			return best, err
		}
		used := c / target
		if c <= target && (!best.Good || used > best.Used) {
			best = Fitted[T]{Made: made, Used: used, Good: true}
		}
		if c <= target && used >= near {
			break
		}
		by.learn(x, used)
	}
	return best, nil
}

// Fitted is the best try of a search.
type Fitted[T any] struct {
	Made T
	Used float64 // its cost over the target
	Good bool
}

// Scale proposes positive numbers for a cost that grows with them. It takes the cost for a
// power of the number. Where that leads out of what is known, it interpolates.
type Scale struct {
	From   float64 // the first number
	Power  float64 // with which the cost is expected to grow; 0 where the tries are to tell, and 1 is a beginning
	Aim    float64 // the part of the target that a step aims for
	Widest float64 // the largest factor of a step up; 0 stands for 4
	Least  float64 // the smallest number that may be tried; 0 for any
	// Round takes a number to one that may be tried; nil where all may.
	Round func(x float64) float64

	lo, hi, at, over float64 // the largest good and the smallest bad number, 0 for none, and what they use
	x, used, learned float64 // of the last try, and the power that the last two tell
}

// even is the ratio of a bad number to a good one between which nothing is left to find.
const even = 1 + 1e-6

// next returns the next number to try, false where no further one is worth it.
func (s *Scale) next() (float64, bool) {
	x := s.From
	if s.x > 0 {
		x = s.step()
	}
	if x = math.Max(x, s.Least); s.Round != nil {
		x = s.Round(x)
	}
	return x, x > s.lo && (s.hi == 0 || x < s.hi && !(s.lo > 0 && s.hi/s.lo < even))
}

func (s *Scale) step() float64 {
	x := s.x * math.Pow(s.Aim/s.used, 1/cmp.Or(s.Power, s.learned, 1))
	switch {
	case s.hi == 0:
		return s.lo * math.Min(cmp.Or(s.Widest, 4), x/s.lo)
	case x > s.lo && x < s.hi:
		return x
	case s.lo == 0:
		return s.hi / 4
	case math.IsInf(s.over, 1) || s.at == 0:
		return math.Sqrt(s.lo * s.hi)
	}
	w := math.Log(s.Aim/s.at) / math.Log(s.over/s.at)
	return s.lo * math.Pow(s.hi/s.lo, math.Max(0.05, math.Min(0.95, w)))
}

// leastPower is the least power that Scale learns: a cost that hardly grows would send it
// anywhere.
const leastPower = 0.02

// learn takes the answer to a number. used is its cost over the target; where it is above 1, infinite or not a number, the number is
// too large.
func (s *Scale) learn(x, used float64) {
	if math.IsNaN(used) {
		used = math.Inf(1)
	}
	if p := math.Log(used/s.used) / math.Log(x/s.x); p > leastPower && !math.IsInf(p, 1) {
		s.learned = p
	}
	if s.x, s.used = x, used; used <= 1 {
		s.lo, s.at = x, used
	} else {
		s.hi, s.over = x, used
	}
}
