package series

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// A world says what a unit may do to the slices: given the differences that the runs so far
// saw (run t sees one for each of periods 0 to t), it lists those that run t may see.
type world func(seen [][]int) [][]int

// vectors lists all vectors of −1, 0 and 1.
func vectors(n int) (all [][]int) {
	all = [][]int{{}}
	for range n {
		var longer [][]int
		for _, v := range all {
			for d := -1; d <= 1; d++ {
				longer = append(longer, append(slices.Clone(v), d))
			}
		}
		all = longer
	}
	return all
}

// only keeps the vectors for which f holds.
func only(all [][]int, f func(v []int) bool) (some [][]int) {
	for _, v := range all {
		if f(v) {
			some = append(some, v)
		}
	}
	return some
}

func count(v []int, of func(x int) bool) (n int) {
	for _, x := range v {
		if of(x) {
			n++
		}
	}
	return n
}

func nonzero(x int) bool { return x != 0 }

// last returns what the last run saw.
func last(seen [][]int) []int {
	if len(seen) == 0 {
		return nil
	}
	return seen[len(seen)-1]
}

// frozen lets a unit be in at most k periods, each of which stays as it is.
func frozen(k int) world {
	return func(seen [][]int) [][]int {
		before := last(seen)
		return only(vectors(len(before)+1), func(v []int) bool {
			return slices.Equal(v[:len(before)], before) && count(v, nonzero) <= k
		})
	}
}

// revised lets a unit be in at most k periods over all runs, each of which may change.
func revised(k int) world {
	return func(seen [][]int) [][]int {
		return only(vectors(len(seen)+1), func(v []int) bool {
			used := make([]int, len(v))
			for _, w := range append(slices.Clone(seen), v) {
				for s, x := range w {
					used[s] |= x * x
				}
			}
			return count(used, nonzero) <= k
		})
	}
}

// moving lets one unit take the place of another one, each in at most k periods.
func moving(k int) world {
	return func(seen [][]int) [][]int {
		before := last(seen)
		return only(vectors(len(before)+1), func(v []int) bool {
			return slices.Equal(v[:len(before)], before) &&
				count(v, func(x int) bool { return x > 0 }) <= k && count(v, func(x int) bool { return x < 0 }) <= k
		})
	}
}

// lookingAhead caps a unit to one period, and a row of a later period pushes out the earlier.
func lookingAhead(seen [][]int) [][]int {
	before := last(seen)
	return only(vectors(len(before)+1), func(v []int) bool {
		kept := slices.Equal(v[:len(before)], before) && v[len(before)] == 0
		pushed := count(v[:len(before)], nonzero) == 0
		return (kept || pushed) && count(v, nonzero) <= 1
	})
}

// late caps a unit to its first period, and a row of an earlier period arrives after it.
func late(seen [][]int) [][]int {
	before := last(seen)
	at := slices.IndexFunc(before, nonzero)
	return only(vectors(len(before)+1), func(v []int) bool {
		now := slices.IndexFunc(v, nonzero)
		kept := slices.Equal(v[:len(before)], before) && v[len(before)] == 0
		return count(v, nonzero) <= 1 && (kept || at < 0 || now >= 0 && now < at)
	})
}

// redrawn caps a unit to one period, which each run chooses anew.
func redrawn(seen [][]int) [][]int {
	return only(vectors(len(seen)+1), func(v []int) bool { return count(v, nonzero) <= 1 })
}

// sigma is the noise of the enumerations, and beyond what it does not fall but for less
// than 1e-80 of all draws.
const (
	sigma  = 1.0
	beyond = 20
)

// mass returns the probability of discrete Gaussian noise z.
func mass(z int) float64 {
	all := 0.0
	for x := -beyond; x <= beyond; x++ {
		all += math.Exp(-float64(x*x) / (2 * sigma * sigma))
	}
	return math.Exp(-float64(z*z)/(2*sigma*sigma)) / all
}

// moment returns Σ P(y)^α·Q(y)^(1−α) for the laws of a whole number with noise, where it is
// larger by d on one side. It is infinite where the sides share no output.
func moment(d, alpha float64) (sum float64) {
	if d != math.Trunc(d) {
		return math.Inf(1)
	}
	for y := -beyond; y <= beyond; y++ {
		sum += math.Pow(mass(y-int(d)), alpha) * math.Pow(mass(y), 1-alpha)
	}
	return sum
}

// charged turns a moment of all outputs into the smallest charge that it agrees with: c for
// which the Rényi divergence of order α is α·c/(2σ²).
func charged(m, alpha float64) float64 { return math.Log(m) / (alpha - 1) / alpha * 2 * sigma * sigma }

// attack returns the smallest charge that is true for a matrix in a world: the largest over
// what an adversary may do in each run after it has read all earlier outputs. The laws of
// later runs do not depend on what was read, so its best answer does not either.
func attack(c [][]float64, w world, draws ...int) float64 {
	const alpha = 2
	known := map[float64]float64{}
	var from func(seen [][]int) float64
	from = func(seen [][]int) float64 {
		run := len(seen)
		if run == len(c) {
			return 1
		}
		most := 0.0
		for _, v := range w(seen) {
			d := 0.0
			for s, x := range v {
				d += c[run][s] * float64(x)
			}
			if _, ok := known[d]; !ok {
				known[d] = moment(d, alpha)
			}
			m := known[d]
			if draws != nil {
				m = math.Pow(m, float64(draws[run]))
			}
			most = max(most, m*from(append(slices.Clone(seen), v)))
		}
		return most
	}
	return charged(from(nil), alpha)
}

func real(m Matrix) [][]float64 {
	c := make([][]float64, m.Periods())
	for t, row := range m.rows {
		for _, x := range row {
			c[t] = append(c[t], float64(x))
		}
	}
	return c
}

// tiny returns a matrix of three periods with small entries of both signs.
func tiny(r *rand.Rand) Matrix {
	rows := make([][]int64, 3)
	for t := range rows {
		for range t {
			rows[t] = append(rows[t], r.Int64N(5)-2)
		}
		rows[t] = append(rows[t], 1+r.Int64N(2))
	}
	m, err := NewMatrix(rows)
	if err != nil {
		panic(err)
	}
	return m
}

// What is charged holds against every neighbour and every adversary, and is the truth for
// up to two periods that stay as they are.
func TestChargeHoldsAgainstEveryAdversary(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 5))
	for range 60 {
		m := tiny(r)
		for _, c := range []struct {
			name  string
			world world
			units Units
			tight bool
		}{
			{"one period", frozen(1), Units{AtMost: 1}, true},
			{"two periods", frozen(2), Units{AtMost: 2}, true},
			{"a life", frozen(3), Units{AtMost: 3}, false},
			{"one period, revised", revised(1), Units{AtMost: 1, Revised: true}, true},
			{"two periods, revised", revised(2), Units{AtMost: 2, Revised: true}, true},
			{"one period that moves", moving(1), Units{AtMost: 2}, false},
			{"two periods that move", moving(2), Units{AtMost: 4}, false},
			// These caps bring a unit into every period over all runs, and the charge says so.
			{"a cap that looks ahead", lookingAhead, Units{AtMost: 3, Revised: true}, false},
			{"a cap and late rows", late, Units{AtMost: 3, Revised: true}, false},
			{"a cap drawn anew", redrawn, Units{AtMost: 3, Revised: true}, false},
		} {
			truth, charge := attack(real(m), c.world), float64(m.Charge(c.units))
			if truth > charge*(1+1e-9) || c.tight && truth < charge*(1-1e-9) {
				t.Fatalf("%v, %s: charged %v, true %v", m, c.name, charge, truth)
			}
		}
		for s := range 3 {
			here := func(seen [][]int) [][]int {
				return only(revised(1)(seen), func(v []int) bool { return count(v, nonzero) == 0 || len(v) > s && v[s] != 0 })
			}
			if truth, charge := attack(real(m), here), float64(m.Column(s)); math.Abs(truth-charge) > 1e-9*charge {
				t.Fatalf("%v, slice %d: charged %v, true %v", m, s, charge, truth)
			}
		}
	}
}

// The same by adding up the probabilities of all outputs, for every strategy whose second and
// third steps depend on the first output, and several orders of the divergence.
func TestChargeHoldsOverAllOutputs(t *testing.T) {
	m := matrix(t, []int64{1}, []int64{-1, 2}, []int64{1, 1, 1})
	const reach = 7 // the noise is beyond it in fewer than 1e-11 of all draws
	tail := 1e-9
	for k, charge := range map[int]float64{1: float64(m.Charge(Units{AtMost: 1})), 2: float64(m.Charge(Units{AtMost: 2}))} {
		for _, alpha := range []float64{1.25, 2, 3} {
			table := map[int]map[int]float64{} // of a difference, of an output
			for d := -8; d <= 8; d++ {
				table[d] = map[int]float64{}
				for y := -reach - 8; y <= reach+8; y++ {
					table[d][y] = math.Pow(mass(y-d), alpha) * math.Pow(mass(y), 1-alpha)
				}
			}
			worst := 0.0
			for _, low := range vectors(3) {
				for _, high := range vectors(3) {
					if low[0] != high[0] || count(low, nonzero) > k || count(high, nonzero) > k {
						continue
					}
					sum := 0.0
					for y0, p0 := range table[low[0]] {
						v := low
						if y0 >= 1 {
							v = high
						}
						p1s, p2s := table[-v[0]+2*v[1]], table[v[0]+v[1]+v[2]]
						for _, p1 := range p1s {
							for _, p2 := range p2s {
								sum += p0 * p1 * p2
							}
						}
					}
					worst = max(worst, charged(sum, alpha))
				}
			}
			if worst > charge+tail || alpha == 2 && worst < charge-1e-6 {
				t.Errorf("%d periods, order %v: charged %v, true %v", k, alpha, charge, worst)
			}
		}
	}
}

// Each of these twins breaks one clause of the rule, and the adversary finds it out. If one
// passed, the enumeration would prove nothing.
func TestBrokenTwinsAreCaught(t *testing.T) {
	steps := matrix(t, []int64{2}, []int64{1, 1}, []int64{1, 1, 1})
	signs := matrix(t, []int64{2}, []int64{2, 2}, []int64{-2, 2, 1})
	capped := matrix(t, []int64{1}, []int64{0, 2}, []int64{2, 0, 1})
	mean := float64(steps.Column(0)+steps.Column(1)+steps.Column(2)) / 3
	slices := float64(steps.Column(0) + steps.Column(1) + steps.Column(2))
	for _, c := range []struct {
		name    string
		claimed float64
		truth   float64
		least   float64
	}{
		{"the mean of the columns' norms", mean, attack(real(steps), frozen(1)), 6},
		{"a matrix that is not whole", 1.25, attack([][]float64{{1}, {0.5, 1}, {0, 0, 1}}, frozen(1)), math.Inf(1)},
		{"a step that is drawn twice", float64(steps.Charge(single)), attack(real(steps), frozen(1), 2, 1, 1), 10},
		{"a cap that looks ahead", float64(capped.Charge(single)), attack(real(capped), lookingAhead), 6},
		{"a cap and late rows", float64(capped.Charge(single)), attack(real(capped), late), 8},
		{"a cap that is drawn anew", float64(capped.Charge(single)), attack(real(capped), redrawn), 9},
		{"a unit that moves", float64(Independent(3).Charge(single)), attack(real(Independent(3)), moving(1)), 2},
		{"revised rows at the price of frozen ones", float64(signs.Charge(Units{AtMost: 2})), attack(real(signs), revised(2)), 36},
		{"slices added up for a life", slices, attack(real(steps), frozen(3)), 17},
	} {
		if c.truth <= c.claimed*(1+1e-9) {
			t.Errorf("%s: claimed %v, and the adversary reaches no more than %v", c.name, c.claimed, c.truth)
		}
		if math.Abs(c.truth-c.least) > 1e-6 {
			t.Errorf("%s: the adversary reaches %v, want %v", c.name, c.truth, c.least)
		}
	}
}

// Intervals from the exact deviations hold what they promise, changes included. A deviation
// that forgets what months share does not.
func TestIntervalsCover(t *testing.T) {
	const (
		months, tries = 12, 20_000
		level         = 1.959964 // of 95 %
		noise         = 40
	)
	rows := slices.Concat(Each("month", months), Sums("quarter", parts(months, 3)...), ToDate("running", Range{0, months}), Change("change", months, 1))
	m := find(t, Question{Periods: months, Rows: rows, Goal: RMS}).Matrix
	es, sds := make([]Estimate, len(rows)), make([]float64, len(rows))
	for i, row := range rows {
		var err error
		if es[i], err = m.Decode(row); err != nil {
			t.Fatal(err)
		}
		sds[i] = es[i].Deviation(noise)
	}
	year := slices.IndexFunc(rows, func(r Row) bool { return r.Kind == "running" && r.Period == months-1 })
	naive := 0.0 // the year's deviation if months shared no noise
	for i := range months {
		naive = math.Hypot(naive, sds[i])
	}
	// A draw falls where a uniform number does among the sums of the weights.
	r := rand.New(rand.NewPCG(31, 6))
	var sums []float64
	all := 0.0
	for z := -10 * noise; z <= 10*noise; z++ {
		all += math.Exp(-float64(z*z) / (2 * noise * noise))
		sums = append(sums, all)
	}
	covered, misled := make([]int, len(rows)), 0
	drawn := make([]*big.Int, months) // the measurements of a table without rows
	for range tries {
		for run := range drawn {
			at, _ := slices.BinarySearch(sums, r.Float64()*all)
			drawn[run] = big.NewInt(int64(at - 10*noise))
		}
		for i, e := range es {
			off, _ := e.Value(drawn).Float64()
			if math.Abs(off) <= level*sds[i] {
				covered[i]++
			}
			if i == year && math.Abs(off) <= level*naive {
				misled++
			}
		}
	}
	// A row's share has deviation 0.00154. It is 6 of them off in 2e-9 of all tries, and there
	// are 39 rows.
	const most = 6 * 0.00154
	for i, n := range covered {
		if share := float64(n) / tries; math.Abs(share-0.95) > most {
			t.Errorf("%s of period %d is covered in %.4f of all tries", rows[i].Kind, rows[i].Period, share)
		}
	}
	if share := float64(misled) / tries; math.Abs(share-0.95) < most {
		t.Errorf("a year whose months share no noise is covered as well: %.4f", share)
	}
}
