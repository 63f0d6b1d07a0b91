package shuffle

import (
	"fmt"
	"math"
	"sync"
)

// ResponseEpsilon brackets the privacy-blanket bound on the epsilon that n shuffled reports of k-ary randomized response have at
// delta. It is smaller than [Epsilon], which holds for any randomizer.
//
// # Contract
//
// Replace-one, n public; every user sends the true category with probability e^eps0/(e^eps0 + k − 1) and each other one with
// 1/(e^eps0 + k − 1), and only the shuffled multiset (the histogram) is seen (P8, P15). Proof: blanket.proof.md.
func ResponseEpsilon(n int64, k int, eps0, delta float64) (Interval, error) {
	if err := checkAll(n, eps0, checkK(k), checkDelta(delta)); err != nil {
		return Interval{}, err
	}
	return bounded(n, func(n int64) Interval { return solve(responseFamily(n, k), eps0, delta) }), nil
}

// ResponseDelta is the same bound at a given epsilon.
//
// # Contract
//
// As for [ResponseEpsilon].
func ResponseDelta(n int64, k int, eps0, eps float64) (Interval, error) {
	if err := checkAll(n, eps0, checkK(k), checkEps(eps)); err != nil {
		return Interval{}, err
	}
	return bounded(n, func(n int64) Interval { return evaluate(responseFamily(n, k), eps0, eps) }), nil
}

// LargestLocalResponse is the largest eps0 of k-ary randomized response for which [ResponseDelta] certifies that n shuffled reports are
// (eps, delta)-differentially private. It is rounded down.
//
// # Contract
//
// As for [ResponseEpsilon].
func LargestLocalResponse(n int64, k int, eps, delta float64) (float64, error) {
	if err := checkAll(n, 0, checkK(k), checkEps(eps), checkDelta(delta)); err != nil {
		return 0, err
	}
	return largest(responseFamily(min(n, maxUsers), k), eps, delta), nil
}

func checkK(k int) error {
	if k < 2 {
		return fmt.Errorf("shuffle: k: must be at least 2 (got %d)", k)
	}
	return nil
}

func responseFamily(n int64, k int) family {
	return func(eps0, delta, slack float64) profile {
		// A report is uniform with probability γ = k/(e^ε0 + k − 1), else the truth.
		inv := math.Exp(-eps0)
		size := 1 + float64(k-1)*inv
		blanket, truth := float64(k)*inv/size, -math.Expm1(-eps0)/size
		if k == 2 {
			// The uniform reports are the fair coins of the clones.
			return newClones(n, blanket, truth, eps0, delta, slack)
		}
		r := &response{k: float64(k), eps0: eps0, truth: truth, target: delta * 1e-7 / float64(k), windows: map[float64]window{}}
		// The window of t is as wide for every m; bound the work of one evaluation by making blocks wider for extreme deltas.
		width := float64(len(r.window(1 + math.Floor(float64(n-1)*blanket)).weights))
		r.blocks, r.rest = lump(binomial{n: float64(n - 1), p: blanket, q: truth}, delta, 2*slack, math.Max(16, maxCells/width))
		return r
	}
}

// maxCells is the number of (m, t) that one evaluation of delta sums.
const maxCells = 600_000

// response is the privacy blanket of k-ary randomized response, k >= 3: the reports that were truthful, other than the victim's, are
// given away; m = 1 + Bin(n−1, γ) remain, all uniform except the victim's. Of those t ~ Bin(m, 2/k) name one of the two categories in which
// the neighbours differ, and j ~ Bin(t, ½) the second of them.
type response struct {
	k, eps0, truth float64
	target         float64
	blocks         []block
	rest           float64
	mu             sync.Mutex
	windows        map[float64]window // of t, by m: they do not depend on eps
}

// delta brackets the divergence at eps.
func (r *response) delta(eps float64) Interval {
	if eps >= r.eps0 {
		return Interval{}
	}
	var out Interval
	for _, b := range r.blocks {
		high := r.given(b.first, eps)
		low := high
		if b.last != b.first {
			low = r.given(b.last, eps)
		}
		out.Upper += b.weight * high.Upper
		out.Lower += b.weight * low.Lower
	}
	// One report alone: p − e^ε·r.
	local := -math.Expm1(eps-r.eps0) / (1 + (r.k-1)*math.Exp(-r.eps0)) * (1 + 4e-16)
	out.Upper = math.Min(out.Upper*(1+margin)+r.rest, local)
	out.Lower = math.Min(out.Lower*(1-margin), out.Upper)
	return out
}

// given is the divergence when m reports are left: Σ_t P[t]·(k·truth/m)·E[(t − j(1+e^ε) − m·(e^ε−1)/(e^ε0−1))_+]. Upper charges what lies
// outside the window of t in full: the summand never exceeds k·truth.
func (r *response) given(m, eps float64) Interval {
	w := r.window(m)
	base := m * math.Exp(eps-r.eps0) * math.Expm1(-eps) / math.Expm1(-r.eps0)
	s := &excess{base: base, slope: 1 + math.Exp(eps)}
	var sum float64
	for i, weight := range w.weights {
		sum += weight * s.at(w.lo+float64(i))
	}
	scale := r.k * r.truth / m
	return Interval{Lower: sum * scale, Upper: sum*scale + w.outside*r.k*r.truth}
}

func (r *response) window(m float64) window {
	r.mu.Lock()
	defer r.mu.Unlock()
	w, ok := r.windows[m]
	if !ok {
		w = binomial{n: m, p: 2 / r.k, q: 1 - 2/r.k}.cover(r.target)
		r.windows[m] = w
	}
	return w
}

// excess evaluates E[(t − base − slope·j)_+], j ~ Bin(t, ½), for t increasing by one: with J = (t − base)/slope it is
// slope·E[(J − j)_+], which follows from the probabilities P[j = j*] and P[j <= j*] at the last j* below J, and these
// are carried from one t to the next.
type excess struct {
	base, slope float64
	t, j        float64 // where pmf and cdf are valid
	pmf, cdf    float64 // relative to scale
	scale       float64 // the probability when they were last computed from scratch
	age         int     // steps since then; 0: never
}

// freshFor is the number of steps after which pmf and cdf are computed from scratch, so that rounding does not build up. From scratch
// costs about √t steps.
func freshFor(t float64) int { return int(math.Max(1024, math.Sqrt(t)/4)) }

func (s *excess) at(t float64) float64 {
	top := (t - s.base) / s.slope // J
	if t <= s.base {
		s.age = 0
		return 0
	}
	j := math.Max(0, math.Ceil(top)-1)
	if j == 0 {
		s.age = 0
		return math.Exp(-t*math.Ln2) * (t - s.base)
	}
	s.move(t, j)
	// E[(J − j)_+] = (t − j*)/2·P[j = j*] − (t/2 − J)·P[j <= j*].
	below := (t/2*(s.slope-2) + s.base) / s.slope
	return s.slope * math.Max(0, (t-j)/2*s.pmf-below*s.cdf) * s.scale
}

// move brings pmf and cdf to (t, j).
func (s *excess) move(t, j float64) {
	const tiny = 1e-280 // below this the recursion could start from a number that has lost its digits
	if s.age == 0 || s.age >= freshFor(t) || t != s.t+1 || j < s.j || j > s.j+1 || s.pmf < tiny {
		s.fresh(t, j)
		return
	}
	s.cdf -= s.pmf / 2
	s.pmf *= t / (t - s.j) / 2
	if j > s.j {
		s.pmf *= (t - s.j) / j
		s.cdf += s.pmf
	}
	s.t, s.j = t, j
	s.age++
}

func (s *excess) fresh(t, j float64) {
	s.t, s.j, s.age = t, j, 1
	s.scale = math.Exp(binomial{n: t, p: 0.5, q: 0.5}.logPMF(j))
	s.pmf, s.cdf = 1, 0
	for i, w := j, 1.0; w > s.cdf*1e-17 && i >= 0; i-- {
		s.cdf += w
		w *= i / (t - i + 1)
	}
}
