package noise

import (
	"errors"
	"math"
	"math/big"
	"math/bits"
	"sync"
)

// Piece is a run of lattice points Lo..Hi, both included. The score of point x is
// Score + Slope·(x − Lo).
type Piece struct {
	Lo, Hi int64
	Score  int64
	Slope  int64
}

// ErrPieces says that the pieces of a Select do not tile one range, or that a score does
// not fit in 64 bits. It may depend on the data: report it as a fixed code only (P20).
var ErrPieces = errors.New("noise: pieces must be non-empty and tile one range of the lattice in ascending order, with scores of 64 bits")

// at is the score of point x. newLevels has seen that it does not overflow.
func (p Piece) at(x int64) int64 { return p.Score + p.Slope*(x-p.Lo) }

// end is the score of the last point; ok is false where it does not fit.
func (p Piece) end() (score int64, ok bool) {
	if p.Slope == 0 {
		return p.Score, true
	}
	hi, lo := bits.Mul64(magnitude(p.Slope), uint64(p.Hi)-uint64(p.Lo))
	if hi > 0 || lo > math.MaxInt64 {
		return 0, false
	}
	rise := int64(lo)
	if p.Slope < 0 {
		rise = -rise
	}
	score = p.Score + rise
	return score, (score >= p.Score) == (rise >= 0)
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

// Select returns a lattice point, drawn by the exponential mechanism.
//
// # Contract
//
// P(x) ∝ e^{−rate·score(x)} for every point x of the pieces, exactly; rate is
// the rational number that the float64 is, positive. The scores are private; the
// range that the pieces tile must be public and hold fewer than 2^63 points.
// With rate = ε/2Δ, Δ the sensitivity of the score, it is ε-bounded-range (P28), and so
// ε-DP; with rate = ε/Δ where the scores move in one direction only. Proof: select.proof.md.
func Select(s *Source, pieces []Piece, rate float64) (int64, error) {
	if s == nil {
		return 0, errNoSource
	}
	if !(rate > 0) || math.IsInf(rate, 0) {
		return 0, errors.New("noise: the rate of a selection must be positive and finite")
	}
	l, err := newLevels(pieces, rate)
	if err != nil {
		return 0, err
	}
	for {
		x, score := l.propose(s)
		if l.accept(s, score) {
			return x, s.err
		}
	}
}

const (
	lastLevel    = 89  // holds all scores further off: e^{−89} < 2^−128
	envelopeBits = 128 // the envelope is a multiple of 2^−128
)

// levels groups the points by m, the whole part of rate·(score − best), at most
// lastLevel.
type levels struct {
	runs     []run
	best     int64
	n        uint64 // rate = n·2^shift
	shift    int
	points   [lastLevel + 1]uint64   // lattice points in each level
	envelope [lastLevel + 1]*big.Int // from e^{−m}·2^envelopeBits up, by less than 2
	sum      [lastLevel + 1]*big.Int // running sums of points·envelope
}

// run is a part of a piece whose points are all in one level.
type run struct {
	Piece
	level int
}

// envelopes is computed once: it depends on nothing.
var envelopes = sync.OnceValue(func() (e [lastLevel + 1]*big.Int) {
	for m := range e {
		_, e[m] = expNeg(uint(m), envelopeBits)
	}
	return e
})

func newLevels(pieces []Piece, rate float64) (*levels, error) {
	if len(pieces) == 0 {
		return nil, ErrPieces
	}
	l := &levels{runs: make([]run, 0, len(pieces)), best: pieces[0].Score}
	f, e := math.Frexp(rate)
	l.n, l.shift = uint64(math.Ldexp(f, 53)), e-53
	var total uint64
	for i, p := range pieces {
		if p.Lo > p.Hi || (i > 0 && (pieces[i-1].Hi == math.MaxInt64 || p.Lo != pieces[i-1].Hi+1)) {
			return nil, ErrPieces
		}
		size := uint64(p.Hi) - uint64(p.Lo) // one less than its points
		if total += size + 1; size >= 1<<63-1 || total >= 1<<63 {
			return nil, errors.New("noise: a selection must be over fewer than 2^63 lattice points")
		}
		end, ok := p.end()
		if !ok {
			return nil, ErrPieces
		}
		l.best = min(l.best, p.Score, end)
	}
	for _, p := range pieces {
		l.cut(p)
	}
	for _, r := range l.runs {
		l.points[r.level] += uint64(r.Hi-r.Lo) + 1
	}
	sum := new(big.Int)
	l.envelope = envelopes()
	for m := range l.points {
		hi := l.envelope[m]
		sum = new(big.Int).Add(sum, new(big.Int).Mul(hi, new(big.Int).SetUint64(l.points[m])))
		l.sum[m] = sum
	}
	return l, nil
}

// cut adds the runs of a piece. Levels are monotone along it, so each run ends where a
// search finds the first point of another level.
func (l *levels) cut(p Piece) {
	for {
		level, hi := l.level(p.Score), p.Hi
		if p.Slope != 0 && l.level(p.at(p.Hi)) != level {
			inside, outside := p.Lo, p.Hi
			for inside+1 < outside {
				mid := inside + (outside-inside)/2
				if l.level(p.at(mid)) == level {
					inside = mid
				} else {
					outside = mid
				}
			}
			hi = inside
		}
		l.runs = append(l.runs, run{Piece{p.Lo, hi, p.Score, p.Slope}, level})
		if hi == p.Hi {
			return
		}
		p.Score, p.Lo = p.at(hi+1), hi+1
	}
}

// excess is score − best, which always fits in a uint64.
func (l *levels) excess(score int64) uint64 { return uint64(score) - uint64(l.best) }

// level is min(floor(rate·(score − best)), lastLevel), exactly.
func (l *levels) level(score int64) int {
	hi, lo := bits.Mul64(l.n, l.excess(score))
	switch {
	case hi == 0 && lo == 0:
		return 0
	case l.shift >= 0:
		return lastLevel // n ≥ 2^52
	case l.shift <= -128:
		return 0 // the product is below 2^117
	case l.shift <= -64:
		lo, hi = hi>>uint(-l.shift-64), 0
	default:
		k := uint(-l.shift)
		lo, hi = lo>>k|hi<<(64-k), hi>>k
	}
	if hi > 0 || lo > lastLevel {
		return lastLevel
	}
	return int(lo)
}

// propose returns a point with probability proportional to its level's envelope,
// and its score.
func (l *levels) propose(s *Source) (x, score int64) {
	u := s.uniformBig(l.sum[lastLevel])
	m := 0
	for u.Cmp(l.sum[m]) >= 0 {
		m++
	}
	skip := s.Uint64n(l.points[m])
	for _, r := range l.runs {
		if r.level != m {
			continue
		}
		if size := uint64(r.Hi-r.Lo) + 1; skip >= size {
			skip -= size
			continue
		}
		x = r.Lo + int64(skip)
		return x, r.at(x)
	}
	return 0, 0 // not reached: the points of the level sum to points[m]
}

// accept is true with probability e^{−rate·(score−best)} over the envelope.
func (l *levels) accept(s *Source, score int64) bool {
	m := l.level(score)
	if !s.belowReal(s.Uint64(), envelopeRatio{m: uint(m), envelope: l.envelope[m]}) {
		return false
	}
	num, den := new(big.Int).SetUint64(l.excess(score)), big.NewInt(1)
	num.Mul(num, new(big.Int).SetUint64(l.n))
	if l.shift >= 0 {
		num.Lsh(num, uint(l.shift))
	} else {
		den.Lsh(den, uint(-l.shift))
	}
	num.Sub(num, new(big.Int).Mul(big.NewInt(int64(m)), den)) // the rest, ≥ 0
	return s.bernoulliExpRat(num, den)
}

// envelopeRatio is e^{−m}·2^envelopeBits / envelope, at most 1.
type envelopeRatio struct {
	m        uint
	envelope *big.Int
}

func (r envelopeRatio) at(prec uint) (lo, hi *big.Int) {
	lo, hi = expNeg(r.m, prec+envelopeBits)
	lo.Quo(lo, r.envelope)
	hi.Add(hi, r.envelope).Sub(hi, big.NewInt(1)).Quo(hi, r.envelope) // rounded up
	return lo, hi
}

// uniformBig returns a uniform integer in [0, n), n > 0, by rejection.
func (s *Source) uniformBig(n *big.Int) *big.Int {
	size := uint(new(big.Int).Sub(n, big.NewInt(1)).BitLen())
	for {
		u := new(big.Int)
		for have := uint(0); have < size; have += 64 {
			u.Lsh(u, 64).Or(u, new(big.Int).SetUint64(s.Uint64()))
		}
		if u.Rsh(u, (64-size%64)%64); u.Cmp(n) < 0 {
			return u
		}
	}
}

// expNeg returns lo ≤ e^{−m}·2^prec ≤ hi with hi − lo ≤ 3, for m up to 2^16.
func expNeg(m uint, prec uint) (lo, hi *big.Int) {
	if m == 0 {
		return pow2(prec), pow2(prec)
	}
	w := prec + 64
	lo, hi = expNeg1(w)
	// Powers of the bounds bound the power; the error grows to at most m·2 units
	// of 2^-w, far below one unit of 2^-prec.
	return powDown(lo, m, w, prec), powUp(hi, m, w, prec)
}

// powDown is floor((x/2^w)^m·2^prec).
func powDown(x *big.Int, m, w, prec uint) *big.Int {
	p := new(big.Int).Exp(x, new(big.Int).SetUint64(uint64(m)), nil)
	return p.Rsh(p, w*m-prec)
}

// powUp is floor((x/2^w)^m·2^prec) + 1.
func powUp(x *big.Int, m, w, prec uint) *big.Int {
	return new(big.Int).Add(powDown(x, m, w, prec), big.NewInt(1))
}

// expNeg1 returns lo ≤ e^{−1}·2^w ≤ hi with hi − lo ≤ 2.
func expNeg1(w uint) (lo, hi *big.Int) {
	// Σ (−1)^k/k! over k ≤ n, as p/n! with p ← p·k + (−1)^k: the partial sums lie
	// above e^{−1} for even n, below for odd n, and differ from it by under 1/n!.
	p, f := big.NewInt(0), big.NewInt(1)
	for k := int64(2); ; k++ {
		f.Mul(f, big.NewInt(k))
		p.Mul(p, big.NewInt(k))
		if k%2 == 1 {
			p.Sub(p, big.NewInt(1))
			if f.BitLen() > int(w)+1 { // n! > 2^w, n odd
				lo = new(big.Int).Lsh(p, w)
				lo.Quo(lo, f)
				return lo, new(big.Int).Add(lo, big.NewInt(2))
			}
			continue
		}
		p.Add(p, big.NewInt(1))
	}
}
