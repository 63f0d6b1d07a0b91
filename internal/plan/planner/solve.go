package planner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/privacy/rational"
)

// ParseOver checks what is to be found.
func ParseOver(over string) error {
	known := []string{string(Epsilon), string(Rho), string(Size), string(Rate), string(Budget)}
	if !slices.Contains(known, over) {
		return fmt.Errorf("over: must be epsilon, rho, n, rate or budget, not %q%s", over, meant(over, known...))
	}
	return nil
}

// Solution is the smallest ε, ρ, sample, rate or budget of the job that reaches a goal.
type Solution struct {
	Study
	Goal  Goal    `json:"goal"`
	Over  Axis    `json:"over"`
	Value float64 `json:"value"`
	Point Point   `json:"point"`
	// Designs lists the needs of other designs for the same goal; Recommended is the index of
	// the smallest, -1 where none was compared, for the reason Why.
	Designs     []Option `json:"designs,omitempty"`
	Recommended int      `json:"recommended"`
	Why         string   `json:"recommendation"`
}

// The widest ε or ρ that is tried.
const mostAmount = 100

// Solve finds the smallest value that reaches a goal ("rse<2%"), and what other designs need
// for it. The answer is one whose plan was made and found good enough; with three
// significant digits less it is not.
func Solve(ctx context.Context, j *job.Job, goal, over string, s Settings) (*Solution, error) {
	g, err := ParseGoal(goal)
	if err != nil {
		return nil, err
	}
	a := Axis(over)
	if err := ParseOver(over); err != nil {
		return nil, err
	}
	u, err := newSubject(ctx, j, s)
	if err != nil {
		return nil, err
	}
	if u.half = g.Measure == "half-kept"; u.half && u.keyed() == nil {
		return nil, u.unknown(g, Accuracy{})
	}
	if err := u.may(a); err != nil {
		return nil, err
	}
	r := &Solution{Study: u.study("solution"), Goal: g, Over: a, Recommended: -1}
	if r.Value, r.Point, err = u.solve(ctx, r); err != nil {
		var far unreached
		if errors.As(err, &far) && r.Point.MonteCarlo == 0 && u.recommend(ctx, r) == nil && r.Recommended >= 0 {
			err = fmt.Errorf("%w. Another design reaches it: %s", err, r.Why)
		}
		return nil, err
	}
	if r.Point.MonteCarlo > 0 {
		r.Simulated = u.s.Repetitions
	}
	if err := u.recommend(ctx, r); err != nil {
		return nil, err
	}
	r.Assumptions = u.assumptions()
	return r, nil
}

// may refuses an axis that the job does not have.
func (u *subject) may(a Axis) error {
	g := u.release.Guarantee
	switch {
	case a == Epsilon && g.Rho != nil && !u.half:
		return u.wrong(u.path, "asks for a rho, not for an epsilon", "add --over rho")
	case a == Rho && (g.Rho == nil || u.half):
		return u.wrong(u.path, "asks for an epsilon, not for a rho", "add --over epsilon")
	case a == Budget && u.whole.Budget.Spend == nil:
		return u.wrong("budget", "has no spend to solve for", "say budget.spend, or add --over epsilon")
	case a == Size && u.population() == 0:
		return u.wrong("dataset.size", "is needed to solve for the size of a sample", "or give dataset.at_least, a public lower bound")
	}
	return nil
}

// attempt plans one value of an axis, and says whether it reaches the goal.
type attempt func(ctx context.Context, x float64) (Point, bool, error)

// good is an attempt with the design that the job has, or scaled as the axis says.
func (u *subject) good(g Goal, a Axis, method job.Method) attempt {
	return func(ctx context.Context, x float64) (Point, bool, error) {
		v, d, err := u.along(a, method, x)
		if err != nil {
			return Point{}, false, err
		}
		return u.try(ctx, g, a, v, d, x)
	}
}

// along is the variant at one value of an axis.
func (u *subject) along(a Axis, method job.Method, x float64) (variant, design, error) {
	switch a {
	case Size:
		return u.at(method, 0, int64(math.Round(x)))
	case Rate:
		return u.at(method, x, 0)
	}
	v := variant{from: u.release.From}
	v.set(a, decimal(x))
	return v, u.current(), nil
}

// set gives the variant another ε, ρ or budget.
func (v *variant) set(a Axis, x *big.Rat) {
	switch a {
	case Epsilon:
		v.epsilon = x
	case Rho:
		v.rho = x
	default:
		v.spend = x
	}
}

func (u *subject) try(ctx context.Context, g Goal, a Axis, v variant, d design, x float64) (Point, bool, error) {
	p, err := u.plan(ctx, v, d, a, x, Accuracy{})
	if err != nil || p.Refused != "" {
		return p, false, err
	}
	y := u.of(g, p)
	if !(y > 0) {
		return p, false, u.unknown(g, p.Accuracy)
	}
	return p, y <= g.Limit, nil
}

// solve searches an axis with the design of the job.
func (u *subject) solve(ctx context.Context, r *Solution) (float64, Point, error) {
	m := u.method()
	try := u.good(r.Goal, r.Over, m)
	switch r.Over {
	case Size, Rate:
		hi, value := u.sizes(r.Over)
		x, p, err := u.bisect(ctx, 1, hi, value, try, func(p Point) error {
			if p.SamplingSD > p.NoiseSD {
				return fmt.Errorf("solve: no sample reaches it: from nearly the whole table %s", u.reached(r.Goal, p))
			}
			return fmt.Errorf("solve: no sample reaches it: even from the whole table %s at %s, all of it noise; raise the release's guarantee",
				u.reached(r.Goal, p), u.asked())
		})
		if p.Size > 0 && r.Over == Size && (m == job.Multistage || m == job.Stratified) {
			x = float64(p.Size) // the expected size of the design that was found
		}
		return x, p, err
	}
	last, value := decades(r.Over, 3)
	return u.bisect(ctx, 0, last, value, try, func(p Point) error {
		if p.SamplingSD > p.NoiseSD && r.Goal.Measure != "noise" {
			return fmt.Errorf("solve: no %s reaches it: at %g %s, and nearly all of that is sampling error (%.4g), which no budget makes "+
				"smaller; use --over n, or release from the table",
				symbol(r.Over), float64(mostAmount), u.reached(r.Goal, p), p.SamplingSD)
		}
		return fmt.Errorf("solve: even %s %d does not reach it: %s, noise alone is %.4g", symbol(r.Over), mostAmount, u.reached(r.Goal, p),
			p.NoiseSD)
	})
}

// symbol is the usual name of an axis.
func symbol(a Axis) string {
	if s, ok := map[Axis]string{Epsilon: "ε", Rho: "ρ"}[a]; ok {
		return s
	}
	return string(a)
}

// asked is the guarantee of the release in words.
func (u *subject) asked() string {
	if rho := u.release.Guarantee.Rho; rho != nil {
		return "ρ " + rational.Format(rho)
	}
	return "ε " + rational.Format(u.release.Guarantee.Epsilon)
}

// decades are the decimals of so many digits from the least ε (ρ) to the most.
func decades(a Axis, digits int) (last int, value func(int) float64) {
	first := int(math.Pow10(digits - 1))
	per := 9 * first
	lowest := -4
	if a != Epsilon {
		lowest = -6
	}
	value = func(i int) float64 {
		x, _ := strconv.ParseFloat(fmt.Sprintf("%de%d", first+i%per, i/per+lowest-digits+1), 64)
		return x
	}
	for value(last) < mostAmount {
		last++
	}
	return last, value
}

// sizes are whole numbers of rows, or rates in ten-thousandths, from 1 to hi.
func (u *subject) sizes(a Axis) (hi int, value func(int) float64) {
	if a == Rate {
		return 10_000, func(i int) float64 { return float64(i) / 10_000 }
	}
	return int(u.population()), func(i int) float64 { return float64(i) }
}

// unreached is a goal that no value of an axis reaches.
type unreached struct{ error }

// bisect finds the first good index of a monotone question.
func (u *subject) bisect(ctx context.Context, lo, hi int, value func(int) float64, good attempt,
	hopeless func(Point) error) (float64, Point, error) {
	steps, done := int(math.Ceil(math.Log2(float64(hi-lo+1))))+2, 0
	try := func(i int) (Point, bool, error) {
		u.begin(done, steps)
		done++
		return good(ctx, value(i))
	}
	best, ok, err := try(hi)
	if err != nil {
		return 0, best, err
	}
	if !ok {
		if best.Refused != "" {
			return 0, best, errors.New("solve: " + best.Refused)
		}
		return 0, best, unreached{hopeless(best)}
	}
	for lo < hi {
		mid := lo + (hi-lo)/2
		p, ok, err := try(mid)
		if err != nil {
			return 0, p, err
		}
		if ok {
			hi, best = mid, p
		} else {
			lo = mid + 1
		}
	}
	return value(hi), best, nil
}

// answer is the solution for people.
func (r *Solution) answer() *answer {
	p := r.Point
	a := &answer{title: fmt.Sprintf("job %s, release %s (%s): what reaches %s ≤ %s", r.Job, r.Release, r.Mechanism, r.Goal.Measure,
		r.Goal.limit()), assumptions: r.Assumptions, simulated: r.Simulated,
		before: fmt.Sprintf("%s = %.6g: %s, %s on the sample, %s", r.Over, r.Value, p.Design, budget(p.Sample), p.errors()),
		header: []string{"best", "design", "needs " + r.unit(), "noise", "sampling", "error", "±95 %", "relative", "note"}}
	for i, d := range r.Designs {
		note := ""
		if d.Refused != "" {
			note, a.after = "not known", append(a.after, d.Name+": "+d.Refused)
		} else if d.Value == 0 {
			note = "not reached"
		}
		a.rows = append(a.rows, []string{mark(i == r.Recommended), d.Name, cell(d.Value), cell(d.NoiseSD), cell(d.SamplingSD), cell(d.Total),
			cell(d.Margin), percent(d.Relative), note})
	}
	if r.Why != "" {
		a.after = append(a.after, "recommended: "+r.Why)
	}
	return a
}

// WriteText prints the solution for a person.
func (r *Solution) WriteText(w io.Writer) error { return r.answer().write(w) }

// HTML is the solution as a page.
func (r *Solution) HTML() ([]byte, error) { return r.answer().page() }

// unit is the measure by which designs are compared.
func (r *Solution) unit() string {
	if r.Over == Rate {
		return string(Size)
	}
	return symbol(r.Over)
}

// errors are the errors of a point in words.
func (p Point) errors() string {
	if p.HalfKept > 0 {
		return fmt.Sprintf("a key with %d units is kept one time in two", p.HalfKept)
	}
	if p.Total == 0 && p.Noise95 > 0 {
		return fmt.Sprintf("noise %s, which alone is at most ±%s in 95 of 100 cases; the whole error is not known", cell(p.NoiseSD),
			cell(p.Noise95))
	}
	return fmt.Sprintf("noise %s, sampling %s, error %s (%s), ±%s in 95 of 100 cases", cell(p.NoiseSD), cell(p.SamplingSD), cell(p.Total),
		percent(p.Relative), cell(p.Margin))
}
