package privacy

import (
	"fmt"
	"math"
	"testing"
)

// epsilons at which every design is compared.
var epsilons = []float64{0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.4, 2, 3}

// scenario is a design as enumerated and as the calculus sees it.
type scenario struct {
	name   string
	rel    Relation
	domain []int
	size   int // records of the larger data set
	with   func(inner Event) Event
	draws  func(n int) []outcome // for a population of n records
	mechs  []enumerated
}

// neighbours calls visit for every pair of neighbouring data sets.
func (s scenario) neighbours(visit func(a, b []int, na, nb int)) {
	for _, d := range tables(s.size, s.domain) {
		if s.rel == AddRemove {
			// Removing the last record: the designs are symmetric in the records,
			// except where the scenario fixes which record leaves.
			visit(d, d[:s.size-1], s.size, s.size-1)
			continue
		}
		for i := range d {
			for _, v := range s.domain {
				if v <= d[i] {
					continue
				}
				b := append([]int{}, d...)
				b[i] = v
				visit(d, b, s.size, s.size)
			}
		}
	}
}

// truth is the exact profile of a scenario at the epsilons.
func (s scenario) truth(m enumerated) []float64 {
	worst := make([]float64, len(epsilons))
	designs := map[int][]outcome{}
	draws := func(n int) []outcome {
		if designs[n] == nil {
			designs[n] = s.draws(n)
		}
		return designs[n]
	}
	outputs := map[string][]float64{}
	on := func(d []int, n int) []float64 {
		k := fmt.Sprint(n, d)
		if outputs[k] == nil {
			outputs[k] = m.on(draws(n), d)
		}
		return outputs[k]
	}
	s.neighbours(func(a, b []int, na, nb int) {
		p, q := on(a, na), on(b, nb)
		for i, e := range epsilons {
			worst[i] = math.Max(worst[i], hockeyStick(p, q, e))
		}
	})
	return worst
}

var (
	signed   = []int{-1, 0, 1}
	binary01 = []int{0, 1}
	signedS  = Sensitivity{AddRemove: 1, ReplaceOne: 2}
	bitsS    = Sensitivity{AddRemove: 1, ReplaceOne: 1}
	ratio07  = 1 / 0.7
	standard = []enumerated{
		discreteLaplaceSum(ratio07, signedS), discreteLaplaceSum(3, signedS), countingBit(1), countingBit(.3), leakyBit(.8, .02), twoSums(2, signedS),
	}
	standardBits = []enumerated{
		discreteLaplaceSum(ratio07, bitsS), discreteLaplaceSum(2, bitsS), countingBit(1), leakyBit(.8, .02), twoSums(2, bitsS),
	}
)

func stages(s ...Stage) func(Event) Event {
	return func(e Event) Event { return Multistage{Stages: s, Event: e} }
}

// frames for the multistage scenarios.
func framed(take int, sizes, takes []int) func(int) []outcome {
	return func(int) []outcome {
		first := 0
		return frame(&first, take, sizes, takes).draws()
	}
}

func scenarios() []scenario {
	poisson := func(q float64) func(Event) Event { return func(e Event) Event { return Poisson{q, e} } }
	fixed := func(n, of int64) func(Event) Event {
		return func(e Event) Event { return WithoutReplacement{n, of, e} }
	}
	s := []scenario{
		{"poisson .3", AddRemove, signed, 5, poisson(.3), func(n int) []outcome { return poissonDesign(equalRates(n, .3)...) }, standard},
		{"poisson .8", AddRemove, signed, 4, poisson(.8), func(n int) []outcome { return poissonDesign(equalRates(n, .8)...) }, standard},
		{"poisson .3", ReplaceOne, signed, 5, poisson(.3), func(n int) []outcome { return poissonDesign(equalRates(n, .3)...) }, standard},
		{"poisson .8", ReplaceOne, signed, 4, poisson(.8), func(n int) []outcome { return poissonDesign(equalRates(n, .8)...) }, standard},
		// Unit-specific public rates amplify like the largest; the unit that leaves
		// is the last, which has it.
		{"poisson, own rates up to .5", AddRemove, signed, 4, poisson(.5), func(n int) []outcome { return poissonDesign([]float64{.1, .2, .3, .5}[:n]...) }, standard},
		{"2 of 4", ReplaceOne, signed, 4, fixed(2, 4), func(n int) []outcome { return fixedDesign(2, n) }, standard},
		{"3 of 5", ReplaceOne, signed, 5, fixed(3, 5), func(n int) []outcome { return fixedDesign(3, n) }, standard},
		{"1 of 6", ReplaceOne, signed, 6, fixed(1, 6), func(n int) []outcome { return fixedDesign(1, n) }, standard},
		{"2 of at least 4", AddRemove, signed, 5, fixed(2, 4), func(n int) []outcome { return fixedDesign(2, n) }, standard},
		{"3 of at least 3", AddRemove, signed, 4, fixed(3, 3), func(n int) []outcome { return fixedDesign(3, n) }, standard},
		{"3 draws of 4", ReplaceOne, signed, 4, func(e Event) Event { return WithReplacement{3, 4, e} }, func(n int) []outcome { return multisetDesign(3, n) }, standard},
		{"2 draws of 5", ReplaceOne, signed, 5, func(e Event) Event { return WithReplacement{2, 5, e} }, func(n int) []outcome { return multisetDesign(2, n) }, standard},
		{"4 draws of 2", ReplaceOne, signed, 2, func(e Event) Event { return WithReplacement{4, 2, e} }, func(n int) []outcome { return multisetDesign(4, n) }, standard},
		// Stratified: 1 of 2 and 2 of 3 records, the rate is 2/3.
		{"strata 1 of 2, 2 of 3", ReplaceOne, signed, 5, fixed(2, 3), func(int) []outcome {
			first := 0
			return frame(&first, 2, []int{2, 3}, []int{1, 2}).draws()
		}, standard},
	}
	return append(s, stagedScenarios()...)
}

func stagedScenarios() []scenario {
	three := func(int) []outcome { // 1 of 2 units, 1 of 2 sub-units, 1 of 2 records
		i := -1
		next := func() *unit { i++; return record(i) }
		sub := func() *unit { return cluster(1, next(), next()) }
		return cluster(1, cluster(1, sub(), sub()), cluster(1, sub(), sub())).draws()
	}
	threeOfTwo := func(int) []outcome { // 1 of 2 units, 2 of 2 sub-units, 1 of 2 records
		i := -1
		next := func() *unit { i++; return record(i) }
		sub := func() *unit { return cluster(1, next(), next()) }
		return cluster(1, cluster(2, sub(), sub()), cluster(2, sub(), sub())).draws()
	}
	sizes := func(scale float64) []enumerated { return []enumerated{sizedSum(scale, 1)} }
	return []scenario{
		{"1 of 2 clusters, 2 of 3", ReplaceOne, signed, 6, stages(Stage{1, 2, 0}, Stage{2, 3, 0}), framed(1, []int{3, 3}, []int{2, 2}), standard},
		{"1 of 2 clusters, all 3", ReplaceOne, binary01, 6, stages(Stage{1, 2, 0}, Stage{3, 3, 0}), framed(1, []int{3, 3}, []int{3, 3}), standardBits},
		{"1 of 3 clusters, 1 of 2", ReplaceOne, signed, 6, stages(Stage{1, 3, 0}, Stage{1, 2, 0}), framed(1, []int{2, 2, 2}, []int{1, 1, 1}), standard},
		{"2 of 3 clusters, 1 of 2", ReplaceOne, signed, 6, stages(Stage{2, 3, 0}, Stage{1, 2, 0}), framed(2, []int{2, 2, 2}, []int{1, 1, 1}), standard},
		{"2 of 2 clusters, 1 of 3", ReplaceOne, signed, 6, stages(Stage{2, 2, 0}, Stage{1, 3, 0}), framed(2, []int{3, 3}, []int{1, 1}), standard},
		{"1 of 2 clusters of 2 and 5, 2 each", ReplaceOne, binary01, 7, stages(Stage{1, 2, 0}, Stage{2, 2, 0}), framed(1, []int{2, 5}, []int{2, 2}), standardBits},
		{"1 of 2 clusters of 2 and 4, 1 each", ReplaceOne, signed, 6, stages(Stage{1, 2, 0}, Stage{1, 2, 0}), framed(1, []int{2, 4}, []int{1, 1}), standard},
		{"1 of 2 clusters, 1 of 2 and 4 of 5", ReplaceOne, binary01, 7, stages(Stage{1, 2, 0}, Stage{4, 5, 4}), framed(1, []int{2, 5}, []int{1, 4}), standardBits},
		{"1 of 2 clusters, 1 of 1 and 3 of 6", ReplaceOne, binary01, 7, stages(Stage{1, 2, 0}, Stage{1, 1, 3}), framed(1, []int{1, 6}, []int{1, 3}), standardBits},
		{"1 of 2 clusters, 1 of 2 and 4 of 5, size shown", ReplaceOne, binary01, 7, stages(Stage{1, 2, 0}, Stage{4, 5, 4}), framed(1, []int{2, 5}, []int{1, 4}), sizes(2)},
		{"2 of 2 strata, 1 of 2 and 4 of 5, size shown", ReplaceOne, binary01, 7, stages(Stage{2, 2, 0}, Stage{4, 5, 4}), framed(2, []int{2, 5}, []int{1, 4}), sizes(2)},
		{"three stages of 1 of 2", ReplaceOne, binary01, 8, stages(Stage{1, 2, 0}, Stage{1, 2, 0}, Stage{1, 2, 0}), three, standardBits},
		{"three stages, 1, 2, 1 of 2", ReplaceOne, binary01, 8, stages(Stage{1, 2, 0}, Stage{2, 2, 0}, Stage{1, 2, 0}), threeOfTwo, standardBits},
	}
}

// No charged delta lies below the truth, for any design, mechanism, neighbour and direction. The log says how tight each is: the
// largest ratio of charged to true delta, and the share of epsilons at which they agree to 0.1 %.
func TestNoChargeBelowTheTruth(t *testing.T) {
	for k, s := range scenarios() {
		for _, m := range s.mechs {
			e := s.with(m.event)
			truth := s.truth(m)
			loosest, tight, n := 1.0, 0, 0
			for i, eps := range epsilons {
				// Distributions cost milliseconds each: at a few epsilons they must do.
				o := Options{Methods: []string{"basic"}}
				if i == 4 && (!testing.Short() || k%12 == 0) {
					o = Options{}
				}
				a, err := DeltaWith(e, s.rel, eps, o)
				if err != nil {
					t.Fatalf("%s, %s: %v", s.name, m.name, err)
				}
				for method, b := range a.Methods {
					if b.Delta < truth[i]-1e-12 {
						t.Errorf("%s, %s, %s: %s charges %.9g at epsilon %g, the truth is %.9g", s.name, s.rel, m.name, method, b.Delta, eps, truth[i])
					}
				}
				if truth[i] > a.Upper+1e-12 || attained(m) && a.Lower > truth[i]*(1+1e-6)+1e-12 {
					t.Errorf("%s, %s, %s at epsilon %g: [%g, %g] misses the truth %g", s.name, s.rel, m.name, eps, a.Lower, a.Upper, truth[i])
				}
				if truth[i] > 1e-12 {
					n++
					r := a.Delta / truth[i]
					loosest = math.Max(loosest, r)
					if r < 1.001 {
						tight++
					}
				}
			}
			t.Logf("%-48s %-11s %-24s tight at %2d of %2d, loosest %6.3f", s.name, s.rel, m.name, tight, n, loosest)
		}
	}
}

// attained says whether the enumerated mechanism is the worst one that its event describes, so that a lower bound applies to it: noise
// on a sum whose values fill the domain. Clamping loses nothing, the likelihood ratio is constant where it cuts.
func attained(m enumerated) bool {
	return m.name == "discrete Laplace sum" || m.name == "two sums of one draw"
}
