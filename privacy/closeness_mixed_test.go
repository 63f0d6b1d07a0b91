package privacy

import (
	"math"
	"testing"
)

// enumeratedPanel returns δ(ε), too small by a rounding, of a panel of one wave of two that
// releases in each wave discrete Gaussian noise of some sigmas, moved by some steps. The
// logarithms of the likelihood ratios of a wave are rounded down on a grid.
func enumeratedPanel(sigmas []float64, shifts []int) (remove, add func(eps float64) float64) {
	const step = 1. / 400
	wave := map[int]float64{0: 1} // without the unit
	for i, sigma := range sigmas {
		var total float64
		reach := int(11 * sigma)
		for k := -reach; k <= reach; k++ {
			total += math.Exp(-float64(k*k) / (2 * sigma * sigma))
		}
		// Noise of fine lattices is added up in logarithms before it is rounded once.
		one := map[int]float64{}
		s := float64(shifts[i])
		for k := -reach; k <= reach; k++ {
			loss := (2*float64(k)*s - s*s) / (2 * sigma * sigma)
			one[int(math.Floor(loss/step))] += math.Exp(-float64(k*k)/(2*sigma*sigma)) / total
		}
		next := map[int]float64{}
		for a, p := range wave {
			for b, q := range one {
				if p*q > 1e-16 {
					next[a+b] += p * q
				}
			}
		}
		wave = next
	}
	type atom struct{ ratio, mass float64 }
	var atoms []atom
	for a, p := range wave {
		atoms = append(atoms, atom{math.Exp(float64(a) * step), p})
	}
	over := func(f func(ratio float64) float64) float64 {
		var sum float64
		for _, a := range atoms {
			for _, b := range atoms {
				sum += a.mass * b.mass * math.Max(0, f((a.ratio+b.ratio)/2))
			}
		}
		return sum
	}
	// All ratios are too small by at most two steps: the law with the unit in is below its
	// own, that without it is put right.
	remove = func(eps float64) float64 {
		return over(func(l float64) float64 { return l - math.Exp(eps) })
	}
	add = func(eps float64) float64 {
		return over(func(l float64) float64 { return 1 - math.Exp(eps+2*step)*l })
	}
	return remove, add
}

// A panel that counts households and averages their incomes has noise of both kinds: few
// lattice steps for the count, very many for the mean. Both together are charged a little more
// than they cost, and not what known waves do (P3, P34).
func TestCountBesideMean(t *testing.T) {
	sigmas, shifts := []float64{3, 80}, []int{1, 25}
	const delta = 1e-5
	e := Rotation{Waves: 2, In: 1, Event: Compose{[]Event{
		DiscreteGaussian{Sigma: sigmas[0], Sensitivity: Sensitivity{AddRemove: 1, ReplaceOne: 2 * 1}, Coordinates: 2},
		DiscreteGaussian{Sigma: sigmas[1], Sensitivity: Sensitivity{AddRemove: 25, ReplaceOne: 2 * 25}, Coordinates: 3},
	}}}
	a, err := EpsilonAt(e, AddRemove, delta)
	if err != nil {
		t.Fatal(err)
	}
	remove, add := enumeratedPanel(sigmas, shifts)
	if d := max(remove(a.Epsilon), add(a.Epsilon)); d > delta {
		t.Errorf("ε = %g is charged at δ = %g, and δ is %g", a.Epsilon, delta, d)
	}
	// Twin: three per cent less would be too little, and the enumeration says so.
	if d := max(remove(a.Epsilon*0.97), add(a.Epsilon*0.97)); d <= delta {
		t.Errorf("δ is %g at 0.97·%g: the charge is loose, or the enumeration finds nothing", d, a.Epsilon)
	}
}
