package keys

import (
	"fmt"
	"math"
	"testing"

	"github.com/dprelease/dprelease/privacy"
)

// population holds the number of units that have each of three keys.
type population [3]int64

// law is the law of what a selection publishes of a population: for each key nothing, or its noisy number.
func law(r Rule, p population) []float64 {
	out := []float64{1}
	for _, n := range p {
		var next []float64
		for _, y := range published(r, n) {
			for _, x := range out {
				next = append(next, x*y)
			}
		}
		out = next
	}
	return out
}

// published is the law of what is published of one key.
func published(r Rule, n int64) []float64 {
	t, ok := r.(*Threshold)
	if !ok {
		p := r.Chance(n)
		return []float64{1 - p, p}
	}
	const reach = 12
	out := make([]float64, reach+1)
	if out[0] = 1; n == 0 {
		return out
	}
	for i := int64(1); i <= reach; i++ {
		p := t.exactTail(t.at + i - n)
		if i < reach {
			p -= t.exactTail(t.at + i + 1 - n)
		}
		out[i] = p
		out[0] -= p
	}
	return out
}

// populations are all that up to a number of units make, each with one of the sets of keys.
func populations(units int, sets [][]int) map[population]bool {
	all := map[population]bool{{}: true}
	for range units {
		for p := range all {
			for _, s := range sets {
				all[with(p, s)] = true
			}
		}
	}
	return all
}

func with(p population, set []int) population {
	for _, key := range set {
		p[key]++
	}
	return p
}

// No pair of neighbouring populations tells a selection's outcome apart by more than the target, for rules of every kind
// and both relations. The twins must be caught: a rule for units with one key where they have two, one for add-remove under
// replace-one, and a rule of half the price.
func TestRulesAgainstEnumeration(t *testing.T) {
	sets := map[int64][][]int{1: {{}, {0}, {1}, {2}}, 2: {{}, {0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}}}
	const eps, delta = .7, .08
	caught := map[string]int{}
	for _, rel := range []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne} {
		for _, keys := range []int64{1, 2} {
			for name, make := range map[string]func(Want) (Rule, error){"geometric": geometricRule, "laplace": laplaceRule, "gaussian": gaussianRule, "truncated": truncatedRule} {
				if testing.Short() && name != "geometric" {
					continue
				}
				under := []privacy.Relation{rel}
				for twin, w := range map[string]Want{
					"": want(eps, delta, keys, under), "half the price": want(2*eps, 2*delta, keys, under),
					"one key": want(eps, delta, 1, under), "add-remove": want(eps, delta, keys, addRemove),
				} {
					if twin == "one key" && keys == 1 || twin == "add-remove" && rel == privacy.AddRemove {
						continue
					}
					r, err := make(w)
					if err != nil || r == nil {
						t.Fatal(name, err)
					}
					laws := map[population][]float64{}
					of := func(p population) []float64 {
						if laws[p] == nil {
							laws[p] = law(r, p)
						}
						return laws[p]
					}
					worst := 0.0
					for p := range populations(3, sets[keys]) {
						for _, s := range sets[keys] {
							others := sets[keys][:1]
							if rel == privacy.ReplaceOne {
								others = sets[keys]
							}
							for _, o := range others {
								worst = math.Max(worst, distance(of(with(p, s)), of(with(p, o)), eps))
							}
						}
					}
					what := fmt.Sprintf("%s of %d keys under %v", name, keys, rel)
					switch {
					case twin == "" && worst > delta*(1+1e-9):
						t.Errorf("%s: δ(%g) is %g, not %g", what, eps, worst, delta)
					case twin != "" && worst > delta*(1+1e-3):
						caught[twin]++
					}
				}
			}
		}
	}
	for _, twin := range []string{"half the price", "one key", "add-remove"} {
		if caught[twin] < 1 {
			t.Errorf("%q was caught %d times only", twin, caught[twin])
		}
	}
	t.Log(caught)
}

// distance is δ(ε), the larger of both directions.
func distance(p, q []float64, eps float64) float64 {
	var a, b float64
	e := math.Exp(eps)
	for i := range p {
		a += math.Max(0, p[i]-e*q[i])
		b += math.Max(0, q[i]-e*p[i])
	}
	return math.Max(a, b)
}
