package linear

import (
	"math"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// The tail holds the noise at least so often, also where the noise spans only a few whole
// numbers, and no smaller one would: exact sums.
func TestTailOfDiscreteLaplace(t *testing.T) {
	for _, scale := range []float64{0.1, 0.3, 0.5, 1, 2, 3.7, 20, 1000} {
		for _, p := range []float64{0.05, 0.025} {
			n := noiseOf(privacy.DiscreteLaplace{Scale: scale})
			tail, total, squares, outside, nearly := n.Tail(p), 0.0, 0.0, 0.0, 0.0
			for x := -40 * math.Ceil(scale); x <= 40*math.Ceil(scale); x++ {
				at := math.Exp(-math.Abs(x) / scale)
				total, squares = total+at, squares+at*x*x
				if math.Abs(x) > tail {
					outside += at
				}
				if math.Abs(x) > tail-1 {
					nearly += at
				}
			}
			if outside/total > p || tail > 0 && nearly/total < p {
				t.Errorf("scale %v: ±%v leaves out %v, ±%v %v", scale, tail, outside/total, tail-1, nearly/total)
			}
			if sd := math.Sqrt(squares / total); math.Abs(sd/n.SD-1) > 1e-9 {
				t.Errorf("scale %v: sd %v, want %v", scale, n.SD, sd)
			}
		}
	}
	if n := noiseOf(privacy.DiscreteGaussian{Sigma: 1000}); n.SD != 1000 || n.Tail(0.05) != 1960 {
		t.Errorf("%v, %v", n.SD, n.Tail(0.05))
	}
}

func target(delta float64, under ...privacy.Relation) sdk.PlanRequest {
	return sdk.PlanRequest{Public: sdk.Public{SampleRelations: under}, Target: privacy.Point{Epsilon: 1, Delta: delta}}
}

// claimOf returns the declaration of sums of numbers in [0, 1] by many groups, for units in k of them.
func claimOf(k int64) sdk.Claim {
	return Scalar(0, 1<<20).Claim(sdk.Units{Cells: 1000, Groups: k, Rows: 1, Switches: true, Leaves: true})
}

// Auto takes the smaller noise, and what it takes meets the target under every relation;
// without a delta there is Laplace noise alone.
func TestAutoTakesTheSmallerNoise(t *testing.T) {
	for _, c := range []struct {
		k     int64
		delta float64
		want  string
	}{{1, 1e-6, Laplace}, {3, 1e-6, Laplace}, {40, 1e-6, Gaussian}, {40, 0, Laplace}, {400, 1e-9, Gaussian}} {
		for _, under := range [][]privacy.Relation{{privacy.AddRemove}, {privacy.ReplaceOne}} {
			req := target(c.delta, under...)
			claims := []sdk.Claim{claimOf(c.k)}
			got, err := sdk.ChooseNoise(Auto, claims, req)
			if err != nil {
				t.Fatal(err)
			}
			for _, kind := range []string{Laplace, Gaussian} {
				other, err := sdk.ChooseNoise(kind, claims, req)
				if err == nil && noisesOf(other)[0].SD < noisesOf(got)[0].SD*(1-1e-9) {
					t.Errorf("%d groups, delta %v: %s noise is smaller than %v", c.k, c.delta, kind, got)
				}
				if err != nil && (kind == Laplace || c.delta > 0) {
					t.Error(err)
				}
			}
			if _, is := got.(privacy.DiscreteGaussian); is != (c.want == Gaussian) {
				t.Errorf("%d groups, delta %v: %v, want %s", c.k, c.delta, got, c.want)
			}
			if a, err := privacy.EpsilonAt(got, under[0], c.delta); err != nil || a.Epsilon > 1 {
				t.Errorf("%d groups, delta %v: costs %v (%v)", c.k, c.delta, a.Epsilon, err)
			}
		}
	}
}

// For a guarantee in ρ auto takes the noise that is smaller at the same ρ: Gaussian noise for
// one number up to ρ of about 1.6, and Laplace noise far beyond.
func TestAutoAtRho(t *testing.T) {
	for _, rel := range []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne} {
		for _, c := range []struct {
			epsilon float64
			want    string
		}{{0.1, Gaussian}, {0.5, Gaussian}, {1.5, Gaussian}, {8, Laplace}} {
			req := target(1e-6, rel)
			req.Target.Epsilon, req.InRho = c.epsilon, true
			got, err := sdk.ChooseNoise(Auto, []sdk.Claim{claimOf(1)}, req)
			if err != nil {
				t.Fatal(err)
			}
			if _, is := got.(privacy.DiscreteGaussian); is != (c.want == Gaussian) {
				t.Errorf("%v: epsilon %v: %v, want %s", rel, c.epsilon, got, c.want)
			}
			if a, err := privacy.EpsilonAt(got, rel, 1e-6); err != nil || a.Epsilon > c.epsilon {
				t.Errorf("%v: epsilon %v: costs %v (%v)", rel, c.epsilon, a.Epsilon, err)
			}
			req.InRho = false
			if other, _ := sdk.ChooseNoise(Auto, []sdk.Claim{claimOf(1)}, req); privacy.Name(noiseOf(other).Event) != "discrete_laplace" {
				t.Errorf("%v: epsilon %v: without rho it takes %v", rel, c.epsilon, other)
			}
		}
	}
}

// Release takes the noise from the plan, and only from one that declares what it would.
func TestPlanned(t *testing.T) {
	claims := []sdk.Claim{claimOf(2), claimOf(3)}
	event, err := sdk.ChooseNoise(Gaussian, claims, target(1e-6, privacy.AddRemove))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := planned(event, claims); err != nil || len(n) != 2 || n[1].SD <= n[0].SD {
		t.Errorf("%v, %v", n, err)
	}
	smaller := event.(privacy.Compose)
	g := smaller.Events[0].(privacy.DiscreteGaussian)
	g.Sensitivity.AddRemove /= 2
	for name, e := range map[string]privacy.Event{
		"one of two":  smaller.Events[0],
		"sensitivity": privacy.Compose{Events: []privacy.Event{g, smaller.Events[1]}},
		"kind":        privacy.Compose{Events: []privacy.Event{privacy.Pure{Eps: 1}, smaller.Events[1]}},
		"order":       privacy.Compose{Events: []privacy.Event{smaller.Events[1], smaller.Events[0]}},
	} {
		if _, err := planned(e, claims); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
