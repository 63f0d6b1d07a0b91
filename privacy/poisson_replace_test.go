package privacy

import (
	"math"
	"testing"

	"github.com/dprelease/dprelease/internal/calculus/pld"
)

// gaussMass is the discrete Gaussian law on −reach..reach.
func gaussMass(sigma float64, reach int) []float64 {
	p, sum := make([]float64, 2*reach+1), 0.0
	for i := range p {
		x := float64(i-reach) / sigma
		p[i] = math.Exp(-x * x / 2)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// shifted is a law moved by v and laid out on 0..2·reach+2·room.
func shifted(p []float64, v, room int) []float64 {
	out := make([]float64, len(p)+2*room)
	copy(out[room+v:], p)
	return out
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

// release is a mechanism for the enumeration: what a record adds to its coordinates, and
// the law of the output around a total.
type release struct {
	name    string
	event   Event
	records [][]int
	law     func(total []int) []float64
	tight   float64 // the loosest charge by pld, over the truth; 0: not said
	wrong   bool    // a broken twin: the event is not what happens
}

func scalarQuery(name string, e Event, p []float64, values ...int) release {
	q := release{name: name, event: e, law: func(total []int) []float64 { return shifted(p, total[0], 12) }, tight: 1.001}
	for _, v := range values {
		q.records = append(q.records, []int{v})
	}
	return q
}

func replaceQueries() []release {
	gauss := func(sigma float64, s Sensitivity, coordinates int64) Event {
		return DiscreteGaussian{Sigma: sigma, Sensitivity: s, Coordinates: coordinates}
	}
	laplaceMass := func(scale float64, reach int) []float64 {
		p := make([]float64, 2*reach+1)
		for i := range p {
			p[i] = math.Tanh(0.5/scale) * math.Exp(-math.Abs(float64(i-reach))/scale)
		}
		return p
	}
	plane := func(p []float64) func(total []int) []float64 {
		return func(total []int) []float64 { return outer(shifted(p, total[0], 4), shifted(p, total[1], 4)) }
	}
	root2 := math.Nextafter(math.Sqrt2, 2)
	var out []release
	for _, sigma := range []float64{0.6, 1, 2} {
		p := gaussMass(sigma, int(12*sigma)+4)
		small := gaussMass(sigma, int(7*sigma)+2)
		out = append(out,
			scalarQuery("centred", gauss(sigma, Sensitivity{1, 2}, 1), p, -1, 0, 1),
			scalarQuery("0 or 1", gauss(sigma, Sensitivity{1, 1}, 1), p, 0, 1),
			scalarQuery("2 or 3", gauss(sigma, Sensitivity{3, 1}, 1), p, 2, 3),
			scalarQuery("-1 to 3", gauss(sigma, Sensitivity{3.5, 4.5}, 1), p, -1, 0, 1, 2, 3),
			release{name: "cells", event: gauss(sigma, Sensitivity{1, root2}, 2), records: [][]int{{1, 0}, {0, 1}, {0, 0}}, law: plane(small), tight: 1.01},
			release{name: "cells of either sign", event: gauss(sigma, Sensitivity{1, 2}, 2), records: [][]int{{1, 0}, {-1, 0}, {0, 1}, {0, -1}}, law: plane(small)},
			release{name: "vectors", event: gauss(sigma, Sensitivity{root2, 2 * root2}, 2), records: [][]int{{1, 1}, {-1, 1}, {1, -1}, {-1, -1}, {0, 0}, {1, 0}}, law: plane(small)},
			release{name: "two releases", event: Compose{[]Event{gauss(sigma, Sensitivity{1, 2}, 1), DiscreteLaplace{Scale: 2 * sigma}}}, records: [][]int{{1, 1}, {-1, 1}, {1, -1}, {-1, -1}, {0, 1}},
				law: func(total []int) []float64 {
					return outer(shifted(small, total[0], 4), shifted(laplaceMass(2*sigma, int(60*sigma)), total[1], 4))
				}},
			// Broken twins: the events of one cell and of one coordinate for more than that.
			release{name: "either sign as cells", event: gauss(sigma, Sensitivity{1, root2}, 2), records: [][]int{{1, 0}, {-1, 0}}, law: plane(small), wrong: true},
			release{name: "a vector as a scalar", event: gauss(sigma, Sensitivity{1, 2}, 1), records: [][]int{{1, 1}, {-1, -1}}, law: plane(small), wrong: true},
		)
	}
	return append(out,
		scalarQuery("laplace 0 or 1", DiscreteLaplace{Scale: 1.5, Sensitivity: Sensitivity{1, 1}}, laplaceMass(1.5, 60), 0, 1),
		scalarQuery("laplace 1 or 3", DiscreteLaplace{Scale: 2, Sensitivity: Sensitivity{3, 2}}, laplaceMass(2, 60), 1, 3),
		scalarQuery("laplace centred", DiscreteLaplace{Scale: 2, Sensitivity: Sensitivity{2, 4}}, laplaceMass(2, 60), -2, 0, 2))
}

// Every Poisson sample of every pair of neighbouring tables of three records: no charge
// lies below the truth, in any method; scalars and cells are charged what is attained;
// and a pair that does not cover what happens is caught.
func TestPoissonReplaceEnumerated(t *testing.T) {
	laws := func(q release, rate float64, table [][]int) []float64 {
		var out []float64
		for mask := range 1 << len(table) {
			p, total := 1.0, make([]int, len(q.records[0]))
			for i, v := range table {
				if mask>>i&1 == 0 {
					p *= 1 - rate
					continue
				}
				p *= rate
				for j := range v {
					total[j] += v[j]
				}
			}
			law := q.law(total)
			if out == nil {
				out = make([]float64, len(law))
			}
			for i, x := range law {
				out[i] += p * x
			}
		}
		return out
	}
	grid := []float64{0, 0.2, 1, 2.5}
	for _, q := range replaceQueries() {
		others := [][][]int{{}}
		for _, v := range q.records {
			others = append(others, [][]int{v})
		}
		if len(q.records[0]) == 1 {
			others = append(others, [][]int{q.records[0], q.records[len(q.records)-1]})
		}
		for _, rate := range []float64{0.05, 0.4, 0.9} {
			worst := make([]float64, len(grid))
			for _, rest := range others {
				all := make([][]float64, len(q.records))
				for i, v := range q.records {
					all[i] = laws(q, rate, append([][]int{v}, rest...))
				}
				for i := range all {
					for j := range i {
						for k, eps := range grid {
							worst[k] = math.Max(worst[k], hockeyStick(all[i], all[j], eps))
						}
					}
				}
			}
			caught := false
			for k, eps := range grid {
				a, err := DeltaAt(Poisson{rate, q.event}, ReplaceOne, eps)
				if err != nil {
					t.Fatalf("%s: %v", q.name, err)
				}
				if q.wrong {
					caught = caught || a.Delta < worst[k]*(1-1e-6)
					continue
				}
				for method, b := range a.Methods {
					if b.Delta < worst[k]-1e-11 {
						t.Errorf("%s, %+v, rate %g, epsilon %g: %s charges %.9g, the truth is %.9g", q.name, q.event, rate, eps, method, b.Delta, worst[k])
					}
				}
				if q.tight > 0 && a.Methods["pld"].Delta > worst[k]*q.tight+1e-9 {
					t.Errorf("%s, %+v, rate %g, epsilon %g: charged %.9g, attained %.9g", q.name, q.event, rate, eps, a.Delta, worst[k])
				}
				if q.tight > 0 && a.Lower > worst[k]*(1+1e-9)+1e-11 {
					t.Errorf("%s, %+v, rate %g, epsilon %g: lower bound %.9g above the truth %.9g", q.name, q.event, rate, eps, a.Lower, worst[k])
				}
			}
			if q.wrong && !caught {
				t.Errorf("%s, %+v, rate %g: the wrong event was not caught", q.name, q.event, rate)
			}
		}
	}
}

// Four coordinates of ±1 have the L2 norm of one of ±2 and are worse: the figures of
// P28. The charge for four coordinates covers them, the scalar pair does not.
func TestVectorsBeatScalars(t *testing.T) {
	const q, sigma, delta = 0.2, 0.6, 1e-3
	one := gaussMass(sigma, 12)
	sum := []float64{1}
	for range 4 { // likelihoods depend on the sum of the coordinates only
		next := make([]float64, len(sum)+len(one)-1)
		for i, x := range sum {
			for j, y := range one {
				next[i+j] += x * y
			}
		}
		sum = next
	}
	likelihood := func(total, v float64) float64 { return math.Exp((v*total - 2) / (sigma * sigma)) }
	at := func(eps float64) float64 {
		d, mid := 0.0, len(sum)/2
		for i, p := range sum {
			total := float64(i - mid)
			d += p * math.Max(0, 1-q+q*likelihood(total, 1)-math.Exp(eps)*(1-q+q*likelihood(total, -1)))
		}
		return d
	}
	lo, hi := 0.0, 40.0
	for range 60 {
		if mid := (lo + hi) / 2; at(mid) > delta {
			lo = mid
		} else {
			hi = mid
		}
	}
	if math.Abs(hi-12.21) > 0.01 {
		t.Errorf("four coordinates reach %g, want 12.21", hi)
	}
	event := func(coordinates int64) Event {
		return Poisson{q, DiscreteGaussian{Sigma: sigma, Sensitivity: Sensitivity{2, 4}, Coordinates: coordinates}}
	}
	if a := mustEpsilon(t, event(4), ReplaceOne, delta); a.Epsilon < lo {
		t.Errorf("four coordinates are charged %g, they reach %g", a.Epsilon, lo)
	}
	if a := mustEpsilon(t, event(1), ReplaceOne, delta); math.Abs(a.Epsilon-9.71) > 0.01 {
		t.Errorf("one coordinate is charged %g, want 9.71", a.Epsilon)
	}
	// The pairs of the vector itself: attained, since its likelihood ratios are monotone.
	steps := func(n int64, shift int64) pld.Mechanism { return pld.Repeat(n, pld.DiscreteGaussian(sigma, shift)) }
	iv, err := pld.Epsilon(pld.PoissonReplace(q, steps(4, 1), steps(4, 2)), delta, pld.Options{})
	if err != nil || iv.Upper < lo || iv.Lower > hi || iv.Upper > hi*1.01 {
		t.Errorf("the vector's own pairs give %v, attained is %g (%v)", iv, hi, err)
	}
}

// Figures of issue "True words": what was charged and what is right.
func TestSampledFigures(t *testing.T) {
	root2 := math.Nextafter(math.Sqrt2, 2)
	for _, c := range []struct {
		e    Event
		want float64
	}{
		{Poisson{1, DiscreteGaussian{Sigma: 2.9}}, 3.2333},
		{Poisson{.01, DiscreteGaussian{Sigma: 1.5}}, 0.10332},
		{Poisson{.2, DiscreteGaussian{Sigma: 1.9, Sensitivity: Sensitivity{1, root2}, Coordinates: 2}}, 0.9997},
		{Poisson{.05, Poisson{.5, DiscreteGaussian{Sigma: 4}}}, 0.04753},
		{Poisson{.025, DiscreteGaussian{Sigma: 4}}, 0.04753},
	} {
		if a := mustEpsilon(t, c.e, ReplaceOne, 1e-6); math.Abs(a.Epsilon/c.want-1) > 1e-3 {
			t.Errorf("%+v: %.6g, want %g", c.e, a.Epsilon, c.want)
		}
	}
	// The amplified pure bound is 0.5, and costs a Rényi account 0.2273 at order 2.
	inner, err := SampleBudget(WithoutReplacement{4, 8, nil}, ReplaceOne, Point{0.5, 0})
	if err != nil {
		t.Fatal(err)
	}
	f, err := NewRDPFilter(ReplaceOne, Point{10, 1e-6}, []float64{2})
	if err != nil {
		t.Fatal(err)
	}
	cost, err := f.Cost(WithoutReplacement{4, 8, DiscreteLaplace{Scale: 1 / inner.Epsilon, Sensitivity: Sensitivity{1, 1}}})
	if err != nil {
		t.Fatal(err)
	}
	if x, _ := cost[0].Float64(); math.Abs(x-0.2273) > 1e-4 {
		t.Errorf("4 of 8 at 0.5 costs %g at order 2, want 0.2273", x)
	}
}
