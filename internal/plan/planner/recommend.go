package planner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/plan"
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
	if n, err := u.sized(0); err == nil {
		size = n
	}
	all, err := u.candidates(size)
	if err != nil {
		r.Why = "other designs were not compared: " + err.Error()
		return nil
	}
	for i, k := range all {
		if k.made == nil || rows && k.public.kind == "full" {
			continue
		}
		n, err := u.need(ctx, r, i, size)
		if err != nil {
			return err
		}
		n.Name = k.name
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
func (u *subject) need(ctx context.Context, r *Solution, at int, size int64) (Option, error) {
	rows := r.Over == Size || r.Over == Rate
	try := func(ctx context.Context, x float64) (Point, bool, error) {
		n := size
		if rows {
			n = int64(x)
		}
		all, err := u.candidates(n)
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
	n, err := u.near(ctx, r.Goal, x, most, rows, try)
	var problems job.Problems
	switch {
	case errors.As(err, &problems):
		n = Option{Point: Point{Refused: problems[0].Message}}
	case err != nil:
		n = Option{Point: Point{Refused: err.Error()}}
	case n.Value > 0 && rows && n.Size > 0:
		n.Value = float64(n.Size)
	}
	return n, ctx.Err()
}

// A value is near enough to compare designs where the measure is closeBy of the limit or
// more; mostNears bounds how often near asks.
const (
	closeBy   = 0.98
	mostNears = 9
)

// near finds a value that reaches the goal and is hardly larger than it must be; 0 stands for none. The measure
// falls as the value grows, so it is fitted to the limit over one over the value.
func (u *subject) near(ctx context.Context, g Goal, x, most float64, whole bool, try attempt) (best Option, err error) {
	grid := func(x float64) float64 {
		if whole {
			return math.Ceil(x * (1 - 1e-12)) // one over one over x may be more than x
		}
		x, _ = strconv.ParseFloat(fmt.Sprintf("%.3g", x), 64)
		return x
	}
	ended := errors.New("no further value is tried")
	fitted, err := plan.Fit(func(inverse float64) (Option, float64, error) {
		x := grid(1 / inverse)
		p, ok, err := try(ctx, x)
		if err != nil || p.Refused != "" {
			best = Option{Point: p}
			return best, 0, cmp.Or(err, ended)
		}
		n, y := Option{Value: x, Point: p}, u.of(g, p)
		if ok {
			return n, math.Min(y, g.Limit), nil
		}
		if best = n; !whole && y*p.SamplingSD > g.Limit*p.Total || x >= most {
			return n, 0, ended // no guarantee makes the sampling error smaller
		}
		return n, y, nil
	}, g.Limit, closeBy, mostNears, &plan.Scale{From: 1 / x, Aim: 0.99, Least: 1 / most, Widest: 50,
		Round: func(inverse float64) float64 { return 1 / grid(1/inverse) }})
	if best.Value = 0; fitted.Good {
		best = fitted.Made
	}
	if errors.Is(err, ended) {
		err = nil
	}
	return best, err
}

// advice recommends a design, and names what it saves.
func (r *Solution) advice(rows bool) string {
	best := r.Designs[r.Recommended]
	others := slices.DeleteFunc(slices.Clone(r.Designs), func(n Option) bool { return n.Name == best.Name || n.Value == 0 })
	text := fmt.Sprintf("%s, which needs the smallest %s: %.4g", best.Name, r.unit(), best.Value)
	for i, n := range others {
		if i == 0 {
			text += " ("
		} else {
			text += ", "
		}
		text += fmt.Sprintf("%s needs %.4g", n.Name, n.Value)
	}
	if len(others) > 0 {
		text += ")"
	}
	if rows {
		return text + ". At the same guarantee the full table is more accurate than a sample in nearly all cases, " +
			"or needs a smaller guarantee: sample where reading or collecting rows is what costs"
	}
	return text
}
