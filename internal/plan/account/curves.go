package account

import (
	"errors"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/expr"
)

// curve is δ against ε for one method of one expression.
type curve struct {
	method   string
	sampled  bool // false: the same event had nothing been sampled or shuffled
	eps, del []float64
}

// curvePoints is how many points a curve has.
const curvePoints = 60

// extent is the part of the plane that is drawn.
type extent struct {
	left, right float64 // ε
	floor       float64 // δ
	logEps      bool    // the amplified and the other curve are too far apart for one linear axis
}

// span chooses the extent: down to well below the δ of the question, and right
// to where the curves get there.
func span(q *expr.Query, a *answer, plain privacy.Event, sampled bool) (x extent) {
	floor := 1e-10
	if d := float64(a.Delta); d > 0 {
		floor = math.Min(floor, d/1e3)
	}
	// Below this the plot would be all axis.
	x.floor = math.Max(floor, 1e-30)
	// A little room behind the last curve.
	defer func() { x.right *= 1.06 }()
	eps := float64(a.Epsilon)
	if math.IsInf(eps, 1) {
		eps = 0
	}
	x.right = reach(q, a.event, x.floor, eps)
	if sampled {
		if far := reach(q, plain, x.floor, 0); far > 4*x.right {
			x.logEps, x.left = true, x.right/100
			x.right = math.Min(far, 1e4*x.right)
		} else {
			x.right = math.Max(x.right, far)
		}
	}
	return x
}

// reach is the ε at which the tightest method gets to δ.
func reach(q *expr.Query, e privacy.Event, delta, least float64) float64 {
	got, err := privacy.EpsilonWith(e, q.Relation, delta, quick(q.Methods...))
	if err != nil || !(got.Epsilon > 0) {
		return math.Max(2*least, 1)
	}
	return math.Max(got.Epsilon, least)
}

func quick(methods ...string) privacy.Options {
	return privacy.Options{Quick: true, Methods: methods}
}

// grid is the ε at which the curves are evaluated, denser where the axis is.
func (x extent) grid() []float64 {
	eps := make([]float64, curvePoints)
	for i := range eps {
		t := float64(i) / float64(curvePoints-1)
		if x.logEps {
			eps[i] = x.left * math.Exp(t*math.Log(x.right/x.left))
		} else {
			eps[i] = t * x.right
		}
	}
	return eps
}

// trace evaluates every method that supports either expression along the grid,
// on all processors.
func trace(q *expr.Query, a *answer) ([]curve, extent, error) {
	plain, sampled := privacy.WithoutSampling(a.event)
	x := span(q, a, plain, sampled)
	var curves []curve
	for _, v := range []struct {
		e       privacy.Event
		sampled bool
	}{{a.event, true}, {plain, false}} {
		if !v.sampled && !sampled {
			continue
		}
		// The right end decides which methods are drawn: there every method answers that
		// can answer at all.
		at, err := privacy.DeltaWith(v.e, q.Relation, x.right, quick(q.Methods...))
		if err != nil && !errors.Is(err, privacy.ErrUnbounded) {
			continue // the event without its sampling may be no valid event
		}
		for _, m := range methodOrder {
			if _, ok := at.Methods[m]; ok {
				curves = append(curves, curve{method: m, sampled: v.sampled})
			}
		}
	}
	events := map[bool]privacy.Event{true: a.event, false: plain}
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for i := range curves {
		all.Go(func() (err error) {
			defer func() {
				if recover() != nil {
					err = errBug
				}
			}()
			curves[i].evaluate(events[curves[i].sampled], q.Relation, x)
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		return nil, x, err
	}
	if len(curves) == 0 {
		return nil, x, errors.New("no method has a curve for this expression")
	}
	return curves, x, nil
}

// evaluate goes along the grid until δ is out of sight, and then looks closer
// where the curve falls steeply.
func (c *curve) evaluate(e privacy.Event, rel privacy.Relation, x extent) {
	// A method without a bound counts as 1, which every mechanism guarantees.
	last := 1.0
	at := func(eps float64) float64 {
		got, err := privacy.DeltaWith(e, rel, eps, quick(c.method))
		if b, ok := got.Methods[c.method]; ok && err == nil {
			return b.Delta
		}
		return 1
	}
	for _, eps := range x.grid() {
		// A profile never rises: a bound holds for every larger ε as well.
		last = math.Min(last, at(eps))
		c.eps, c.del = append(c.eps, eps), append(c.del, last)
		if last < x.floor {
			break
		}
	}
	for range 10 {
		j := c.steepest(x.floor)
		if j == 0 {
			return
		}
		middle := (c.eps[j-1] + c.eps[j]) / 2
		if x.logEps {
			middle = math.Sqrt(c.eps[j-1] * c.eps[j])
		}
		c.eps, c.del = slices.Insert(c.eps, j, middle), slices.Insert(c.del, j, math.Min(at(middle), c.del[j-1]))
	}
}

// steepest is the right end of the first gap in which δ falls out of sight, or by more than a
// factor of 30. It is 0 where there is none.
func (c curve) steepest(floor float64) int {
	for j := 1; j < len(c.del); j++ {
		if c.del[j-1] > 30*math.Max(c.del[j], floor/30) {
			return j
		}
		if c.del[j] < floor {
			return 0
		}
	}
	return 0
}

// methodOrder is the order of the legend.
var methodOrder = []string{"pld", "rdp", "basic", "shuffle", "iterate"}
