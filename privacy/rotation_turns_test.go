package privacy

import (
	"math"
	"testing"
)

// turns is the law of the answers of two panels of three waves, one answer in each wave, and of one
// question about all units, with one unit of value x: whether the sum of those who are in the wave is
// odd, with a lie at odds of 1 to e^ε0. The panels take turns, and what is asked follows the answers
// before: with an odd number of ones, whether the sum is even.
func turns(units int, second bool, eps0 float64) []float64 {
	const waves = 3
	questions := waves
	if second {
		questions = 2 * waves
	}
	questions++ // the cross-section, in the middle
	out := make([]float64, 1<<questions)
	allotments := 1
	for range units {
		allotments *= waves * waves
	}
	truth := 1 / (1 + math.Exp(-eps0))
	for code := range allotments {
		var in [2][waves]int
		total, rest := 0, code
		for range units {
			a, b := rest%waves, rest/waves%waves
			rest /= waves * waves
			in[0][a]++
			in[1][b]++
			total++
		}
		for answer := range out {
			p, ones := 1/float64(allotments), 0
			for q := range questions {
				var sum int
				switch turn := q; {
				case q == questions/2:
					sum = total
				default:
					if q > questions/2 {
						turn--
					}
					if second {
						sum = in[turn%2][turn/2]
					} else {
						sum = in[0][turn]
					}
				}
				o := answer >> q & 1
				if (sum+ones)%2 == o {
					p *= truth
				} else {
					p *= 1 - truth
				}
				ones += o
			}
			out[answer] += p
		}
	}
	return out
}

// Two panels of one account, and a panel with a cross-section, in turns: what each is charged adds
// up (step/panel.proof.md). The twin takes the second panel, or the cross-section, to cost nothing.
func TestTurnsOfPanels(t *testing.T) {
	panel := Rotation{Waves: 3, In: 1, Event: Pure{1.5}}
	caught := map[bool]bool{}
	for _, second := range []bool{false, true} {
		for _, each := range []float64{0.3, 0.6, 0.9, 1.2, 1.45} {
			d := deltaOf(t, panel, AddRemove, each).Delta
			eps, claimed := each+1.5, d // the cross-section is pure
			if second {
				eps, claimed = eps+each, claimed+d
			}
			for others := range 2 {
				truth := tellApart(turns(others+1, second, 1.5), turns(others, second, 1.5), eps)
				if claimed < truth*(1-1e-12)-1e-15 {
					t.Errorf("two panels %v, ε=%g each: %g is claimed, the truth is %g", second, each, claimed, truth)
				}
				less := tellApart(turns(others+1, second, 1.5), turns(others, second, 1.5), each)
				caught[second] = caught[second] || d < 0.99*less
			}
		}
	}
	if !caught[false] || !caught[true] {
		t.Error("what is left out costs nothing")
	}
}
