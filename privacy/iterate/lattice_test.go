package iterate

import (
	"math"
	"math/rand/v2"
	"testing"
)

// toy is projected noisy gradient descent in one dimension on a coarse lattice, as a host and a mechanism carry it out: the sum of the
// gradients of a batch is rounded to whole numbers of h, noise on whole numbers is added, and the iterate is a whole number of the grid
// that the noise moves it on. The law of the last iterate is computed, not sampled. The noise is a Gaussian rounded to whole numbers
// (rounding.proof.md).
type toy struct {
	params Params
	fine   int     // how many steps of the iterate's grid make one of the noise's: 1, or the argument fails
	h      float64 // of the sum of a batch
	reach  int     // the iterate lies within ±reach steps of its grid
	slope  float64 // of the quadratic losses; of the steepest part of the others
	knee   float64 // where the gradient of a loss stops rising, 0 for quadratic losses
	l2     float64
}

func (t toy) gradient(w, x float64) float64 {
	g := t.slope * (w - x)
	if t.knee > 0 {
		g = math.Max(-t.knee, math.Min(t.knee, g))
	}
	return g
}

// masses of a Gaussian of the given variance, in units, rounded to whole numbers; those beyond 60 are far below all that is compared.
func rounded(variance float64) []float64 {
	out := make([]float64, 121)
	s := math.Sqrt(2 * variance)
	for i := range out {
		k := math.Abs(float64(i - 60))
		if k == 0 {
			out[i] = math.Erf(0.5 / s)
			continue
		}
		out[i] = (math.Erfc((k-0.5)/s) - math.Erfc((k+0.5)/s)) / 2
	}
	return out
}

// law is that of the last iterate, over the grid.
func (t toy) law(records []float64) []float64 {
	p := t.params
	b := int(p.Batch)
	steps := int(p.batches() * max(p.Epochs, 1))
	if p.Kind.full() {
		steps = int(p.Steps)
	}
	grid := p.Eta * t.h / float64(b) / float64(t.fine)
	now := make([]float64, 2*t.reach+1)
	now[t.reach] = 1
	for k := range steps {
		share := 1.0
		if p.Early > 0 && k < steps-1 {
			share = p.Early
		}
		unit := share * p.Sigma * float64(b) / t.h
		noise := rounded(unit * unit)
		from := k % int(p.batches()) * b
		batch := records[from:min(len(records), from+b)]
		next := make([]float64, len(now))
		for i, mass := range now {
			if mass == 0 {
				continue
			}
			w := float64(i-t.reach) * grid
			sum := 0.0
			for _, x := range batch {
				sum += t.gradient(w, x)
			}
			q := int(math.Round(sum / t.h))
			i -= int(math.Round(p.Eta * t.l2 * w / grid))
			for n, m := range noise {
				next[max(0, min(2*t.reach, i-(q+n-60)*t.fine))] += mass * m
			}
		}
		now = next
	}
	return now
}

// beyond is the largest excess of the hockey stick over the profile of mu, in either direction.
func beyond(p, q []float64, mu float64) float64 {
	worst := math.Inf(-1)
	for eps := 0.0; eps < 6; eps += 0.25 {
		var there, back float64
		for i := range p {
			there += math.Max(0, p[i]-math.Exp(eps)*q[i])
			back += math.Max(0, q[i]-math.Exp(eps)*p[i])
		}
		profile := math.Erfc((eps/mu-mu/2)/math.Sqrt2)/2 - math.Exp(eps)*math.Erfc((eps/mu+mu/2)/math.Sqrt2)/2
		worst = math.Max(worst, math.Max(there, back)-profile)
	}
	return worst
}

// The last iterate on a coarse lattice is never easier to tell apart than what is charged, record by record, and would be if rounding were
// left out.
func TestLatticeDescent(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	broken, closest := 0, math.Inf(-1)
	for range 600 {
		x, records, other, changed := anyToy(rng)
		p := x.params
		bound := func(p Params) float64 {
			mu, _, err := Best(p)
			if err != nil {
				t.Fatal(err)
			}
			if p.Kind.full() {
				return mu
			}
			at, err := positionMu(p, int64(changed)/p.Batch+1)
			if err != nil {
				t.Fatal(err)
			}
			return math.Min(mu, at)
		}
		mu := bound(p)
		left, right := x.law(records), x.law(other)
		excess := beyond(left, right, mu)
		if closest = math.Max(closest, excess); excess > 1e-9 {
			t.Errorf("%+v, record %d: above what is charged by %g", x, changed, excess)
		}
		p.Rounding = 0
		if beyond(left, right, bound(p)) > 1e-6 {
			broken++
		}
	}
	if broken == 0 {
		t.Error("rounding never mattered: the lattice is not coarse enough to test anything")
	}
	t.Logf("closest %g; %d runs break the bound without rounding", closest, broken)
}

// On a grid that is finer than the noise's the last digits of an iterate are those of the iterate before it, and the noise of the last step
// does not hide them: a penalty of a sixteenth moves the noisy sum of the first step to the digits below the lattice of the second.
func TestFinerGridLeaks(t *testing.T) {
	p := Params{Kind: OnePass, Sensitivity: 4, Sigma: 1, N: 2, Batch: 1, Eta: 1, Smoothness: 1.0625, StrongConvexity: 1.0625, Rounding: 1.5}
	x := toy{params: p, h: 0.5, fine: 1, reach: 60, slope: 1, l2: 0.0625}
	mu, err := positionMu(p, 1)
	if err != nil {
		t.Fatal(err)
	}
	if e := beyond(x.law([]float64{2, 0}), x.law([]float64{-2, 0}), mu); e > 0 {
		t.Errorf("on the lattice of the noise: above what is charged by %g", e)
	}
	x.fine, x.reach = 16, 960
	if e := beyond(x.law([]float64{2, 0}), x.law([]float64{-2, 0}), mu); e < 0.01 {
		t.Errorf("on a finer grid: %g above what is charged, a leak was expected", e)
	}
}

// anyToy is a small descent and two neighbouring tables for it.
func anyToy(rng *rand.Rand) (x toy, records, other []float64, changed int) {
	x = toy{h: 1, fine: 1, slope: 0.25 + rng.Float64(), l2: 0.5 * rng.Float64() * float64(rng.IntN(2))}
	if rng.IntN(2) == 0 {
		x.knee = 1 + rng.Float64()
	}
	p := Params{
		Kind: kindAt(1 + rng.IntN(5)), Batch: 1 + rng.Int64N(2), Epochs: 1, Sigma: 0.5 + 3*rng.Float64(),
		Smoothness: x.slope + x.l2, StrongConvexity: x.l2,
	}
	p.N = p.Batch*(1+rng.Int64N(5)) + rng.Int64N(p.Batch)
	if p.Kind.full() {
		p.N = min(p.N, 4)
		p.Batch = p.N
	}
	p.Sigma /= float64(p.Batch)
	if x.knee == 0 && p.N%p.Batch == 0 {
		p.StrongConvexity += x.slope
	}
	if p.Kind.strong() && p.StrongConvexity == 0 {
		p.Kind = map[Kind]Kind{FullStronglyConvex: FullConvex, CyclicStronglyConvex: CyclicConvex}[p.Kind]
	}
	if p.Kind == OnePass && rng.IntN(2) == 0 {
		p.Early = 0.3 + 0.7*rng.Float64()
	}
	p.Eta = (0.2 + 1.7*rng.Float64()) / p.Smoothness
	const far = 3.0
	p.Sensitivity = 2 * far * x.slope
	if x.knee > 0 {
		p.Sensitivity = math.Min(p.Sensitivity, 2*x.knee)
	}
	// Once for each of two runs: sum, noise and penalty are rounded, by half a step each.
	p.Rounding = 2 * x.h / float64(p.Batch)
	if x.l2 > 0 {
		p.Rounding *= 1.5
	}
	ball := 1 + 5*rng.Float64()
	x.reach = int(ball * float64(p.Batch) / p.Eta / x.h)
	x.reach = max(x.reach, 1)
	p.Diameter = 2 * float64(x.reach) * p.Eta * x.h / float64(p.Batch)
	switch p.Kind {
	case CyclicStronglyConvex, FullStronglyConvex:
		p.Epochs = 1 + rng.Int64N(4)
	case CyclicConvex, FullConvex:
		p.Epochs = p.reach() + rng.Int64N(3)
	}
	if p.Kind.full() {
		p.Steps, p.Epochs = p.Epochs, 0
	}
	x.params = p
	records = make([]float64, p.N)
	for i := range records {
		records[i] = far * (2*rng.Float64() - 1)
	}
	changed = rng.IntN(int(p.N))
	other = append(other, records...)
	records[changed], other[changed] = far, -far
	return x, records, other, changed
}
