package account

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/expr"
)

// calibrate finds the wanted parameter and the guarantee that it gives. The
// guarantee is evaluated at the very value that is answered.
func (a *answer) calibrate() (privacy.Answer, error) {
	q, p := a.query, a.query.Parameter
	lo, hi := p.Range(q.Event)
	build := func(x float64) privacy.Event { return p.Set(q.Event, x) }
	target := privacy.Point{Epsilon: q.Epsilon, Delta: q.Delta}
	var x float64
	var got privacy.Answer
	var err error
	if p.Whole || len(q.Methods) > 0 {
		x, got, err = search(build, *p, lo, hi, q)
	} else {
		x, got, err = privacy.Calibrate(build, q.Relation, target, lo, hi)
	}
	if err != nil {
		return privacy.Answer{}, a.unmet(err, lo, hi)
	}
	a.Calibrated = &calibrated{Parameter: p.Path, Value: amount(x)}
	a.event = build(x)
	return got, nil
}

// unmet names the place of a calibration that has no answer.
func (a *answer) unmet(err error, lo, hi float64) error {
	q := a.query
	var wrong *privacy.Error
	if errors.As(err, &wrong) {
		return located(q, err)
	}
	pos, _ := q.QueryPos("query.calibrate")
	return expr.Problems{{
		Pos: pos, Path: "query.calibrate",
		Message: fmt.Sprintf("no %s between %s and %s meets (ε = %s, δ = %s): %v", q.Parameter.Path,
			shortest(lo), shortest(hi), shortest(q.Epsilon), shortest(q.Delta), err),
		Hint: "raise the target, or change another number of the event",
	}}
}

// errTarget says that even the end of the range that costs least is too much.
var errTarget = errors.New("even the least costly value costs more than the target")

// grid numbers the values between lo and hi that are tried: every whole number,
// or steps so fine that nobody sees them.
func grid(p expr.Parameter, lo, hi float64) (value func(int64) float64, last int64) {
	if p.Whole {
		return func(i int64) float64 { return lo + float64(i) }, int64(hi - lo)
	}
	last = 1 << 40
	width := math.Log(hi / lo)
	return func(i int64) float64 { return min(hi, lo*math.Exp(width*float64(i)/float64(last))) }, last
}

// search finds the value on the grid that gets the most out of the target. It
// relies on the cost being monotone, as privacy.Calibrate does.
func search(build func(float64) privacy.Event, p expr.Parameter, lo, hi float64, q *expr.Query) (float64, privacy.Answer, error) {
	value, last := grid(p, lo, hi)
	var bug error // an event that cannot be evaluated at all
	meets := func(x float64, methods []string) bool {
		got, err := privacy.EpsilonWith(build(x), q.Relation, q.Delta, privacy.Options{Quick: true, Methods: methods})
		if err != nil && !errors.Is(err, privacy.ErrUnbounded) {
			bug = err
		}
		return err == nil && got.Epsilon <= q.Epsilon
	}
	var x float64
	var found bool
	if p.Whole && !p.Most {
		// Upwards from the few: the many take longest to evaluate.
		x, found = least(value, last, func(x float64) bool { return bug != nil || meets(x, q.Methods) })
	} else {
		if !p.Most {
			upward := value
			value = func(i int64) float64 { return upward(last - i) }
		}
		x, found = furthest(value, last, q.Methods, meets)
	}
	if bug != nil {
		return 0, privacy.Answer{}, bug
	}
	if !found {
		return 0, privacy.Answer{}, errTarget
	}
	got, err := privacy.EpsilonWith(build(x), q.Relation, q.Delta, privacy.Options{Methods: q.Methods})
	return x, got, err
}

// least returns the first value for which ok holds. It relies on ok holding from there
// on.
func least(value func(int64) float64, last int64, ok func(float64) bool) (float64, bool) {
	if ok(value(0)) {
		return value(0), true
	}
	edge := boundary(func(i int64) bool { return !ok(value(i)) }, 0, last)
	return value(min(edge+1, last)), edge < last
}

// furthest is the last value that meets the target, where the first costs
// least. The Rényi bound is cheap and never below the charged one: where it is
// among the methods, the search starts where it stops meeting the target.
func furthest(value func(int64) float64, last int64, methods []string, meets func(float64, []string) bool) (float64, bool) {
	all := func(i int64) bool { return meets(value(i), methods) }
	renyi := func(i int64) bool { return meets(value(i), []string{"rdp"}) }
	start := int64(0)
	if (len(methods) == 0 || slices.Contains(methods, "rdp")) && renyi(0) {
		start = boundary(renyi, 0, last)
	} else if !all(0) {
		return 0, false
	}
	return value(boundary(all, start, last)), true
}

// boundary is the largest i up to last with ok(i), where ok holds up to it and
// not beyond, and ok(start) holds. It strides away from start and halves back.
func boundary(ok func(int64) bool, start, last int64) int64 {
	good, bad := start, last+1
	for stride := max(1, start/32); bad-good > 1; stride *= 2 {
		next := last
		if stride < last-good {
			next = good + stride
		}
		if !ok(next) {
			bad = next
			break
		}
		good = next
		if good == last || stride > math.MaxInt64/4 {
			break
		}
	}
	for bad-good > 1 {
		middle := good + (bad-good)/2
		if ok(middle) {
			good = middle
		} else {
			bad = middle
		}
	}
	return good
}
