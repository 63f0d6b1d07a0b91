package privacy

import (
	"errors"
	"fmt"
	"math"
)

// Calibrate finds the x in [lo, hi] that gets the most out of a target guarantee:
// the smallest x where more is more private (a noise scale), the largest where
// more is less private (a rate, a number of steps, an epsilon). The direction is
// found from the ends. The answer is one at which the charged guarantee was
// evaluated and found within the target.
//
// # Contract
//
// The guarantee of e(x) is monotone in x over [lo, hi]; 0 < lo < hi.
func Calibrate(e func(x float64) Event, rel Relation, target Point, lo, hi float64) (float64, Answer, error) {
	if !(target.Epsilon > 0) || math.IsInf(target.Epsilon, 1) {
		return 0, Answer{}, wrong("target.epsilon", "must be positive and finite (%g)", target.Epsilon)
	}
	if !(lo > 0 && hi >= lo) || math.IsInf(hi, 1) {
		return 0, Answer{}, wrong("range", "must be positive, finite and not empty (%g, %g)", lo, hi)
	}
	s := &search{e: e, rel: rel, target: target}
	cheap := Options{Methods: []string{"basic", "rdp", "shuffle", "iterate"}, Quick: true}
	full := Options{Quick: true}
	found, err := s.bracket(lo, hi, cheap)
	if err != nil {
		return 0, Answer{}, err
	}
	if found {
		s.narrow(cheap, 1e-3)
		// All methods together are never looser than the cheap ones: safe stays safe, and
		// only the failing end must be found again.
		s.advance(lo, hi, full)
	} else if found, err = s.bracket(lo, hi, full); err != nil || !found {
		if err == nil {
			err = unreachable(target)
		}
		return 0, Answer{}, err
	}
	s.narrow(full, 2e-5)
	if b, ok := s.answer.Methods["basic"]; ok && b.Epsilon <= s.answer.Epsilon*(1+1e-8) {
		// A closed form costs next to nothing: settle it to the last digits.
		s.narrow(Options{Methods: []string{"basic", s.answer.Method}, Quick: true}, 1e-13)
	}
	if s.err != nil {
		return 0, Answer{}, s.err
	}
	a, err := EpsilonAt(e(s.safe), rel, target.Delta)
	if err == nil && a.Epsilon > target.Epsilon {
		a = s.answer
	}
	return s.safe, a, err
}

// ErrUnreachable is wrapped by the error of a calibration whose target no
// parameter in the range meets.
var ErrUnreachable = errors.New("no value in the range meets the target")

// search is a calibration under way. safe is within the target, fail is not.
type search struct {
	e       func(x float64) Event
	rel     Relation
	target  Point
	err     error  // the first error that is not a large epsilon
	answer  Answer // at safe
	safe    float64
	fail    float64
	epsSafe float64
	epsFail float64
	growing bool // ε grows with x
}

func unreachable(target Point) error {
	return fmt.Errorf("target: %w: epsilon %g at delta %g", ErrUnreachable, target.Epsilon, target.Delta)
}

// eps evaluates the charged epsilon at x.
func (s *search) eps(x float64, o Options) (float64, Answer) {
	a, err := EpsilonWith(s.e(x), s.rel, s.target.Delta, o)
	if err != nil && !errors.Is(err, ErrUnbounded) && s.err == nil {
		s.err = err
	}
	if err != nil {
		return math.Inf(1), a
	}
	return a.Epsilon, a
}

// bracket looks at both ends; found says that safe is set.
func (s *search) bracket(lo, hi float64, o Options) (found bool, err error) {
	a, first := s.eps(lo, o)
	b, last := s.eps(hi, o)
	if s.err != nil {
		return false, s.err
	}
	s.growing = b >= a
	okA, okB := a <= s.target.Epsilon, b <= s.target.Epsilon
	switch {
	case okA && okB && s.growing, !okA && okB:
		s.safe, s.epsSafe, s.answer, s.fail, s.epsFail = hi, b, last, lo, a
	case okA:
		s.safe, s.epsSafe, s.answer, s.fail, s.epsFail = lo, a, first, hi, b
	default:
		return false, nil
	}
	if okA && okB {
		s.fail = s.safe // the end of the range is the answer
	}
	return true, nil
}

// narrow moves safe and fail together until they differ by less than tol or no
// admissible value lies between them.
func (s *search) narrow(o Options, tol float64) {
	stuck := 0
	for range 200 {
		if s.err != nil || s.safe == s.fail || math.Abs(s.safe-s.fail) <= tol*math.Min(s.safe, s.fail) {
			return
		}
		if s.epsSafe >= s.target.Epsilon*(1-tol/4) && s.epsSafe > 0 {
			return
		}
		x := s.between(stuck)
		if x == s.safe || x == s.fail {
			if x = s.safe + (s.fail-s.safe)/2; x == s.safe || x == s.fail {
				return
			}
		}
		eps, a := s.eps(x, o)
		before := math.Abs(math.Log(s.safe / s.fail))
		if eps <= s.target.Epsilon {
			s.safe, s.epsSafe, s.answer = x, eps, a
		} else {
			s.fail, s.epsFail = x, eps
		}
		if math.Abs(math.Log(s.safe/s.fail)) > before/2 {
			stuck++
		} else {
			stuck = 0
		}
	}
}

// between guesses where ε crosses the target: by interpolation in logarithms,
// kept a little on the safe side of the guess, or halfway where that makes no
// headway.
func (s *search) between(stuck int) float64 {
	a, b := math.Log(s.safe), math.Log(s.fail)
	width := math.Abs(b - a)
	if s.epsSafe > 0 && !math.IsInf(s.epsFail, 1) && width < 1 && stuck < 2 {
		w := math.Log(s.target.Epsilon/s.epsSafe) / math.Log(s.epsFail/s.epsSafe)
		if stuck == 1 {
			w -= 0.02 // approach from the other side
		} else {
			w += 1e-4
		}
		if w > 0 && w < 1 {
			return math.Exp(a + w*(b-a))
		}
	}
	return math.Exp((a + b) / 2)
}

// advance moves the failing end to where every method fails.
func (s *search) advance(lo, hi float64, o Options) {
	if s.safe == s.fail {
		return
	}
	s.epsSafe, s.answer = s.eps(s.safe, o)
	if s.epsSafe > s.target.Epsilon { // a wider run may be refused, never trusted less
		s.epsSafe = s.target.Epsilon
	}
	upwards := s.fail > s.safe
	for step := 1.03; ; step *= step {
		x := s.safe * step
		if !upwards {
			x = s.safe / step
		}
		end := false
		if x = math.Min(hi, math.Max(lo, x)); x == lo || x == hi {
			end = true
		}
		if x == s.safe {
			s.fail = s.safe // at the end of the range
			return
		}
		eps, a := s.eps(x, o)
		if s.err != nil {
			return
		}
		if eps > s.target.Epsilon {
			s.fail, s.epsFail = x, eps
			return
		}
		s.safe, s.epsSafe, s.answer = x, eps, a
		if end {
			s.fail = s.safe
			return
		}
	}
}

// GaussianSigma is the smallest standard deviation, rounded up, at which one
// release of Gaussian noise on a query of the given L2 sensitivity meets target:
// the analytic Gaussian mechanism (Balle and Wang 2018).
func GaussianSigma(sensitivity float64, target Point) (float64, error) {
	if !(sensitivity > 0) || math.IsInf(sensitivity, 1) {
		return 0, wrong("sensitivity", "must be positive and finite (%g)", sensitivity)
	}
	if !(target.Epsilon >= 0) || math.IsInf(target.Epsilon, 1) || !(target.Delta > 0 && target.Delta < 1) {
		return 0, wrong("target", "epsilon must be finite and not negative, delta must lie in (0, 1) (%g, %g)", target.Epsilon, target.Delta)
	}
	mu := invertDown(target.Delta, func(mu float64) float64 { return gaussianDelta(mu, target.Epsilon) })
	if mu == 0 {
		return 0, unreachable(target)
	}
	return ratioUp(sensitivity, mu), nil
}
