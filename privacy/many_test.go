package privacy

import (
	"math"
	"testing"
)

// hockey is the δ at ε between two tables of probabilities, the worse of both directions.
func hockey(p, q []float64, eps float64) float64 {
	a, b := 0.0, 0.0
	for i := range p {
		a += math.Max(0, p[i]-math.Exp(eps)*q[i])
		b += math.Max(0, q[i]-math.Exp(eps)*p[i])
	}
	return math.Max(a, b)
}

// drawnAt are the probabilities of whole numbers from −far to far for a noise around x.
func drawnAt(e Event, x, far int) []float64 {
	out, total := make([]float64, 2*far+1), 0.0
	for i := range out {
		d := float64(i - far - x)
		switch e := e.(type) {
		case DiscreteLaplace:
			out[i] = math.Exp(-math.Abs(d) / e.Scale)
		case DiscreteGaussian:
			out[i] = math.Exp(-d * d / (2 * e.Sigma * e.Sigma))
		}
		total += out[i]
	}
	for i := range out {
		out[i] /= total
	}
	return out
}

// A group of m units that come, or change, is charged no less than what it does to two noisy sums of one table, and to a sum
// of a Poisson sample. Twins: m steps cost √m, and the δ of a point does not grow.
func TestSeveralUnitsAreEnumerated(t *testing.T) {
	const far = 40
	laplace, gauss := DiscreteLaplace{Scale: 1.5, Sensitivity: Sensitivity{1, 2}}, DiscreteGaussian{Sigma: 1.25, Sensitivity: Sensitivity{1, 2}}
	both := Compose{[]Event{laplace, gauss}}
	caught := map[string]bool{}
	for _, rel := range []Relation{AddRemove, ReplaceOne} {
		for m := int64(1); m <= 3; m++ {
			shift := int(m)
			if rel == ReplaceOne {
				shift *= 2 // from −1 to 1
			}
			pair := func(x int) (out []float64) {
				for _, a := range drawnAt(laplace, x, far) {
					for _, b := range drawnAt(gauss, x, far) {
						out = append(out, a*b)
					}
				}
				return out
			}
			many, err := OfMany(both, rel, m)
			if err != nil {
				t.Fatal(err)
			}
			one, err := EpsilonAt(both, rel, 1e-3)
			if err != nil {
				t.Fatal(err)
			}
			rooted, _ := OfMany(both, rel, int64(math.Sqrt(float64(m))))
			for _, eps := range []float64{.1, .7, 1.9} {
				truth := hockey(pair(0), pair(shift), eps)
				if claimed := must(DeltaAt(many, rel, eps)).Delta; claimed < truth-1e-9 {
					t.Errorf("%v, %d units, ε %g: δ %g claimed, %g true", rel, m, eps, claimed, truth)
				}
				caught["root"] = caught["root"] || must(DeltaAt(rooted, rel, eps)).Delta < truth-1e-9
			}
			whole := Point{Epsilon: one.Epsilon, Delta: one.Delta}.OfMany(m)
			truth := hockey(pair(0), pair(shift), whole.Epsilon)
			if whole.Delta < truth-1e-9 {
				t.Errorf("%v, %d units: %v claimed from a point, δ %g true", rel, m, whole, truth)
			}
			caught["point"] = caught["point"] || one.Delta < truth-1e-9
		}
	}
	for m := int64(2); m <= 3; m++ { // units of a sample
		drawn, err := OfMany(Poisson{.3, laplace}, AddRemove, m)
		if err != nil {
			t.Fatal(err)
		}
		with := make([]float64, 2*far+1)
		for j := range int(m) + 1 {
			chance := float64([][]int{{1, 2, 1}, {1, 3, 3, 1}}[m-2][j]) * math.Pow(.3, float64(j)) * math.Pow(.7, float64(int(m)-j))
			for i, p := range drawnAt(laplace, j, far) {
				with[i] += chance * p
			}
		}
		for _, eps := range []float64{.1, .5, 1} {
			if claimed, truth := must(DeltaAt(drawn, AddRemove, eps)).Delta, hockey(with, drawnAt(laplace, 0, far), eps); claimed < truth-1e-9 {
				t.Errorf("%d units of a sample, ε %g: δ %g claimed, %g true", m, eps, claimed, truth)
			}
		}
	}
	if !caught["root"] || !caught["point"] {
		t.Errorf("a twin was not caught: %v", caught)
	}
	chosen := func(scores ...float64) (out []float64) { // with weights e^{score/2}
		total := 0.0
		for _, x := range scores {
			total += math.Exp(x / 2)
		}
		for _, x := range scores {
			out = append(out, math.Exp(x/2)/total)
		}
		return out
	}
	selected, err := OfSteps(BoundedRange{Eps: 1}, ReplaceOne, 3) // a score moves by up to 1 in either direction
	if err != nil {
		t.Fatal(err)
	}
	for _, eps := range []float64{.2, 1, 2} {
		if claimed, truth := must(DeltaAt(selected, ReplaceOne, eps)).Delta, hockey(chosen(0, 0, 0), chosen(3, -3, 0), eps); claimed < truth-1e-9 {
			t.Errorf("a selection, three steps, ε %g: δ %g claimed, %g true", eps, claimed, truth)
		}
	}
	if _, err := OfSteps(Compose{[]Event{laplace, Poisson{.3, laplace}}}, AddRemove, 2); err == nil {
		t.Error("a unit of a sample that goes and comes again is taken for a group")
	}
	for _, e := range []Event{KeyThreshold{Delta: 1e-6}, ByGroup{Event: laplace}, Shuffled{10, Laplace{Scale: 1}}} {
		if _, err := OfMany(e, ReplaceOne, 2); err == nil {
			t.Errorf("%s: several units are not refused", e.kind())
		}
	}
}
