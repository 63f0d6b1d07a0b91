package samplers

import (
	"math"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/noise/insecurenoise"
	"github.com/dprelease/dprelease/internal/noise/noisetest"
	"github.com/dprelease/dprelease/privacy"
)

// Sixty-four rows that hold all sequences of six digits: at a rate of k/64 the
// rows drawn are the first k, so exactly k of 64 equally likely tapes draw a row.
func TestPoissonExhaustively(t *testing.T) {
	var tape []byte
	for d := range 6 {
		var w uint64
		for lane := range uint64(64) {
			w |= lane >> (5 - d) & 1 << lane
		}
		for i := range 8 {
			tape = append(tape, byte(w>>(8*i)))
		}
	}
	for k, text := range map[int]string{3: "3/64", 32: "0.5", 48: "0.75", 63: "63/64", 64: "1"} {
		d := must[*Poisson](t)(NewPoisson(mustRate(t, text), 64))
		got := draw(t, d, insecurenoise.NewTape(tape), 64, 10)
		if len(got) != k || got[k-1] != k-1 {
			t.Errorf("rate %s draws %v", text, got)
		}
	}
}

func TestSkipsTape(t *testing.T) {
	// Rate 1/128. 0.96 lies between (127/128)^6 and (127/128)^5: row 5 first;
	// 0.996 is above 127/128: row 6 at once; 0.362 lies between (127/128)^130 and
	// (127/128)^129: row 7 + 129; 0.5 leads beyond the table's end.
	var tape []byte
	for _, u := range []float64{0.96, 0.996, 0.362, 0.5} {
		w := uint64(u * 0x1p64)
		for i := range 8 {
			tape = append(tape, byte(w>>(8*i)))
		}
	}
	d := must[*Poisson](t)(NewPoisson(mustRate(t, "1/128"), 0))
	if got := draw(t, d, insecurenoise.NewTape(tape), 137, 137); !slices.Equal(got, []int{5, 6, 136}) {
		t.Errorf("got %v", got)
	}
}

func TestPoissonFit(t *testing.T) {
	src := newSource(t)
	for _, c := range []struct {
		rate    string
		n, rows int
	}{{"0.5", 40_000, 130}, {"0.03", 40_000, 130}, {"1/3", 40_000, 70}, {"0.009", 60_000, 130}, {"0.004", 60_000, 70}} {
		d := must[*Poisson](t)(NewPoisson(mustRate(t, c.rate), 0))
		p := d.Facts().Rate
		checkInclusions(t, "poisson "+c.rate, c.n, c.rows, p, p*p, func() []int { return draw(t, d, src, c.rows, 50) })
	}
}

// The size of a draw is binomial: mean and tails, by the exact bound.
func TestPoissonSizes(t *testing.T) {
	src := newSource(t)
	for _, rate := range []string{"0.01", "0.001", "1e-6", "0.2", "1/3"} {
		const rows = 3_000_000
		d := must[*Poisson](t)(NewPoisson(mustRate(t, rate), 0))
		got := draw(t, d, src, rows, 1_000_000)
		noisetest.CheckCells(t, "size at "+rate, rows, []int{len(got)}, []float64{d.Facts().Rate})
		// The skip from one row drawn to the next, at a tenth of its mean.
		short := 0
		gap := int(math.Ceil(0.1 / d.Facts().Rate))
		for i := 1; i < len(got); i++ {
			if got[i]-got[i-1] <= gap {
				short++
			}
		}
		if len(got) > 1 {
			p := -math.Expm1(float64(gap) * math.Log1p(-d.Facts().Rate))
			noisetest.CheckCells(t, "skips at "+rate, len(got)-1, []int{short}, []float64{p})
		}
	}
}

// Two draws from one source are independent: they share p² of the rows.
func TestDrawsAreIndependent(t *testing.T) {
	src := newSource(t)
	const rows = 500_000
	for name, d := range map[string]Design{
		"coins": must[*Poisson](t)(NewPoisson(mustRate(t, "0.1"), 0)),
		"skips": must[*Poisson](t)(NewPoisson(mustRate(t, "0.009"), 0)),
		"list":  must[*SRSWOR](t)(NewSRSWOR(rows/300, rows)),
		"map":   must[*SRSWOR](t)(NewSRSWOR(rows/10, rows)),
	} {
		first, second := draw(t, d, src, rows, rows), draw(t, d, src.Child(), rows, rows)
		both := 0
		for i, j := 0, 0; i < len(first) && j < len(second); {
			switch {
			case first[i] < second[j]:
				i++
			case first[i] > second[j]:
				j++
			default:
				i, j, both = i+1, j+1, both+1
			}
		}
		// Given the first draw, each of its rows is in the second with rate p;
		// for fixed sizes the count is hypergeometric, whose tails Chernoff's
		// bound for the binomial covers (Hoeffding 1963, theorem 4).
		noisetest.CheckCells(t, name+": shared rows", len(first), []int{both}, []float64{d.Facts().Rate})
	}
}

func TestPoissonEventAndRelations(t *testing.T) {
	inner := privacy.Pure{Eps: 1}
	d := must[*Poisson](t)(NewPoisson(mustRate(t, "1/3"), 0))
	e, ok := d.Event(inner).(privacy.Poisson)
	if !ok || e.Inner() != inner {
		t.Fatalf("event is %v", d.Event(inner))
	}
	// float64(1/3) is below 1/3: the charged rate is the next one up.
	if e.Rate <= 1.0/3 || e.Rate != math.Nextafter(1.0/3, 1) {
		t.Errorf("charged rate %.20f", e.Rate)
	}
	if d.Supports(privacy.AddRemove) != nil || d.Supports(privacy.ReplaceOne) == nil || d.Supports(0) == nil {
		t.Error("the relations of a poisson design of secret size are wrong")
	}
	if public := must[*Poisson](t)(NewPoisson(mustRate(t, "1/3"), 9)); public.Supports(privacy.ReplaceOne) != nil || public.Facts().Population != 9 {
		t.Error("the relations of a poisson design of public size are wrong")
	}
	if f := d.Facts(); f.SampleSize != 0 || f.LargestCount != 0 || f.MaxWeight != 3 || !f.EqualWeights {
		t.Errorf("facts %+v", f)
	}
	if _, err := NewPoisson(Rate{}, 0); err == nil {
		t.Error("the zero rate is accepted")
	}
}

func BenchmarkPoisson20M(b *testing.B) {
	src := newSource(b)
	for _, rate := range []string{"0.0001", "0.01", "0.2"} {
		d := must[*Poisson](b)(NewPoisson(mustRate(b, rate), 0))
		b.Run(rate, func(b *testing.B) { benchmarkDraw(b, d, src, 20_000_000) })
	}
}

func benchmarkDraw(b *testing.B, d Design, src *noise.Source, rows int64) {
	for b.Loop() {
		s, err := begin(d, src, rows)
		if err != nil {
			b.Fatal(err)
		}
		for at := int64(0); at < rows; at += 1_000_000 {
			if _, err := s.Next(int(min(1_000_000, rows-at))); err != nil {
				b.Fatal(err)
			}
		}
		if err := s.Done(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(rows)/float64(b.N), "ns/row")
}
