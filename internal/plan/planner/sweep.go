package planner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
)

// Range bounds a sweep; the zero value chooses.
type Range struct {
	Points int
	// Values, where given, are the points themselves.
	Values []float64

	_ struct{}
}

// defaults are wide enough to show the shape.
func (r Range) values(a Axis, current float64, population int64) ([]float64, error) {
	if len(r.Values) > 0 {
		return r.Values, nil
	}
	if r.Points == 0 {
		r.Points = 12
	}
	if r.Points < 1 || r.Points > 1000 {
		return nil, errors.New("sweep: must have 1 to 1000 points")
	}
	from, to := current/10, current*10
	switch a {
	case Rate:
		from, to = 0.01, 1
		if population > 0 {
			from = math.Max(from, math.Min(1, 10/float64(population)))
		}
	case Size:
		from, to = math.Max(1, float64(population)/100), float64(population)
	}
	out := make([]float64, r.Points)
	for i := range out {
		t := 0.0
		if r.Points > 1 {
			t = float64(i) / float64(r.Points-1)
		}
		out[i] = from * math.Pow(to/from, t)
	}
	out[len(out)-1] = to
	return out, nil
}

// RunSweep plans the release at every point of an axis.
func RunSweep(ctx context.Context, j *job.Job, a Axis, r Range, s Settings) (*Sweep, error) {
	u, err := newSubject(ctx, j, s)
	if err != nil {
		return nil, err
	}
	if a == Epsilon && u.release.Guarantee.Rho != nil {
		return nil, u.wrong(u.path+".guarantee", "is a rho, and the sweep is over epsilon",
			"sweep the rate or n, or give the release epsilon and delta")
	}
	current, _ := u.release.Guarantee.Epsilon.Float64()
	if a == Size && u.population() == 0 {
		return nil, u.wrong("dataset.size", "is needed to sweep the size of a sample",
			"or give dataset.at_least, a public lower bound; or sweep the rate")
	}
	xs, err := r.values(a, current, u.population())
	if err != nil {
		return nil, err
	}
	method := u.method()
	w := &Sweep{Study: u.study("sweep"), Axis: a, Best: -1}
	var full Accuracy
	u.begin(0, len(xs)+1)
	if a != Epsilon {
		if full, err = u.full(ctx, nil); err != nil {
			return nil, err
		}
	}
	for i, x := range xs {
		u.begin(i+1, len(xs)+1)
		p, err := u.point(ctx, a, method, x, full)
		if err != nil {
			return nil, err
		}
		if n := len(w.Points); n > 0 && a != Epsilon && p.Refused == "" && p.Rate == w.Points[n-1].Rate && p.Size == w.Points[n-1].Size {
			continue // whole numbers of units allow no design in between
		}
		w.Points = append(w.Points, p)
		if p.MonteCarlo > 0 {
			w.Simulated = u.s.Repetitions
		}
		if p.Total > 0 && (w.Best < 0 || p.Total < w.Points[w.Best].Total) {
			w.Best = len(w.Points) - 1
		}
	}
	u.begin(len(xs)+1, len(xs)+1)
	w.Verdict = u.verdict(w)
	return w, nil
}

func (u *subject) point(ctx context.Context, a Axis, method job.Method, x float64, full Accuracy) (Point, error) {
	switch {
	case a == Rate && (!(x > 0) || x > 1):
		return Point{}, fmt.Errorf("sweep: a rate lies in (0, 1], not at %g", x)
	case a == Size && !(x >= 1):
		return Point{}, fmt.Errorf("sweep: a size is at least 1, not %g", x)
	case a == Epsilon && (!(x > 0) || math.IsInf(x, 0)):
		return Point{}, fmt.Errorf("sweep: epsilon must be positive, not %g", x)
	}
	v, d, err := u.along(a, method, x)
	if err == nil && a == Epsilon {
		full, err = u.full(ctx, v.epsilon)
	}
	if err != nil {
		return Point{}, err
	}
	return u.plan(ctx, v, d, a, x, full)
}

// plan prices one variant and puts its accuracy beside the full table's. A variant
// that the job language or a mechanism refuses is a point without numbers.
func (u *subject) plan(ctx context.Context, v variant, d design, a Axis, x float64, full Accuracy) (Point, error) {
	p := Point{X: x, Design: d.kind, Rate: d.rate, Size: d.size, Full: full}
	switch a {
	case Rate:
		p.X = d.rate
	case Size:
		if p.X = math.Round(x); d.made != nil {
			p.X = float64(d.size)
		}
	case Epsilon:
		p.X = rational.Near(v.epsilon)
	}

	made, refused, err := u.priceOr(ctx, v)
	if p.Refused = refused; err != nil || refused != "" {
		return p, err
	}
	p.Target, p.Sample, p.Efficiency = made.release.Target, made.release.Sample, made.draw.Efficiency
	if d.kind == "full" {
		p.Efficiency = 1
	}
	if made.keys != nil {
		for _, s := range made.keys.Sizes {
			if s.Chance == 0.5 {
				p.HalfKept = s.Units
			}
		}
	}
	if u.half {
		return p, nil
	}
	p.Accuracy, err = u.accuracy(ctx, made, d)
	return p, err
}

// assumptions are the public assumptions about the release in words: of the columns that it names, and of its share.
func (u *subject) assumptions() []string {
	out := []string{}
	if u.model != nil {
		out = append(out, u.model.words)
	}
	for _, c := range u.job.Dataset.Columns {
		if c.Assume == nil || u.column != nil && c.Name == u.column.Name || !bytes.Contains(u.release.Params, []byte(strconv.Quote(c.Name))) {
			continue
		}
		if m, err := newModel(c); err == nil {
			out = append(out, m.words)
		}
	}
	if p := plan.AssumedShare(&u.release); p > 0 {
		out = append(out, fmt.Sprintf("the share is %g", p))
	}
	if e := u.even; e != nil && e.Groups > 1 {
		words := fmt.Sprintf("all rows count and are spread evenly over %g groups", e.Groups)
		if u.job.Dataset.CapOf(&u.release) != nil {
			words += ", one row of each unit"
		}
		out = append(out, words)
	}
	return out
}

const concavity = "the noise of a mean over a sample is larger by ε/(q·ε_n), and q·ε_n < ε at every rate below 1 " +
	"because x ↦ log(1 + x(e^ε_n − 1)) is concave (docs/sampling.md); the sampling error comes on top"

const addedNoise = "noise that is added to a sum of a Poisson sample is, under replace-one, never smaller than the full table's at " +
	"rates up to one half (docs/sampling.md); the sampling error comes on top"

// provenNever reports whether P18's argument covers the release: Laplace noise on
// a sum, divided by a public constant, from a simple random or Poisson sample.
func (u *subject) provenNever() bool {
	var p struct{ Noise string }
	if u.statistic != sdk.StatisticMean || json.Unmarshal(u.release.Params, &p) != nil || p.Noise == "gaussian" {
		return false
	}
	return u.sample == nil || u.sample.Method == job.SRSWOR || u.sample.Method == job.Poisson
}

// sure is the number of standard errors of the simulation that a difference must exceed.
const sure = 3

// verdict returns whether sampling helps, over all points of a sweep.
func (u *subject) verdict(w *Sweep) Verdict {
	if u.provenNever() {
		if u.sample == nil || u.sample.Method != job.Poisson || u.job.Dataset.Relation != privacy.ReplaceOne {
			return Verdict{"never", concavity}
		}
		// There the accountant gives additive noise more than log(1 + (e^ε − 1)/q).
		if !slices.ContainsFunc(w.Points, func(p Point) bool { return p.Design == "poisson" && p.Rate > 0.5 }) {
			return Verdict{"never", addedNoise}
		}
	}
	var gains, losses, known []Point
	for _, p := range w.Points {
		if p.Design == "full" || p.Total == 0 || p.Full.Total == 0 {
			continue
		}
		known = append(known, p)
		switch d, margin := p.against(); {
		case d < -margin:
			gains = append(gains, p)
		case d > margin:
			losses = append(losses, p)
		}
	}
	under := ""
	if w.Simulated > 0 {
		under = fmt.Sprintf(", in %d repetitions under the assumptions", w.Simulated)
	}
	switch {
	case len(known) == 0:
		return Verdict{"unknown", "no point has both an error of its own and one of the full table"}
	case len(gains) > 0:
		best := gains[0]
		for _, p := range gains {
			if p.Total/p.Full.Total < best.Total/best.Full.Total {
				best = p
			}
		}
		return Verdict{"gain",
			fmt.Sprintf("sampling is more accurate than the full table at %d of %d points%s; most at %s %.4g, where the error is %.3g "+
				"times the full table's",
				len(gains), len(known), under, w.Axis, best.X, best.Total/best.Full.Total)}
	case len(losses) == len(known):
		return Verdict{"loss", "the full table is more accurate at every point" + under}
	}
	return Verdict{"undecided", fmt.Sprintf(
		"the full table is more accurate at %d of %d points%s; "+
			"at the others the difference is smaller than the simulation can tell", len(losses), len(known), under)}
}

// against returns how much larger the squared error of a point is than the full
// table's, and how large a difference must be to count. Both are simulated on the same
// populations, so that they are compared population by population.
func (p Point) against() (difference, margin float64) {
	difference = p.Total*p.Total - p.Full.Total*p.Full.Total
	if len(p.each) != len(p.Full.each) {
		return difference, 0
	}
	d := make([]float64, len(p.each))
	for i := range d {
		d[i] = p.each[i] - p.Full.each[i]
	}
	return difference, sure * standardError(d)
}
