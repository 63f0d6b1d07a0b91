package pipeline_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/expr"
)

// laws are the laws of one release's output on a finite set of cells, where the
// record that differs is absent (or another one stands at its place), where it is x,
// and where it is x'. Looking at cells is post-processing: what they tell is a lower
// bound on what the release tells.
type laws [3][]float64

// cells cuts the line at some points.
func cells(cdf func(float64) float64, cuts []float64) []float64 {
	out, below := make([]float64, 0, len(cuts)+1), 0.0
	for _, c := range cuts {
		at := cdf(c)
		out, below = append(out, at-below), at
	}
	return append(out, 1-below)
}

// added is noise on a value that is none, x or y, in units of the noise.
func added(cdf func(float64) float64, none, x, y float64, tails ...float64) laws {
	cuts := []float64{}
	for k := range 9 {
		cuts = append(cuts, math.Min(math.Min(x, y), none)+(math.Max(math.Max(x, y), none)-math.Min(math.Min(x, y), none))*float64(k)/8)
	}
	low, high := cuts[0], cuts[len(cuts)-1]
	for _, d := range tails {
		cuts = append(append([]float64{low - d}, cuts...), high+d)
	}
	at := func(s float64) []float64 { return cells(func(c float64) float64 { return cdf(c - s) }, cuts) }
	return laws{at(none), at(x), at(y)}
}

func laplaceCDF(x float64) float64 {
	if x < 0 {
		return math.Exp(x) / 2
	}
	return 1 - math.Exp(-x)/2
}

func gaussianCDF(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// attacks are some triples of records for one event; sample says by how much records
// may differ.
func attacks(t *testing.T, e privacy.Event, fixed bool) []laws {
	t.Helper()
	var out []laws
	spread := func(cdf func(float64) float64, arrival, replace float64, tails ...float64) {
		if fixed {
			for _, none := range []float64{0, 0.5, 1} {
				out = append(out, added(cdf, none*replace, replace, 0, tails...))
			}
			return
		}
		for _, y := range []float64{1, 0.5, 0, -0.5} {
			if math.Abs(arrival-y*arrival) <= replace*(1+1e-12) {
				out = append(out, added(cdf, 0, arrival, y*arrival, tails...))
			}
		}
		out = append(out, added(cdf, 0, arrival, math.Max(-arrival, arrival-replace), tails...))
	}
	switch e := e.(type) {
	case privacy.DiscreteLaplace:
		spread(laplaceCDF, e.Sensitivity.AddRemove/e.Scale, e.Sensitivity.ReplaceOne/e.Scale)
	case privacy.DiscreteGaussian:
		spread(gaussianCDF, e.Sensitivity.AddRemove/e.Sigma, e.Sensitivity.ReplaceOne/e.Sigma, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5)
	case privacy.Pure:
		yes := 1 / (1 + math.Exp(-e.Eps))
		no := math.Exp(-e.Eps) * yes
		x, y := []float64{yes, no}, []float64{no, yes}
		out = append(out, laws{y, x, y}, laws{x, x, y}, laws{{0.5, 0.5}, x, y})
	case privacy.BoundedRange:
		// Two outcomes: the range of the log ratios is the difference of the log odds.
		law := func(logit float64) []float64 {
			p := 1 / (1 + math.Exp(-logit))
			return []float64{p, 1 - p}
		}
		for _, at := range []float64{0.05, 0.3, 0.5, 0.7, 0.95} {
			x, y := law(at*e.Eps), law((at-1)*e.Eps)
			out = append(out, laws{y, x, y}, laws{x, x, y}, laws{law((at - 0.5) * e.Eps), x, y})
		}
	default:
		t.Fatalf("no attack on %T", e)
	}
	return out
}

// drawing is one draw, and what is run on it.
type drawing struct {
	q      float64
	fixed  bool
	events []privacy.Event
}

// advantage is δ at ε of what is released from independent draws, the same record
// in all: of outputs, the product over the draws of what each tells.
func advantage(eps float64, rates []float64, all [][]laws, replace bool) float64 {
	p, r := []float64{1}, []float64{1}
	for i, q := range rates {
		joint := [3][]float64{{1}, {1}, {1}}
		for _, l := range all[i] {
			for s := range joint {
				joint[s] = outer(joint[s], l[s])
			}
		}
		with, without := make([]float64, len(joint[0])), make([]float64, len(joint[0]))
		for k, none := range joint[0] {
			with[k], without[k] = (1-q)*none+q*joint[1][k], none
			if replace {
				without[k] = (1-q)*none + q*joint[2][k]
			}
		}
		p, r = outer(p, with), outer(r, without)
	}
	forth, back := 0.0, 0.0
	for i := range p {
		forth += math.Max(0, p[i]-math.Exp(eps)*r[i])
		back += math.Max(0, r[i]-math.Exp(eps)*p[i])
	}
	return math.Max(forth, back)
}

func outer(a, b []float64) []float64 {
	out := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			out = append(out, x*y)
		}
	}
	return out
}

// drawnBy reads one draw.
func drawnBy(t *testing.T, raw json.RawMessage) drawing {
	t.Helper()
	e, problems := expr.Parse(raw, "event")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	d, inner := drawing{q: 1}, e
	switch s := e.(type) {
	case privacy.Poisson:
		d.q, inner = s.Rate, s.Event
	case privacy.WithoutReplacement:
		d.q, d.fixed, inner = float64(s.Take)/float64(s.Of), true, s.Event
	}
	var walk func(e privacy.Event, n int64)
	walk = func(e privacy.Event, n int64) {
		switch e := e.(type) {
		case privacy.Compose:
			for _, c := range e.Events {
				walk(c, n)
			}
		case privacy.Repeat:
			walk(e.Event, n*e.N)
		case privacy.Approx: // what earlier jobs did
		default:
			for range n {
				d.events = append(d.events, e)
			}
		}
	}
	walk(inner, 1)
	return d
}

// strongest is the largest δ that some records have: of all triples for each event, or
// of many where there are too many.
func strongest(t *testing.T, eps float64, replace bool, draws ...drawing) float64 {
	t.Helper()
	var options [][]laws
	combinations := 1
	var rates []float64
	for _, d := range draws {
		rates = append(rates, d.q)
		for _, e := range d.events {
			options = append(options, attacks(t, e, d.fixed))
			combinations *= len(options[len(options)-1])
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	worst := 0.0
	for n := range min(combinations, mostTriples) {
		next, rest := 0, n
		all := make([][]laws, len(draws))
		for i, d := range draws {
			for range d.events {
				o := options[next]
				at := rest % len(o)
				if rest /= len(o); combinations > mostTriples {
					at = rng.IntN(len(o))
				}
				all[i] = append(all[i], o[at])
				next++
			}
		}
		worst = math.Max(worst, advantage(eps, rates, all, replace))
	}
	return worst
}

const mostTriples = 100

// rounding bounds what sums of so many masses, times e^ε, lose in float64.
func rounding(eps float64) float64 { return 1e-13 * (1 + math.Exp(eps)) }
