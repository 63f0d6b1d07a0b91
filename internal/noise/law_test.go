package noise

import (
	"math"
	"math/bits"
	"testing"
)

// falseAlarm is the probability with which each statistical test of this
// package fails although the sampler is right.
const falseAlarm = 1e-6

// checkCells compares counts with the exact probabilities of their cells.
//
// The count of one cell is Bin(n, p). By Chernoff's bound (exact for every n),
// P(n·KL(count/n ‖ p) ≥ c) ≤ 2·e^{−c}, one e^{−c} for each side. With
// c = ln(2·cells/falseAlarm), the union over the cells is below falseAlarm.
func checkCells(t *testing.T, name string, n int, counts []int, probs []float64) {
	t.Helper()
	limit := math.Log(2 * float64(len(probs)) / falseAlarm)
	for i, p := range probs {
		q := float64(counts[i]) / float64(n)
		if stat := float64(n) * kl(q, p); !(stat <= limit) {
			t.Errorf("%s: cell %d: %d of %d, expected %.1f (statistic %.1f > %.1f)",
				name, i, counts[i], n, p*float64(n), stat, limit)
		}
	}
}

// kl is the divergence of a coin of q from one of p.
func kl(q, p float64) float64 {
	term := func(a, b float64) float64 {
		if a == 0 {
			return 0
		}
		return a * math.Log(a/b)
	}
	return term(q, p) + term(1-q, 1-p)
}

// explore walks through every sequence of choices that draw makes, down to
// sequences less likely than prune, and returns the exact mass of each result
// and the mass left unexplored.
func explore(prune float64, draw func(*Source) int64) (mass map[int64]float64, rest float64) {
	type cut struct{}
	mass = map[int64]float64{}
	var path, fan []uint64 // the choices of this run, and how many each had
	for {
		depth, prob := 0, 1.0
		s := NewScript(func(n uint64) uint64 {
			if n == 0 {
				panic("a raw word cannot be enumerated")
			}
			prob /= float64(n)
			if prob < prune {
				// Count this node's whole share, not the one branch.
				prob *= float64(n)
				panic(cut{})
			}
			if depth == len(path) {
				path, fan = append(path, 0), append(fan, n)
			}
			depth++
			return path[depth-1]
		})
		func() {
			defer func() {
				switch r := recover(); r.(type) {
				case nil:
				case cut:
					rest += prob
				default:
					panic(r)
				}
			}()
			x := draw(s)
			mass[x] += prob
		}()
		path, fan = path[:depth], fan[:depth]
		for len(path) > 0 && path[len(path)-1]+1 == fan[len(fan)-1] {
			path, fan = path[:len(path)-1], fan[:len(fan)-1]
		}
		if len(path) == 0 {
			return mass, rest
		}
		path[len(path)-1]++
	}
}

// checkExplored holds the explored masses against the exact law: each lies below
// its probability, and what is missing is no more than what was not explored.
func checkExplored(t *testing.T, name string, mass map[int64]float64, rest, maxRest float64, law func(int64) float64) {
	t.Helper()
	const rounding = 1e-9
	if rest > maxRest {
		t.Errorf("%s: %.3g of the mass was not explored", name, rest)
	}
	for x, m := range mass {
		if p := law(x); m > p+rounding || m < p-rest-rounding {
			t.Errorf("%s: P(%d) is in [%.9f, %.9f], the law says %.9f", name, x, m, m+rest, p)
		}
	}
}

// words makes a tape of 64-bit words.
func words(w ...uint64) *Source {
	var b []byte
	for _, x := range w {
		for i := range 8 {
			b = append(b, byte(x>>(8*i)))
		}
	}
	return NewTape(b)
}

// choice returns a word that Uint64n(n) maps to j without rejection.
func choice(j, n uint64) uint64 {
	q, r := bits.Div64(j, 0, n) // j·2^64/n
	if r > 0 {
		q++
	}
	// One more for each word that the rejection of low halves could skip: none,
	// or one, as a low half grows by n with each word.
	if _, lo := bits.Mul64(q, n); lo < -n%n {
		q++
	}
	return q
}

func newSourceT(t testing.TB) *Source {
	t.Helper()
	s, err := NewSource()
	if err != nil {
		t.Fatal(err)
	}
	return s
}
