package privacy

import (
	"math"
	"testing"

	"github.com/dprelease/dprelease/internal/calculus/rdp"
)

// latticeDivergence is the exact Rényi divergence of a sum with discrete Gaussian noise on two of four records, drawn without
// replacement, from the one where record 3 is replaced.
func latticeDivergence(records [5]int, sigma, alpha float64) float64 {
	law := func(last int) map[int]float64 {
		out := map[int]float64{}
		own := [4]int{records[0], records[1], records[2], records[last]}
		for i := range own {
			for j := range i {
				out[own[i]+own[j]] += 1. / 6
			}
		}
		return out
	}
	p, q := law(3), law(4)
	density := func(l map[int]float64, y int) (m float64) {
		for c, mass := range l {
			m += mass * math.Exp(-float64(y-c)*float64(y-c)/2/sigma/sigma)
		}
		return m
	}
	reach := int(14*sigma + 4*alpha*float64(max(records[0], records[3], records[4], -records[0], -records[3], -records[4])))
	total, sum := 0.0, 0.0
	for y := -reach; y <= reach; y++ {
		a, b := density(p, y), density(q, y)
		total += b
		if b > 1e-290 {
			sum += math.Pow(a, alpha) * math.Pow(b, 1-alpha)
		}
	}
	return math.Log(sum/total) / (alpha - 1)
}

// Discrete Gaussian noise on a sample of fixed size: no two tiny populations are told apart better than the curve says, and it
// is about half of the older bound where the noise spans many lattice steps. A twin whose noise is half as large is found out.
func TestRenyiLattice(t *testing.T) {
	for _, c := range []struct {
		sigma float64
		step  int // a replacement moves the sum by at most 2·step
	}{{3.5, 1}, {20, 5}, {300, 100}} {
		s := Sensitivity{ReplaceOne: float64(2 * c.step)}
		event := DiscreteGaussian{Sigma: c.sigma, Sensitivity: s}
		curve, u := renyiFixed(event, 0.5, "")
		twin, v := renyiFixed(DiscreteGaussian{Sigma: 2 * c.sigma, Sensitivity: s}, 0.5, "")
		if u != nil || v != nil {
			t.Fatal(u, v)
		}
		for _, alpha := range []float64{1.5, 2, 3, 4.5, 8} {
			most := 0.0
			for i := range 243 {
				var records [5]int
				for k, rest := 0, i; k < 5; k, rest = k+1, rest/3 {
					records[k] = (rest%3 - 1) * c.step
				}
				if records[0] > records[1] || records[1] > records[2] || records[3] == records[4] {
					continue
				}
				most = math.Max(most, latticeDivergence(records, c.sigma, alpha))
			}
			got := curve(alpha)
			if got < most*(1-1e-9) {
				t.Errorf("σ %g, order %g: %g, the worst pair has %g", c.sigma, alpha, got, most)
			}
			if twin(alpha) >= most {
				t.Errorf("σ %g, order %g: the twin %g is not found out beside %g", c.sigma, alpha, twin(alpha), most)
			}
			if c.sigma > 100 && got > 1.001*rdp.WithoutReplacementGaussian(0.5, c.sigma/float64(2*c.step))(alpha) {
				t.Errorf("σ %g, order %g: %g, and continuous noise has %g", c.sigma, alpha, got, rdp.WithoutReplacementGaussian(0.5, c.sigma/float64(2*c.step))(alpha))
			}
		}
	}
}

// The numbers of P42 hold for the noise that is drawn, also beside a vector of many coordinates.
func TestRenyiLatticeAnchors(t *testing.T) {
	for of, want := range map[int64]float64{100_000: 0.895, 10_000: 11.2} {
		for _, coordinates := range []int64{1, 50} {
			e := Repeat{1000, WithoutReplacement{1000, of, DiscreteGaussian{Sigma: 1 << 21, Sensitivity: Sensitivity{ReplaceOne: 1 << 20}, Coordinates: coordinates}}}
			b, u := renyi(e, ReplaceOne, "")
			if u != nil {
				t.Fatal(u)
			}
			if got, _ := rdp.Epsilon(b.curve, 1e-6); math.Abs(got-want) > 0.005*want {
				t.Errorf("1000 of %d, %d coordinates: %g, want %g", of, coordinates, got, want)
			}
		}
	}
}
