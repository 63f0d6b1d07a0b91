package privacy

import (
	"math"
	"math/rand/v2"
	"testing"
)

// anyDraw is a draw at the ends of what there is: rates next to 0 and 1, populations
// up to 2^62, stages of unequal units.
func anyDraw(rng *rand.Rand) (s Sampling, rel Relation) {
	size := func() int64 { return int64(math.Exp2(rng.Float64() * 62)) }
	rel = ReplaceOne
	switch rng.IntN(4) {
	case 0:
		if rng.IntN(2) == 0 {
			rel = AddRemove
		}
		return Poisson{Rate: []float64{1 - 0x1p-53, math.Exp2(-rng.Float64() * 1000), 0.01 + 0.98*rng.Float64(), 1, 1e-18}[rng.IntN(5)]}, rel
	case 1:
		of := size()
		take := max(1, int64(float64(of)*math.Exp2(-rng.Float64()*60)))
		if rng.IntN(2) == 0 {
			rel = AddRemove
		}
		return WithoutReplacement{Take: []int64{min(take, of), max(1, of-1)}[rng.IntN(2)], Of: of}, rel
	case 2:
		return WithReplacement{Take: 1 + rng.Int64N(60), Of: 1 + size()>>rng.IntN(60)}, rel
	}
	var m Multistage
	for range 1 + rng.IntN(4) {
		of := 1 + size()>>(20+rng.IntN(42))
		st := Stage{Of: of, Take: min(of, max(1, int64(float64(of)*math.Exp2(-rng.Float64()*20))))}
		if rng.IntN(3) == 0 {
			st.MaxTake = st.Take * int64(1+rng.IntN(3))
		}
		m.Stages = append(m.Stages, st)
	}
	return m, rel
}

// What a draw's budget allows costs no more than the target when it is computed
// forward, not by one unit in the last place where ε is in closed form.
func TestBudgetIsConfirmedForward(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 2))
	for range 4000 {
		s, rel := anyDraw(rng)
		target := Point{
			Epsilon: []float64{1e-300, 1e-17, 1e-9, 0.1, 1, 20, 700, 1e4, 1e9}[rng.IntN(9)] * (0.5 + rng.Float64()),
			Delta:   []float64{0, 0x1p-1022, 1e-300, 1e-18, 1e-6, 0.3, 1 - 0x1p-53}[rng.IntN(7)],
		}
		b, err := SampleBudget(s, rel, target)
		if err != nil {
			t.Fatal(err)
		}
		if !(b.Epsilon > 0) || b.Delta >= 1 {
			continue
		}
		a, err := EpsilonWith(s.With(Approx{Eps: b.Epsilon, Delta: b.Delta}), rel, target.Delta, Options{Methods: []string{"basic"}, Quick: true})
		most := target.Epsilon
		if _, ok := s.(Multistage); ok && target.Delta > 0 {
			most *= 1 + 2e-13 // what the search for ε leaves
		}
		if err != nil || a.Epsilon > most {
			t.Errorf("%#v, %v, target %+v: %+v costs %.17g (%v)", s, rel, target, b, a.Epsilon, err)
		}
	}
}
