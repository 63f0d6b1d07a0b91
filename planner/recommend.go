package planner

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// recommend asks what other designs need for the goal: the full table, simple random and
// Poisson samples, and those over the job's public frame or with its rates by stratum.
func (u *subject) recommend(ctx context.Context, r *Solution) error {
	rows := r.Over == Size || r.Over == Rate
	switch {
	case r.Over == Budget:
		r.Why = "of all jobs with these weights, the one with this budget.spend costs least"
		return nil
	case r.Simulated > 0:
		r.Why = "designs are not compared here, because each of them would be simulated; plan --compare does that"
		return nil
	case u.population() == 0:
		r.Why = "designs are compared where dataset.size is public, or dataset.at_least"
		return nil
	}
	size := u.current().size
	if o, err := u.sized(Designs{}); err == nil {
		size = o.Size
	}
	all, err := u.candidates(Designs{Size: size})
	if err != nil {
		r.Why = "other designs were not compared: " + err.Error()
		return nil
	}
	for i, k := range all {
		if !k.executable || k.made == nil || rows && k.public.kind == "full" {
			continue
		}
		n, err := u.need(ctx, r, i, size)
		if err != nil {
			return err
		}
		n.Design = k.name
		r.Designs = append(r.Designs, n)
		if n.Value > 0 && (r.Recommended < 0 || n.Value < r.Designs[r.Recommended].Value) {
			r.Recommended = len(r.Designs) - 1
		}
	}
	if r.Recommended >= 0 {
		r.Why = r.advice(rows)
	}
	return ctx.Err()
}

// need solves for one of the candidates.
func (u *subject) need(ctx context.Context, r *Solution, at int, size int64) (Need, error) {
	rows := r.Over == Size || r.Over == Rate
	try := func(ctx context.Context, x float64) (Point, bool, error) {
		n := size
		if rows {
			n = int64(x)
		}
		all, err := u.candidates(Designs{Size: n})
		if err != nil {
			return Point{Refused: err.Error()}, false, nil
		}
		k := all[at]
		if k.made == nil {
			return Point{Refused: k.refused}, false, nil
		}
		v := *k.made
		v.alone = false
		if !rows {
			v.set(r.Over, decimal(x))
		}
		return u.try(ctx, r.Goal, r.Over, v, k.public, x)
	}
	most, x := float64(mostAmount), r.Value
	if rows {
		most = float64(u.population() - 1)
	}
	if rows && r.Over == Rate {
		x *= float64(u.population())
	}
	if x == 0 || x > most {
		x = most / 10
	}
	n, reached, err := u.near(ctx, r.Goal, x, most, rows, try)
	if err != nil {
		return Need{Reason: err.Error()}, ctx.Err()
	}
	if n.Reason = n.Point.Refused; !reached && n.Reason == "" {
		n.Reason = "not reached: " + u.reached(r.Goal, n.Point)
	}
	if !reached {
		n.Value = 0
	} else if rows && n.Point.Size > 0 {
		n.Value = float64(n.Point.Size)
	}
	return n, nil
}

// A value is near enough to compare designs where the measure is closeBy of the limit or
// more; mostNears bounds how often near asks.
const (
	closeBy   = 0.98
	mostNears = 9
)

// near finds a value that reaches the goal and is hardly larger than it must be: errors fall
// smoothly, so each step continues the line through the last two in logarithms.
func (u *subject) near(ctx context.Context, g Goal, x, most float64, whole bool, try attempt) (best Need, reached bool, err error) {
	lo, slope := 0.0, -1.0
	var lastX, lastY float64
	for range mostNears {
		if whole {
			x = math.Ceil(x)
		} else if x, err = strconv.ParseFloat(fmt.Sprintf("%.3g", x), 64); err != nil {
			return best, false, err
		}
		p, ok, err := try(ctx, x)
		if err != nil || p.Refused != "" {
			return Need{Point: p}, false, err
		}
		y := u.of(g, p)
		if !ok && !whole && y*p.SamplingSD > g.Limit*p.Total {
			return Need{Value: x, Point: p}, false, nil // no guarantee makes the sampling error smaller
		}
		switch {
		case ok && (!reached || x < best.Value):
			best, reached = Need{Value: x, Point: p}, true
		case !ok:
			lo = math.Max(lo, x)
			if !reached {
				best = Need{Value: x, Point: p}
			}
		}
		if ok && y >= closeBy*g.Limit || !ok && x >= most || whole && reached && best.Value-lo <= 1 {
			break
		}
		if lastX > 0 && x != lastX && y != lastY {
			slope = math.Log(y/lastY) / math.Log(x/lastX)
		}
		if slope > -0.02 { // hardly falls any more
			slope = -0.02
		}
		lastX, lastY = x, y
		x *= math.Exp(math.Log(0.99*g.Limit/y) / slope)
		if x = math.Min(math.Max(x, lastX/50), most); reached && (x >= best.Value || x <= lo) {
			x = math.Sqrt(best.Value * math.Max(lo, best.Value/50))
		} else if !reached {
			x = math.Max(x, math.Min(most, lo*1.01))
		}
	}
	return best, reached, nil
}

// advice says which design to take, and what it saves.
func (r *Solution) advice(rows bool) string {
	best := r.Designs[r.Recommended]
	others := slices.DeleteFunc(slices.Clone(r.Designs), func(n Need) bool { return n.Design == best.Design || n.Value == 0 })
	text := fmt.Sprintf("%s, which needs the smallest %s: %.4g", best.Design, r.unit(), best.Value)
	for i, n := range others {
		if i == 0 {
			text += " ("
		} else {
			text += ", "
		}
		text += fmt.Sprintf("%s needs %.4g", n.Design, n.Value)
	}
	if len(others) > 0 {
		text += ")"
	}
	if rows {
		return text + ". At the same guarantee the full table is more accurate than a sample in nearly all cases, or needs a smaller guarantee: sample where reading or collecting rows is what costs"
	}
	return text
}
