package samplers

import (
	"errors"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// varianceOf is the exact variance of Σ w·z under a law of samples.
func varianceOf(law map[int64]float64, w, z []float64) float64 {
	var mean, square float64
	for m, p := range law {
		sum := 0.0
		for i := range z {
			sum += w[i] * z[i] * float64(m>>i&1)
		}
		mean, square = mean+p*sum, square+p*sum*sum
	}
	return square - mean*mean
}

// weightsOf are the weights that a Selection carries.
func weightsOf(d Design, units []int32, rows int) []float64 {
	w := make([]float64, rows)
	for i := range w {
		w[i] = 1
		if f, ok := d.(interface{ Weight(int32) float64 }); ok && !d.Facts().EqualWeights {
			w[i] = f.Weight(units[i])
		}
	}
	return w
}

// lawOfDesign is the law of the samples: of simple random and Poisson samples as
// other tests of this package establish it, of others walked through.
func lawOfDesign(t *testing.T, c varianceCase) map[int64]float64 {
	law := map[int64]float64{}
	switch d := c.d.(type) {
	case *SRSWOR:
		for m := range int64(1) << c.rows {
			if bits.OnesCount64(uint64(m)) == int(d.size) {
				law[m] = 1
			}
		}
		for m := range law {
			law[m] = 1 / float64(len(law))
		}
	case *Poisson:
		q := d.rate.Float()
		for m := range int64(1) << c.rows {
			k := float64(bits.OnesCount64(uint64(m)))
			law[m] = math.Pow(q, k) * math.Pow(1-q, float64(c.rows)-k)
		}
	case *StratifiedPoisson:
		for m := range int64(1) << c.rows {
			law[m] = 1
			for i, u := range c.units {
				q := d.rates[u].Float()
				law[m] *= math.Abs(float64(1-m>>i&1) - q)
			}
		}
	default:
		return lawByExploring(t, c.d, c.rows, c.units)
	}
	return law
}

type varianceCase struct {
	name  string
	d     Design
	rows  int
	units []int32
	tight bool
}

func varianceCases(t *testing.T) []varianceCase {
	rate, err := ParseRate("1/3")
	if err != nil {
		t.Fatal(err)
	}
	f := mustFrame(t, "stratum", "a 3", "b 2", "c 1")
	all := []varianceCase{
		{"full", must[*Full](t)(NewFull(4)), 4, nil, true},
		{"srswor 2 of 5", must[*SRSWOR](t)(NewSRSWOR(2, 5)), 5, nil, true},
		{"srswor 3 of 4", must[*SRSWOR](t)(NewSRSWOR(3, 4)), 4, nil, true},
		{"srswor 1 of 6", must[*SRSWOR](t)(NewSRSWOR(1, 6)), 6, nil, true},
		{"poisson", must[*Poisson](t)(NewPoisson(rate, 4)), 4, nil, true},
		{"stratified", must[*StratifiedTake](t)(NewStratifiedTake(f, []int64{2, 1, 1})), 6, rowsOf(f), true},
	}
	for _, c := range multiCases(t) {
		if rows := int(c.frame.Records()); rows <= 8 {
			all = append(all, varianceCase{c.name, must[*Multistage](t)(NewMultistage(c.frame, c.stages)), rows, rowsOf(c.frame), c.name == "strata"})
		}
	}
	return all
}

// No table does worse than the bound; where it is said to be attained, one does
// as badly. The variance is convex in every value, so the corners are the worst.
func TestVarianceBoundsEveryTable(t *testing.T) {
	cases := varianceCases(t)
	if len(cases) < 10 {
		t.Fatalf("only %d designs", len(cases))
	}
	for _, c := range cases {
		law := lawOfDesign(t, c)
		w := weightsOf(c.d, c.units, c.rows)
		for _, v := range []Values{{Low: -1, High: 1}, {Low: 0, High: 1}, {Low: 2, High: 3}, {Low: -3, High: 0.5}} {
			bound, err := Variance(c.d, v)
			if err != nil {
				t.Fatal(err)
			}
			worst := 0.0
			z := make([]float64, c.rows)
			for corner := range 1 << c.rows {
				for i := range z {
					z[i] = v.Low
					if corner>>i&1 == 1 {
						z[i] = v.High
					}
				}
				worst = math.Max(worst, varianceOf(law, w, z))
			}
			if worst > bound*(1+1e-6)+1e-9 {
				t.Errorf("%s, [%g, %g]: a table has variance %g, the bound is %g", c.name, v.Low, v.High, worst, bound)
			}
			if c.tight && bound > worst*(1+1e-6)+1e-9 {
				t.Errorf("%s, [%g, %g]: the bound is %g, no table does worse than %g", c.name, v.Low, v.High, bound, worst)
			}
			if bound > 2*worst+1e-9 {
				t.Errorf("%s, [%g, %g]: the bound %g is more than twice the worst, %g", c.name, v.Low, v.High, bound, worst)
			}
		}
	}
}

// Tables made with the assumed moments have, on average, the variance that is
// expected of them.
func TestVarianceAssumed(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	m := Moments{Mean: 1.5, SD: 0.8, ICC: 0.4, KnownMean: true}
	for _, c := range varianceCases(t) {
		if c.units == nil {
			m.ICC = 0 // no units to be alike in
		} else {
			m.ICC = 0.4
		}
		law := lawOfDesign(t, c)
		w := weightsOf(c.d, c.units, c.rows)
		want, err := Variance(c.d, Values{Low: -100, High: 100, Assumed: &m})
		if err != nil {
			t.Fatal(err)
		}
		// The first-stage unit of each row: the first part of its key.
		first := make([]string, c.rows)
		for i := range first {
			if f, ok := c.d.(interface{ Frame() *Frame }); ok {
				first[i] = f.Frame().Unit(c.units[i]).Key[0]
			}
		}
		const tables = 20_000
		var sum, square float64
		z := make([]float64, c.rows)
		for range tables {
			effect := map[string]float64{}
			for i := range z {
				if _, ok := effect[first[i]]; !ok {
					effect[first[i]] = math.Sqrt(m.ICC) * m.SD * rng.NormFloat64()
				}
				z[i] = m.Mean + effect[first[i]] + math.Sqrt(1-m.ICC)*m.SD*rng.NormFloat64()
			}
			x := varianceOf(law, w, z)
			sum, square = sum+x, square+x*x
		}
		mean := sum / tables
		// Five standard errors: false alarms in fewer than one of a million cases.
		margin := 5*math.Sqrt(math.Max(0, square/tables-mean*mean)/tables) + 1e-9
		if math.Abs(mean-want) > margin {
			t.Errorf("%s: %g expected, tables have %g ± %g", c.name, want, mean, margin)
		}
	}
}

// An assumed standard deviation without a mean is not less than with any mean that
// the bounds allow.
func TestVarianceWithoutMean(t *testing.T) {
	for _, c := range varianceCases(t) {
		without, err := Variance(c.d, Values{Low: -1, High: 1, Assumed: &Moments{SD: 0.5, ICC: 0.2}})
		if err != nil {
			t.Fatal(err)
		}
		for _, mean := range []float64{-0.8, 0, 0.5} {
			with, err := Variance(c.d, Values{Low: -1, High: 1, Assumed: &Moments{SD: 0.5, ICC: 0.2, Mean: mean, KnownMean: true}})
			if err != nil || with > without*(1+1e-12) {
				t.Errorf("%s: %g with the mean %g, %g without one; %v", c.name, with, mean, without, err)
			}
		}
	}
}

func TestVarianceOfSecretSizes(t *testing.T) {
	rate, err := ParseRate("1/3")
	if err != nil {
		t.Fatal(err)
	}
	f := mustFrame(t, "stratum", "a 3", "b 2")
	for _, d := range []Design{
		must[*Poisson](t)(NewPoisson(rate, 0)),
		must[*StratifiedPoisson](t)(NewStratifiedPoisson(f, []Rate{rate, rate})),
	} {
		if _, err := Variance(d, Values{Low: 0, High: 1}); !errors.Is(err, ErrSecretSize) {
			t.Errorf("%s: %v", d.Kind(), err)
		}
	}
	// A promised number of rows bounds the variance for every larger number.
	for _, n := range []int64{1, 3, 40} {
		bound, err := Variance(must[*SRSWOR](t)(NewSRSWORAtLeast(n, 40)), Values{Low: -1, High: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, rows := range []int64{40, 41, 1000, 1e9} {
			v, err := Variance(must[*SRSWOR](t)(NewSRSWOR(n, rows)), Values{Low: -1, High: 1})
			if err != nil || v > bound {
				t.Errorf("%d of %d rows: %g, more than %g; %v", n, rows, v, bound, err)
			}
		}
	}
	for _, v := range []Values{{Low: 1, High: 0}, {Low: math.Inf(-1), High: 0}, {Low: math.NaN(), High: 1}} {
		if _, err := Variance(must[*Full](t)(NewFull(3)), v); err == nil {
			t.Errorf("[%g, %g] was taken", v.Low, v.High)
		}
	}
}
