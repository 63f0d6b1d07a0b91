package planner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
)

// Goal is an accuracy to reach.
type Goal struct {
	// Measure is "rse", "se", "rmse" (the same as se) or "noise".
	Measure string  `json:"measure"`
	Limit   float64 `json:"limit"`
}

var measures = []string{"rse", "se", "rmse", "noise"}

var goalPattern = regexp.MustCompile(`^\s*(rse|se|rmse|noise)\s*<=?\s*([0-9.eE+-]+)\s*(%?)\s*$`)

// ParseGoal reads "rse<2%", "se<5", "rmse<5" or "noise<1".
func ParseGoal(s string) (Goal, error) {
	m := goalPattern.FindStringSubmatch(s)
	if m == nil {
		word := strings.TrimSpace(s)
		if at := strings.IndexAny(word, "<=>"); at >= 0 {
			word = strings.TrimSpace(word[:at])
		}
		hint := ""
		if !slices.Contains(measures, word) {
			hint = meant(word, measures...)
		}
		return Goal{}, fmt.Errorf("solve: must be rse, se, rmse or noise below a number, such as rse<2%%, not %q%s", s, hint)
	}
	x, err := strconv.ParseFloat(m[2], 64)
	if m[3] == "%" {
		x /= 100
	}
	switch {
	case err != nil || !(x > 0) || math.IsInf(x, 0):
		return Goal{}, fmt.Errorf("solve: the limit must be a positive number, not %q", m[2])
	case (m[1] == "rse") != (m[3] == "%") && m[3] == "%":
		return Goal{}, errors.New("solve: only rse is a percentage")
	}
	return Goal{m[1], x}, nil
}

// ParseOver checks what is to be found.
func ParseOver(over string) error {
	if a := Axis(over); a != Epsilon && a != Size {
		return fmt.Errorf("over: must be epsilon or n, not %q%s", over, meant(over, string(Epsilon), string(Size)))
	}
	return nil
}

// of is the goal's measure of an accuracy, 0 where it is not known.
func (g Goal) of(a Accuracy) float64 {
	switch g.Measure {
	case "rse":
		return a.Relative
	case "noise":
		return a.NoiseSD
	}
	return a.Total
}

// unknown says why a goal's measure is not known, and where in the job to help it.
func (u *subject) unknown(g Goal, a Accuracy) error {
	if u.numeric() {
		at := job.Key("dataset.columns", u.column.Name)
		switch {
		case g.Measure == "noise" && a.NoiseSD > 0:
		case u.model == nil && a.NoiseSD == 0:
			return u.wrong(at, "the noise depends on the data, and no distribution is assumed of the column",
				"add what is publicly known, such as assume: {distribution: normal, mean: 40, sd: 20}")
		case u.model == nil:
			return u.wrong(at, "nothing is assumed of the column, so the error that "+g.Measure+" is about is not known",
				"add what is publicly known, such as assume: {mean: 40, sd: 20}, or solve for noise")
		case g.Measure == "rse" && a.Total > 0:
			return u.wrong(at+".assume", "has no mean, which rse is relative to", "add mean, or solve for se")
		}
	}
	return u.unknownRelease(g, a)
}

// numeric reports whether the release is about a column of numbers. Only then can the job
// assume anything.
func (u *subject) numeric() bool { return u.column != nil && u.column.Type == job.Number }

// unknownRelease says why a release has no such measure, and what to ask instead.
func (u *subject) unknownRelease(g Goal, a Accuracy) error {
	switch {
	case a.NoiseSD == 0 && !u.numeric():
		return u.wrong(u.path, fmt.Sprintf("the error of a release by %s is not known before it is made, so there is nothing to solve for", u.release.Mechanism),
			"choose another release with --release")
	case a.NoiseSD == 0:
		return u.wrong(u.path, a.Unknown, "choose another release with --release")
	case a.Unknown != "" && u.sample != nil:
		return u.wrong(u.path, a.Unknown, "solve for noise, such as noise<5, or release from the table")
	case g.Measure == "rse":
		return u.wrong(u.path, "rse is relative to a value, and nothing is assumed of what "+u.release.Mechanism+" releases", "solve for se, such as se<5, or for noise")
	}
	return u.wrong(u.path, "this error is not known without data", "solve for noise, such as noise<5")
}

// Solution is the smallest ε or sample that reaches a goal.
type Solution struct {
	Job         string   `json:"job"`
	Release     string   `json:"release"`
	Mechanism   string   `json:"mechanism"`
	Goal        Goal     `json:"goal"`
	Over        Axis     `json:"over"`
	Assumptions []string `json:"assumptions"`
	Simulated   int      `json:"repetitions,omitempty"`
	Value       float64  `json:"value"`
	Point       Point    `json:"point"`
}

// The widest ε that is tried.
const (
	leastEpsilon = 1e-4
	mostEpsilon  = 100
)

// Solve finds the smallest ε on the population, or the smallest sample, that
// reaches a goal ("rse<2%"). The answer is one whose plan was made and found good
// enough; with three significant digits less it is not.
func Solve(ctx context.Context, j *job.Job, goal, over string, s Settings) (*Solution, error) {
	g, err := ParseGoal(goal)
	if err != nil {
		return nil, err
	}
	a := Axis(over)
	if err := ParseOver(over); err != nil {
		return nil, err
	}
	u, err := newSubject(j, s)
	if err != nil {
		return nil, err
	}
	r := &Solution{Job: j.Name, Release: u.release.Name, Mechanism: u.release.Mechanism, Goal: g, Over: a, Assumptions: u.assumptions()}
	if a == Size {
		err = u.solveSize(ctx, r)
	} else {
		err = u.solveEpsilon(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	if r.Point.MonteCarlo > 0 {
		r.Simulated = u.s.Repetitions
	}
	return r, nil
}

func (u *subject) good(ctx context.Context, g Goal, a Axis, method job.Method, x float64) (Point, bool, error) {
	v, d := variant{from: u.release.From}, u.current()
	var err error
	if a == Size {
		v, d, err = u.at(method, 0, int64(x))
	} else {
		v.epsilon = decimal(x)
	}
	if err != nil {
		return Point{}, false, err
	}
	p, err := u.plan(ctx, v, d, a, x, Accuracy{})
	if err != nil || p.Refused != "" {
		return p, false, err
	}
	y := g.of(p.Accuracy)
	if !(y > 0) {
		return p, false, u.unknown(g, p.Accuracy)
	}
	return p, y <= g.Limit, nil
}

// solveEpsilon searches the three-digit decimals.
func (u *subject) solveEpsilon(ctx context.Context, r *Solution) error {
	per := 900 // three-digit numbers in a decade
	value := func(i int) float64 {
		k, m := i/per, 100+i%per
		x, _ := strconv.ParseFloat(fmt.Sprintf("%de%d", m, k-6), 64)
		return x
	}
	last := 0
	for value(last) < mostEpsilon {
		last++
	}
	return u.bisect(ctx, r, "", 0, last, value, func(p Point) error {
		if p.SamplingSD > p.NoiseSD && r.Goal.Measure != "noise" {
			return fmt.Errorf("solve: no ε reaches it: at ε %d %s, and nearly all of that is sampling error (%.4g), which no ε makes smaller; use --over n, or release from the table",
				mostEpsilon, r.Goal.reached(p.Accuracy), p.SamplingSD)
		}
		return fmt.Errorf("solve: even ε %d does not reach it: %s, of which noise is %.4g", mostEpsilon, r.Goal.reached(p.Accuracy), p.NoiseSD)
	})
}

// reached says the value of the goal's measure in words.
func (g Goal) reached(a Accuracy) string {
	if g.Measure == "rse" {
		return "rse is " + percent(a.Relative)
	}
	return fmt.Sprintf("%s is %.4g", g.Measure, g.of(a))
}

func (u *subject) solveSize(ctx context.Context, r *Solution) error {
	m, n := u.method(), u.population()
	if n == 0 {
		return u.wrong("dataset.size", "is needed to solve for the size of a sample", "or give dataset.at_least, a public lower bound")
	}
	err := u.bisect(ctx, r, m, 1, int(n), func(i int) float64 { return float64(i) }, func(p Point) error {
		epsilon := u.release.Guarantee.Epsilon
		return fmt.Errorf("solve: no sample reaches it: even from the whole table %s at ε %s, all of it noise; raise the release's epsilon",
			r.Goal.reached(p.Accuracy), job.FormatAmount(epsilon))
	})
	if r.Point.Size > 0 && (m == job.Multistage || m == job.Stratified) {
		r.Value = float64(r.Point.Size) // the expected size of the design that was found
	}
	return err
}

// bisect finds the first good index of a monotone question.
func (u *subject) bisect(ctx context.Context, r *Solution, m job.Method, lo, hi int, value func(int) float64, hopeless func(Point) error) error {
	steps, done := int(math.Ceil(math.Log2(float64(hi-lo+1))))+2, 0
	try := func(i int) (Point, bool, error) {
		u.begin(done, steps)
		done++
		return u.good(ctx, r.Goal, r.Over, m, value(i))
	}
	best, ok, err := try(hi)
	if err != nil {
		return err
	}
	if !ok {
		if best.Refused != "" {
			return errors.New("solve: " + best.Refused)
		}
		return hopeless(best)
	}
	for lo < hi {
		mid := lo + (hi-lo)/2
		p, ok, err := try(mid)
		if err != nil {
			return err
		}
		if ok {
			hi, best = mid, p
		} else {
			lo = mid + 1
		}
	}
	r.Value, r.Point = value(hi), best
	return nil
}

// WriteText prints the solution for a person.
func (r *Solution) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "job %s, release %s (%s): what reaches %s ≤ %s\n", r.Job, r.Release, r.Mechanism, r.Goal.Measure, r.Goal.limit())
	assumed(w, r.Assumptions, r.Simulated)
	p := r.Point
	paragraph(w, fmt.Sprintf("%s = %.6g: %s, %s on the sample, noise %s, sampling %s, error %s (%s)",
		r.Over, r.Value, p.Design, budget(p.Sample), cell(p.NoiseSD), cell(p.SamplingSD), cell(p.Total), percent(p.Relative)))
	return nil
}

func (g Goal) limit() string {
	if g.Measure == "rse" {
		return percent(g.Limit)
	}
	return fmt.Sprintf("%g", g.Limit)
}

// MarshalJSON writes the solution with the version of its format.
func (r *Solution) MarshalJSON() ([]byte, error) {
	type plain Solution
	return json.Marshal(struct {
		Version int    `json:"version"`
		Kind    string `json:"kind"`
		*plain
	}{1, "solution", (*plain)(r)})
}
