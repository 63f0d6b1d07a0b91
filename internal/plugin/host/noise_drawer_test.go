//go:build linux

package host

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/plugin/calls"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

func newDrawer(t *testing.T) *NoiseDrawer {
	t.Helper()
	src, err := noise.NewSource()
	if err != nil {
		t.Fatal(err)
	}
	return NewDrawer(src)
}

// The statement of keep_probability.proof.md, in exact arithmetic: e^eps0 is bounded
// from below by its Taylor series, all of whose terms are positive.
func TestKeepProbability(t *testing.T) {
	for _, eps0 := range []float64{1e-6, 1e-3, 0.1, 0.5, 1, math.Ln2, 2, 5, 10, 30, 43, 50, 700, 710, 1e300} {
		for _, k := range []int{2, 3, 10, 1000, 1 << 20} {
			num, den, err := keepProbability(k, eps0)
			if err != nil {
				t.Fatal(err)
			}
			p, q := new(big.Rat).SetFrac(new(big.Int).SetUint64(num), new(big.Int).SetUint64(den)), new(big.Rat)
			q.Sub(big.NewRat(1, 1), p)
			if p.Cmp(big.NewRat(1, int64(k))) < 0 {
				t.Errorf("k %d, eps0 %g: keeps with less than 1/k", k, eps0)
			}
			ratio := new(big.Float).SetPrec(300).SetRat(new(big.Rat).Quo(new(big.Rat).Mul(p, big.NewRat(int64(k-1), 1)), q))
			if lower := expBelow(math.Min(eps0, 100)); ratio.Cmp(lower) > 0 {
				t.Errorf("k %d, eps0 %g: ratio %v is above e^eps0", k, eps0, ratio)
			} else if eps0 < 30 {
				// And it is hardly more noise than that: 2^-48 of the complement, times k.
				got, _ := ratio.Float64()
				if want := math.Exp(eps0); got < want*(1-1e-8) {
					t.Errorf("k %d, eps0 %g: ratio %v, could be %v", k, eps0, got, want)
				}
			}
		}
	}
	for _, bad := range []struct {
		k    int
		eps0 float64
	}{{1, 1}, {1<<20 + 1, 1}, {2, 0}, {2, 1e-7}, {2, math.NaN()}} {
		if _, _, err := keepProbability(bad.k, bad.eps0); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

func expBelow(x float64) *big.Float {
	f := func(x float64) *big.Float { return new(big.Float).SetPrec(300).SetMode(big.ToZero).SetFloat64(x) }
	sum, term := f(1), f(1)
	for i := 1; i < 800; i++ {
		term.Mul(term, f(x)).Quo(term, f(float64(i)))
		sum.Add(sum, term)
	}
	return sum
}

func TestRateBelow(t *testing.T) {
	for _, r := range []float64{0.5, 0.2, 1e-3, 1e-18, math.Nextafter(1, 0)} {
		num, den, err := rateBelow(r)
		if err != nil {
			t.Fatal(err)
		}
		got, want := new(big.Rat).SetFrac(new(big.Int).SetUint64(num), new(big.Int).SetUint64(den)), new(big.Rat).SetFloat64(r)
		if got.Cmp(want) > 0 || r > 1e-2 && got.Cmp(want) != 0 {
			t.Errorf("rate %g became %v", r, got)
		}
	}
	for _, r := range []float64{0, 1, -1, 2, math.NaN(), 1e-19, 5e-324} {
		if _, _, err := rateBelow(r); err == nil {
			t.Errorf("rate %g is accepted", r)
		}
	}
}

// Each row is in the sample at its rate, ascending and in range; pairs of neighbours
// are independent.
func TestSample(t *testing.T) {
	d := newDrawer(t)
	for _, rate := range []float64{0.01, 0.2, 0.9, 1} {
		const rows, draws = 50, 4000
		var in [rows]float64
		var both float64
		for range draws {
			got, err := d.Sample(privacy.Poisson{Rate: rate, Event: laplace}, rows)
			if err != nil {
				t.Fatal(err)
			}
			last := int64(-1)
			for _, i := range got {
				if i <= last || i >= rows {
					t.Fatalf("sample %v", got)
				}
				in[i]++
				if last == i-1 && i%2 == 1 {
					both++
				}
				last = i
			}
		}
		// False alarms: each count is binomial; 6 standard deviations and a count of 3
		// more (for the skewed small rate) have probability below 1e-8 for each of 50
		// rows and 4 rates, so below 1e-6 in all by Bennett's inequality.
		for i, n := range in {
			if sd := math.Sqrt(draws * rate * (1 - rate)); math.Abs(n-draws*rate) > 6*sd+3 {
				t.Errorf("rate %g: row %d is in %v of %d samples", rate, i, n, draws)
			}
		}
		pairs := draws * rows / 2 * rate * rate
		if sd := math.Sqrt(pairs * (1 - rate*rate)); math.Abs(both-pairs) > 6*sd+3 {
			t.Errorf("rate %g: %v pairs, want %v", rate, both, pairs)
		}
	}
	if got, err := d.Sample(privacy.Poisson{Rate: 0.5}, 0); err != nil || len(got) != 0 {
		t.Errorf("a sample of nothing: %v, %v", got, err)
	}
	for _, ev := range []privacy.Sampling{privacy.WithoutReplacement{Take: 1, Of: 2}, privacy.Poisson{}, privacy.Poisson{Rate: 1.5}, privacy.Poisson{Rate: math.NaN()}} {
		if _, err := d.Sample(ev, 10); err == nil {
			t.Errorf("%+v is drawn", ev)
		}
	}
}

// All 24 orders of four codes come equally often.
func TestShuffle(t *testing.T) {
	d := newDrawer(t)
	const draws = 24_000
	seen := map[[4]int32]float64{}
	for range draws {
		c := [4]int32{0, 1, 2, 3}
		if err := d.Shuffle(c[:]); err != nil {
			t.Fatal(err)
		}
		seen[c]++
	}
	chi := 0.0
	for _, n := range seen {
		chi += (n - draws/24) * (n - draws/24) / (draws / 24)
	}
	// Chi-squared with 23 degrees of freedom is above 76 with probability 1.4e-7.
	if len(seen) != 24 || chi > 76 {
		t.Errorf("%d orders, chi-squared %v", len(seen), chi)
	}
}

func TestRandomize(t *testing.T) {
	d := newDrawer(t)
	codes := make([]int32, 100_000)
	for i := range codes {
		codes[i] = 1
	}
	if err := d.Randomize(privacy.RandomizedResponse{K: 4, Eps0: math.Log(3)}, codes); err != nil {
		t.Fatal(err)
	}
	var n [4]float64
	for _, c := range codes {
		n[c]++
	}
	// e^eps0 = 3 and k = 4: kept with 1/2, each other with 1/6. Six standard deviations
	// are below 950 and 710.
	for i, want := range []float64{1.0 / 6, 1.0 / 2, 1.0 / 6, 1.0 / 6} {
		if math.Abs(n[i]-want*1e5) > 950 {
			t.Errorf("category %d: %v", i, n[i])
		}
	}
	one := privacy.RandomizedResponse{K: 4, Eps0: 1}
	if d.Randomize(one, []int32{5}) == nil || d.Randomize(one, []int32{-1}) == nil {
		t.Error("a code outside its domain is accepted")
	}
}

func TestDrawerSelect(t *testing.T) {
	d := newDrawer(t)
	got, err := d.Select(privacy.Pure{Eps: 1}, []sdk.Piece{{Lo: -3, Hi: -3, Score: 0}, {Lo: -2, Hi: 9, Score: 1 << 40}}, 1)
	if err != nil || got != -3 {
		t.Errorf("got %d, %v", got, err)
	}
	if _, err := d.Select(privacy.Pure{Eps: 1}, []sdk.Piece{{Lo: 0, Hi: 1}, {Lo: 5, Hi: 6}}, 1); err == nil {
		t.Error("pieces with a gap are accepted")
	}
	if x, err := d.SmoothLaplace(privacy.Approx{Eps: 1}, 12.3, 1e-9, 0.5); err != nil || x != 12.5 {
		t.Errorf("got %v, %v", x, err)
	}
}

// Every row is in one batch of a pass, in the same one in every pass, and is as
// often in the last of them as any other.
func TestBatches(t *testing.T) {
	d := newDrawer(t)
	ev := privacy.LastIterate{Variant: "cyclic-convex", N: 11, Batch: 4, Epochs: 2}
	const runs = 6000
	var last [11]float64
	for range runs {
		var first [3][]int64
		seen := map[int64]bool{}
		for step := range int64(6) {
			rows, err := d.Batch(ev, 11, step)
			if err != nil || !slices.IsSorted(rows) {
				t.Fatal(rows, err)
			}
			if step >= 3 {
				if !slices.Equal(rows, first[step-3]) {
					t.Fatalf("step %d takes %v, its batch was %v", step, rows, first[step-3])
				}
				continue
			}
			first[step] = rows
			for _, r := range rows {
				if seen[r] || r < 0 || r >= 11 {
					t.Fatalf("row %d is taken twice, or is none", r)
				}
				seen[r] = true
			}
		}
		if len(seen) != 11 || len(first[0]) != 4 || len(first[2]) != 3 {
			t.Fatalf("batches %v", first)
		}
		for _, r := range first[2] {
			last[r]++
		}
	}
	// Each count is binomial: 6 standard deviations for 11 rows are a false alarm in
	// fewer than one of 10^7 runs.
	for r, n := range last {
		if sd := math.Sqrt(runs * 3 / 11. * 8 / 11.); math.Abs(n-runs*3/11.) > 6*sd {
			t.Errorf("row %d is in the last batch %v times of %d", r, n, runs)
		}
	}
	fresh := newDrawer(t)
	for _, bad := range []struct{ rows, step int64 }{{10, 0}, {11, 1}, {11, -1}} {
		if rows, err := fresh.Batch(ev, bad.rows, bad.step); err == nil {
			t.Errorf("%+v: %v", bad, rows)
		}
	}
}

// What a plan may ask for is what can be drawn.
func TestScalesOfPlansCanBeDrawn(t *testing.T) {
	if calls.MinScale != noise.MinScale || calls.MaxScale != noise.MaxScale {
		t.Errorf("plans may have scales from %g to %g, noise from %g to %g", calls.MinScale, calls.MaxScale, noise.MinScale, float64(noise.MaxScale))
	}
	for _, x := range []float64{calls.MinScale, calls.MaxScale} {
		for range 100 {
			d, values := newDrawer(t), []int64{1 << 60, -1 << 60}
			if err := errors.Join(d.Add(privacy.DiscreteLaplace{Scale: x}, values), d.Add(privacy.DiscreteGaussian{Sigma: x}, values)); err != nil {
				t.Errorf("scale %g: %v", x, err)
			}
		}
	}
}

// The parts of a long list get noise of the planned size, none that of another, and one that overflows clears all of them.
func TestLongListsOfNoise(t *testing.T) {
	const n, sigma = 3*listPart + 7, 1 << 40
	values := make([]int64, n)
	if err := newDrawer(t).Add(privacy.DiscreteGaussian{Sigma: sigma}, values); err != nil {
		t.Fatal(err)
	}
	for at := 0; at+n/8 <= n; at += n / 8 {
		part := values[at:][:n/8]
		if slices.Equal(part[:7], values[(at+n/2)%(n-7):][:7]) {
			t.Errorf("the noise at %d occurs twice", at)
		}
		square := 0.0
		for _, x := range part {
			square += float64(x) / sigma * float64(x) / sigma
		}
		// Beyond 6 standard deviations: less than once in 10^8, also with the skewness of this sum.
		if m := float64(len(part)); math.Abs(square-m) > 6*math.Sqrt(2*m) {
			t.Errorf("the %d values from %d have a mean square of %g σ²", len(part), at, square/m)
		}
	}
	for i := range 64 { // each overflows in half of all cases
		values[n-1-i] = math.MaxInt64
	}
	if err := newDrawer(t).Add(privacy.DiscreteLaplace{Scale: sigma}, values); !errors.Is(err, noise.ErrOverflow) {
		t.Error(err)
	}
	if slices.ContainsFunc(values, func(x int64) bool { return x != 0 }) {
		t.Error("values are left behind")
	}
}
