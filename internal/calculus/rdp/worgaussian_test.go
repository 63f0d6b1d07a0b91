package rdp

import (
	"math"
	"testing"
)

// The numbers of P42: 1,000 steps, δ = 1e-6, σ = 4 where a replacement moves the query by 2.
func TestFixedSizeAnchors(t *testing.T) {
	for gamma, want := range map[float64]float64{0.01: 0.895, 0.1: 11.2} {
		if got, _ := Epsilon(Repeat(1000, WithoutReplacementGaussian(gamma, 2)), 1e-6); math.Abs(got-want) > 0.005*want {
			t.Errorf("rate %g: %g, want %g", gamma, got, want)
		}
	}
}

// fine is the divergence of worgaussian.proof.md by many small steps on the line of outputs.
func fine(gamma, s, alpha float64) float64 {
	step := math.Min(0.02, s/alpha/4)
	var logs []float64
	for x := step; x < alpha/s+12; x += step {
		l := x/s + math.Log(gamma)
		if x/s < 500 {
			l = math.Log1p(gamma * math.Expm1(x/s))
		}
		shift := x + 1/s/2
		logs = append(logs, (1-alpha)*l+logExpm1(alpha*l)+logExpm1((alpha-1)*l)-shift*shift/2)
	}
	return log1pExp(logSumExp(logs)+math.Log(step/math.Sqrt(2*math.Pi))) / (alpha - 1)
}

// The cells are on the safe side of the integral, and close to it.
func TestFixedSizeCells(t *testing.T) {
	for _, gamma := range []float64{1e-6, 1e-3, 0.03, 0.3, 0.9, 0.999} {
		for _, s := range []float64{0.2, 0.5, 1, 2, 5, 40} {
			for _, alpha := range []float64{1.001, 1.5, 2, 3.7, 12, 64, 130.5} {
				want := fine(gamma, s, alpha)
				got := WithoutReplacementGaussian(gamma, s)(alpha)
				if want = math.Min(want, alpha/s/s/2); got < want*(1-1e-4) || got > want*1.01 {
					t.Errorf("rate %g, noise %g, order %g: %g, the integral has %g", gamma, s, alpha, got, want)
				}
			}
		}
	}
}

// outputs is the law of a noisy sum of two records of four, drawn without replacement, as its six centres.
func outputs(population [4]float64) (centres []float64) {
	for i := range population {
		for j := range i {
			centres = append(centres, population[i]+population[j])
		}
	}
	return centres
}

// divergence is that of two mixtures of six normal laws, by steps that are short against s.
func divergence(p, q []float64, s, alpha float64) float64 {
	density := func(centres []float64, y float64) float64 {
		logs := make([]float64, len(centres))
		for i, c := range centres {
			logs[i] = -(y - c) * (y - c) / s / s / 2
		}
		return logSumExp(logs) - math.Log(float64(len(centres))*s*math.Sqrt(2*math.Pi))
	}
	var logs []float64
	reach := 2*alpha + 11*s
	for y := -reach; y < reach; y += s / 6 {
		logs = append(logs, alpha*density(p, y)+(1-alpha)*density(q, y))
	}
	return (logSumExp(logs) + math.Log(s/6)) / (alpha - 1)
}

// Two records of four are drawn, and one of the four may be replaced: every pair of populations over three values, in both
// orders. The twin leaves out what the other direction adds. The pairs find it at small orders; at large ones that part is nothing.
func TestFixedSizeTinyPopulations(t *testing.T) {
	values := []float64{-0.5, 0, 0.5} // a replacement moves the sum by at most 1
	for _, s := range []float64{0.4, 1, 3} {
		curve, m := WithoutReplacementGaussian(0.5, s), &sampledGaussian{q: 0.5, s: s}
		half := fixedSize{m, m.cells(-m.middle()-farTail, 0), nil}
		for _, alpha := range []float64{1.2, 2, 3.5, 9} {
			most := 0.0
			for i := range 243 {
				at := func(n int) float64 { return values[i/int(math.Pow(3, float64(n)))%3] }
				p, q := outputs([4]float64{at(0), at(1), at(2), at(3)}), outputs([4]float64{at(0), at(1), at(2), at(4)})
				most = math.Max(most, divergence(p, q, s, alpha))
			}
			if got := curve(alpha); got < most*(1-1e-9) || got > most*2 {
				t.Errorf("noise %g, order %g: %g, the worst pair has %g", s, alpha, got, most)
			}
			if twin := math.Log1p(math.Expm1(half.logMoment(alpha))-half.mirrored(alpha)) / (alpha - 1); alpha <= 2 && twin > most*(1-1e-4) {
				t.Errorf("noise %g, order %g: nobody finds the half bound %g, the worst pair has %g", s, alpha, twin, most)
			}
		}
	}
}
