package series

import (
	"math"
	"slices"
)

// Units says in which periods a unit can have rows, and what may happen to them.
type Units struct {
	// AtMost bounds the periods in which one unit counts, over all runs; at least 1.
	AtMost int
	// Apart is the least distance of two periods of one unit: 1 where all may be in a row, 12 for
	// a survey once a year. 0 means 1.
	Apart int
	// Revised says that a slice may have other rows in a later run than in an earlier one.
	Revised bool
}

// Up to mostSets sets of periods are tried one by one.
const mostSets = 50_000

// Charge returns the whole number c for which the whole series costs ρ = Δ²·c/(2σ²).
//
// # Contract
//
// Each run adds fresh discrete Gaussian noise of parameter σ to each coordinate of what it
// measures, and Δ bounds the L2 norm by which one unit changes the vector of one period.
// Under u.AtMost periods for each unit, u.Apart apart, the outputs of all runs together cost
// at most ρ, also where what happens in a period depends on the outputs of earlier ones. A
// slice has the same rows in every run, except with u.Revised. A unit that is in other
// periods in a neighbour counts as one that is in the periods of both.
//
// Proof: series.proof.md. // P31
func (m Matrix) Charge(u Units) int64 { return charge(m.rows, m.Periods(), u) }

// charge returns the charge of a matrix with n columns and any rows.
func charge(rows [][]int64, n int, u Units) int64 {
	k, apart := u.within(n)
	return worst(gram(rows, n, u.Revised), k, apart)
}

// Column returns what Charge returns for a unit that has rows in period s only: what the
// slice of that period is debited.
//
// # Contract
//
// As for Charge, for a unit whose only period is s, also with revised rows.
// Proof: series.proof.md. // P31
func (m Matrix) Column(s int) (c int64) {
	for t := s; t < len(m.rows); t++ {
		c += m.rows[t][s] * m.rows[t][s]
	}
	return c
}

// Life returns what Charge returns for a unit that is in every period. It is not the sum of
// the columns.
//
// # Contract
//
// As for Charge, with every period in the place of u.AtMost. Proof: series.proof.md. // P31
func (m Matrix) Life(revised bool) int64 {
	return m.Charge(Units{AtMost: m.Periods(), Apart: 1, Revised: revised})
}

// within returns in how many of n periods a unit can be, and how far apart they are.
func (u Units) within(n int) (k, apart int) {
	apart = max(u.Apart, 1)
	return max(min(u.AtMost, (n+apart-1)/apart), 1), apart
}

// gram returns the absolute values of CᵀC, or |C|ᵀ|C| where rows may be revised, for the
// rows of C, which has n columns.
func gram(rows [][]int64, n int, revised bool) [][]int64 {
	g := make([][]int64, n)
	for s := range g {
		g[s] = make([]int64, n)
	}
	for _, row := range rows {
		for s, a := range row {
			if a == 0 {
				continue
			}
			for r := 0; r <= s; r++ {
				p := a * row[r]
				if revised {
					p = max(p, -p)
				}
				g[s][r] += p
			}
		}
	}
	for s := range g {
		for r := 0; r <= s; r++ {
			g[s][r] = max(g[s][r], -g[s][r])
			g[r][s] = g[s][r]
		}
	}
	return g
}

// worst returns an upper bound of Σ g[s][r] over s, r in S, for the sets S of at most k
// periods that are apart. It is the maximum itself where the sets are few enough to try.
//
// # Contract
//
// g is symmetric and has no negative entry. Proof: series.proof.md.
func worst(g [][]int64, k, apart int) int64 {
	if k == 1 {
		return pick(diagonal(g), 1, 1)
	}
	if sets(len(g), k, apart) <= mostSets {
		return search(g, nil, 0, 0, k, apart)
	}
	return bounded(g, k, apart)
}

// bounded returns an upper bound of worst, without trying sets: the best sets for each of
// its periods, whether they go together or not.
func bounded(g [][]int64, k, apart int) int64 {
	rows := make([]int64, len(g))
	for s := range g {
		rows[s] = pickWith(g[s], s, k, apart)
	}
	return pick(rows, k, apart)
}

// search returns the largest total over the sets that add periods from `from` on to those
// chosen, whose own total is `total`.
func search(g [][]int64, chosen []int, from int, total int64, k, apart int) int64 {
	best := total
	if len(chosen) == k {
		return best
	}
	for s := from; s < len(g); s++ {
		more := g[s][s]
		for _, r := range chosen {
			more += 2 * g[s][r]
		}
		best = max(best, search(g, append(chosen, s), s+apart, total+more, k, apart))
	}
	return best
}

// sets counts the sets of 1 to k of n periods that are apart, and stops counting above mostSets.
func sets(n, k, apart int) (count float64) {
	for j := 1; j <= k && count <= mostSets; j++ {
		free := n - (j-1)*(apart-1)
		if free < j {
			break
		}
		up, _ := math.Lgamma(float64(free + 1))
		down, _ := math.Lgamma(float64(j + 1))
		rest, _ := math.Lgamma(float64(free - j + 1))
		count += math.Round(math.Exp(up - down - rest))
	}
	return count
}

func diagonal(g [][]int64) []int64 {
	d := make([]int64, len(g))
	for s := range g {
		d[s] = g[s][s]
	}
	return d
}

// pick returns the largest sum of at most k of the values, which are not negative, whose
// places are apart.
func pick(values []int64, k, apart int) int64 {
	if apart <= 1 {
		sorted := slices.Clone(values)
		slices.Sort(sorted)
		sum := int64(0)
		for i := 0; i < k && i < len(sorted); i++ {
			sum += sorted[len(sorted)-1-i]
		}
		return sum
	}
	return picks(values, k, apart)[len(values)][k]
}

// picks returns in [i][j] the largest sum of at most j of the first i values whose places
// are apart.
func picks(values []int64, k, apart int) [][]int64 {
	best := make([][]int64, len(values)+1)
	best[0] = make([]int64, k+1)
	for i, v := range values {
		best[i+1] = slices.Clone(best[i])
		before := best[max(i+1-apart, 0)]
		for j := 1; j <= k; j++ {
			best[i+1][j] = max(best[i+1][j], before[j-1]+v)
		}
	}
	return best
}

// pickWith returns the largest sum of at most k of the values whose places are apart, the
// one at place s among them.
func pickWith(values []int64, s, k, apart int) int64 {
	if apart <= 1 {
		others := slices.Delete(slices.Clone(values), s, s+1)
		return values[s] + pick(others, k-1, 1)
	}
	left, right := values[:max(s-apart+1, 0)], []int64(nil)
	if s+apart < len(values) {
		right = values[s+apart:]
	}
	below, above := picks(left, k-1, apart)[len(left)], picks(right, k-1, apart)[len(right)]
	most := int64(0)
	for j := range k {
		most = max(most, below[j]+above[k-1-j])
	}
	return values[s] + most
}
