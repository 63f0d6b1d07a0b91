package privacy

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// A falsifier: random designs over tiny populations with discrete Laplace noise on the sum of the sample, enumerated exactly. No charged
// epsilon may lie below the truth at its delta.
func TestRandomDesignsAgainstEnumeration(t *testing.T) {
	r := rand.New(rand.NewPCG(20, 26))
	for trial := range tier.Of(8, 60) {
		size := 3 + r.IntN(3)
		scale := 0.5 + 2*r.Float64()
		rate, take := 0.05+0.9*r.Float64(), 1+r.IntN(size)
		kind := r.IntN(3)
		// The values lie in {-1, 0, 1}: one arrival moves the sum by 1, a replacement by 2. Two releases from one draw move two sums.
		noise := DiscreteLaplace{scale, Sensitivity{AddRemove: 1, ReplaceOne: 2}}
		releases := 1 + r.IntN(2)
		var inner Event = noise
		if releases > 1 {
			inner = Repeat{int64(releases), noise}
		}
		var e Event
		var chance func(sample, n int) float64 // of exactly this set
		switch kind {
		case 0:
			e = Poisson{rate, inner}
			chance = func(s, n int) float64 {
				p := 1.0
				for i := range n {
					if s>>i&1 == 1 {
						p *= rate
					} else {
						p *= 1 - rate
					}
				}
				return p
			}
		case 1:
			e = WithoutReplacement{int64(take), int64(size), inner}
			ways := math.Round(math.Exp(lchoose(size, take)))
			chance = func(s, n int) float64 {
				if ones(s) != take {
					return 0
				}
				return 1 / ways
			}
		default: // a Poisson sample that is kept and sampled again
			e = Poisson{rate, Poisson{0.5, inner}}
			chance = func(s, n int) float64 {
				p := 1.0
				for i := range n {
					if s>>i&1 == 1 {
						p *= rate / 2
					} else {
						p *= 1 - rate/2
					}
				}
				return p
			}
		}
		const reach = 9
		decay := math.Exp(-1 / scale)
		// The law of the outputs, with the tails beyond reach lumped: likelihood ratios are constant there.
		law := func(values []int) []float64 {
			width := 2*reach + 1
			one := func(sum int) []float64 {
				p := make([]float64, width)
				for o := -reach; o <= reach; o++ {
					d := math.Abs(float64(o - sum))
					v := (1 - decay) / (1 + decay) * math.Pow(decay, d)
					if o == -reach || o == reach {
						v = math.Pow(decay, d) / (1 + decay)
					}
					p[o+reach] = v
				}
				return p
			}
			out := make([]float64, int(math.Pow(float64(width), float64(releases))))
			for s := range 1 << len(values) {
				c := chance(s, len(values))
				if c == 0 {
					continue
				}
				sum := 0
				for i, v := range values {
					if s>>i&1 == 1 {
						sum += v
					}
				}
				p := one(sum)
				if releases == 1 {
					for i, v := range p {
						out[i] += c * v
					}
					continue
				}
				for i, v := range p {
					for j, w := range p {
						out[i*width+j] += c * v * w
					}
				}
			}
			return out
		}
		delta := math.Pow(10, -4*r.Float64()-0.5)
		for _, rel := range []Relation{AddRemove, ReplaceOne} {
			if kind == 1 && rel == AddRemove {
				continue
			}
			a, err := EpsilonAt(e, rel, delta)
			if err != nil {
				t.Fatalf("trial %d: %v", trial, err)
			}
			worst := 0.0
			for range 12 {
				x := make([]int, size)
				for i := range x {
					x[i] = r.IntN(3) - 1
				}
				if r.IntN(2) == 0 { // the extremal pair among equal records
					fill := r.IntN(3) - 1
					for i := range x {
						x[i] = fill
					}
					x[0] = 1
				}
				y := append([]int(nil), x...)
				if rel == AddRemove {
					y = y[1:]
				} else {
					y[0] = -x[0]
				}
				p, q := law(x), law(y)
				for _, z := range [][2][]float64{{p, q}, {q, p}} {
					d := 0.0
					for i := range z[0] {
						d += math.Max(0, z[0][i]-math.Exp(a.Epsilon)*z[1][i])
					}
					worst = math.Max(worst, d)
				}
			}
			if worst > delta*(1+1e-9)+1e-14 {
				t.Errorf("trial %d: %#v under %v: charged (%v, %v) by %s, delta is %v", trial, e, rel, a.Epsilon, delta, a.Method, worst)
			}
		}
	}
}

func lchoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

func ones(s int) int {
	n := 0
	for ; s > 0; s &= s - 1 {
		n++
	}
	return n
}
