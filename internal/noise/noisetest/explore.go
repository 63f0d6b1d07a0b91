package noisetest

// Explore walks through every sequence of choices that draw makes, down to
// sequences less likely than prune. It returns the mass of each result, and the
// mass left unexplored: the probability of x lies in [mass[x], mass[x] + rest].
//
// draw makes its choices by calling choose, where choose(n) stands for a uniform
// integer in [0, n). A call of choose(0), 64 raw bits, panics: those cannot be
// enumerated.
func Explore(prune float64, draw func(choose func(n uint64) uint64) int64) (mass map[int64]float64, rest float64) {
	type cut struct{}
	mass = map[int64]float64{}
	var path, fan []uint64 // the choices of this run, and how many each had
	for {
		depth, prob := 0, 1.0
		choose := func(n uint64) uint64 {
			if n == 0 {
				panic("noisetest: raw words cannot be enumerated")
			}
			if prob/float64(n) < prune {
				panic(cut{}) // with the whole share of this node
			}
			prob /= float64(n)
			if depth == len(path) {
				path, fan = append(path, 0), append(fan, n)
			}
			depth++
			return path[depth-1]
		}
		func() {
			defer func() {
				if r := recover(); r != nil {
					if _, ok := r.(cut); !ok {
						panic(r)
					}
					rest += prob
				}
			}()
			x := draw(choose)
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

// CheckExplored holds explored masses against the exact law: each must lie below
// its probability, by no more than what was not explored; and at most maxRest may
// be unexplored.
func CheckExplored(t T, name string, mass map[int64]float64, rest, maxRest float64, law func(int64) float64) {
	t.Helper()
	const rounding = 1e-9 // of at most 1e7 float additions
	if rest > maxRest {
		t.Errorf("%s: %.3g of the mass was not explored", name, rest)
	}
	if len(mass) == 0 {
		t.Errorf("%s: no result was reached", name)
	}
	for x, m := range mass {
		if p := law(x); m > p+rounding || m < p-rest-rounding {
			t.Errorf("%s: P(%d) is in [%.9f, %.9f], the law says %.9f", name, x, m, m+rest, p)
		}
	}
}
