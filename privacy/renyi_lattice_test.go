package privacy

import (
	"fmt"
	"math"
	"testing"

	"github.com/dprelease/dprelease/internal/calculus/rdp"
)

// latticeDivergence is the exact Rényi divergence of a sum with discrete Gaussian noise on a sample of four records from the one
// where record 3 is replaced.
func latticeDivergence(design []outcome, records [5]int, sigma, alpha float64) float64 {
	law := func(last int) map[int]float64 {
		out := map[int]float64{}
		own := [4]int{records[0], records[1], records[2], records[last]}
		for _, o := range design {
			sum := 0
			for _, m := range o.members {
				sum += own[m]
			}
			out[sum] += o.p
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
	reach := int(14*sigma + 4*alpha*float64(max(records[0], records[3], records[4], -records[0], -records[3], -records[4])) + 2*float64(max(records[0], records[1], records[2])))
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

// Discrete Gaussian noise on a sample of fixed size, and on a Poisson sample under replace-one: no two tiny populations are told
// apart better than the curve says, and the curve is that of continuous noise where the noise spans many lattice steps. A twin
// whose noise is half as large is found out, and so is one that forgets that a record may be left out of the sample.
func TestRenyiLattice(t *testing.T) {
	for _, draw := range []struct {
		Sampling
		law []outcome
	}{{WithoutReplacement{Take: 2, Of: 4}, fixedDesign(2, 4)}, {Poisson{Rate: 0.5}, poissonDesign(equalRates(4, 0.5)...)}} {
		for _, c := range []struct {
			sigma  float64
			values [3]int
		}{{3.5, [3]int{-1, 0, 1}}, {20, [3]int{-5, 0, 5}}, {90, [3]int{-30, 0, 30}}, {90, [3]int{45, 51, 60}}} {
			s := Sensitivity{AddRemove: float64(max(-c.values[0], c.values[2])), ReplaceOne: float64(c.values[2] - c.values[0])}
			curve := func(sigma float64, s Sensitivity) rdp.Curve {
				b, u := renyi(draw.With(DiscreteGaussian{Sigma: sigma, Sensitivity: s}), ReplaceOne, "")
				if u != nil {
					t.Fatal(u)
				}
				return b.curve
			}
			poisson, left := draw.kind() == "poisson", Sensitivity{AddRemove: s.ReplaceOne, ReplaceOne: s.ReplaceOne}
			got, twin, lean := curve(c.sigma, s), curve(2*c.sigma, s), curve(c.sigma, left)
			for _, alpha := range []float64{1.5, 2, 3, 4.5, 8} {
				most := 0.0
				for i := range 243 {
					var records [5]int
					for k, rest := 0, i; k < 5; k, rest = k+1, rest/3 {
						records[k] = c.values[rest%3]
					}
					if records[0] <= records[1] && records[1] <= records[2] && records[3] != records[4] {
						most = math.Max(most, latticeDivergence(draw.law, records, c.sigma, alpha))
					}
				}
				what := fmt.Sprintf("%s, σ %g, order %g", draw.kind(), c.sigma, alpha)
				if got(alpha) < most*(1-1e-9) {
					t.Errorf("%s: %g, the worst pair has %g", what, got(alpha), most)
				}
				if c.values[0] < 0 && twin(alpha) >= most {
					t.Errorf("%s: the twin %g is not found out beside %g", what, twin(alpha), most)
				}
				if poisson && c.values[0] > 0 && lean(alpha) >= got(alpha) {
					t.Errorf("%s: who is left out does not count: %g, %g", what, lean(alpha), got(alpha))
				}
				mu := math.Max(s.ReplaceOne, s.AddRemove*map[bool]float64{true: 1}[poisson]) / c.sigma
				if c.sigma > 50 && got(alpha) > 1.005*rdp.WithoutReplacementGaussian(0.5, 1/mu)(alpha) {
					t.Errorf("%s: %g, and continuous noise has %g", what, got(alpha), rdp.WithoutReplacementGaussian(0.5, 1/mu)(alpha))
				}
			}
		}
	}
}

// The numbers of P42 hold for the noise that is drawn, also beside a vector of many coordinates.
func TestRenyiLatticeAnchors(t *testing.T) {
	for of, want := range map[int64]float64{100_000: 0.895, 10_000: 11.2} {
		for _, coordinates := range []int64{1, 50} {
			noise := DiscreteGaussian{Sigma: 1 << 21, Sensitivity: Sensitivity{1 << 19, 1 << 20}, Coordinates: coordinates}
			for _, draw := range []Sampling{WithoutReplacement{1000, of, nil}, Poisson{1000 / float64(of), nil}} {
				b, u := renyi(Repeat{1000, draw.With(noise)}, ReplaceOne, "")
				if u != nil {
					t.Fatal(u)
				}
				if got, _ := rdp.Epsilon(b.curve, 1e-6); math.Abs(got-want) > 0.005*want {
					t.Errorf("%s, 1000 of %d, %d coordinates: %g, want %g", draw.kind(), of, coordinates, got, want)
				}
			}
		}
	}
}
