package samplers

import (
	"math"
	"math/rand/v2"
	"testing"
)

// of returns the estimate from the draw m, in which the rows add x.
func (e Estimate) of(m int64, x, w []float64, strata []int32, best bool) float64 {
	if c := e.Clusters; c != nil {
		total, sum := make([]float64, c.Number), 0.0
		for i := range x {
			total[c.Of[strata[i]]] += x[i] * float64(m>>i&1)
			sum += x[i] * float64(m>>i&1)
		}
		v := -e.Mean * sum * sum
		for _, t := range total {
			v += e.Square * t * t
		}
		b := 0.0
		for i := range x {
			b = math.Max(b, math.Abs(x[i])/w[i])
		}
		return c.Left*v + (1-c.Left)*c.Within*b*b
	}
	total, square, v := map[int32]float64{}, map[int32]float64{}, 0.0
	for i := range x {
		if m>>i&1 == 0 {
			continue
		}
		h, f := int32(0), 1.0
		if best {
			h = strata[i]
		} else if e.Weighted {
			f = 1 - 1/w[i]
		}
		total[h] += x[i]
		square[h] += f * x[i] * x[i]
	}
	for h := range total {
		a, b := e.Square, e.Mean
		if best {
			a, b = e.Strata[h].Square, e.Strata[h].Mean
		}
		v += a*square[h] - b*total[h]*total[h]
	}
	return v
}

// On average over every possible draw the estimate is the variance, or an upper bound where
// it says so. One that forgets the finite population, or the mean, is not.
func TestEstimateOfEveryDraw(t *testing.T) {
	third, err := ParseRate("1/3")
	if err != nil {
		t.Fatal(err)
	}
	f := mustFrame(t, "stratum", "a 3", "b 2", "c 1")
	equal := mustFrame(t, "stratum", "a 4", "b 4")
	cases := []varianceCase{
		{"full", must[*Full](t)(NewFull(4)), 4, nil, true},
		{"srswor 2 of 5", must[*SRSWOR](t)(NewSRSWOR(2, 5)), 5, nil, true},
		{"srswor 3 of 4", must[*SRSWOR](t)(NewSRSWOR(3, 4)), 4, nil, true},
		{"poisson", must[*Poisson](t)(NewPoisson(third, 4)), 4, nil, true},
		{"stratified", must[*StratifiedTake](t)(NewStratifiedTake(f, []int64{2, 2, 1})), 6, rowsOf(f), false},
		{"stratified, equal weights", must[*StratifiedTake](t)(NewStratifiedTake(equal, []int64{2, 2})), 8, rowsOf(equal), false},
	}
	towns := mustFrame(t, "town/house", "a/1 2", "a/2 1", "b/3 2", "c/4 1", "c/5 2")
	staged := func(stages ...Stage) Design { return must[*Multistage](t)(NewMultistage(towns, stages)) }
	cases = append(cases,
		varianceCase{"all rows of 2 of 3 towns", staged(Stage{Unit: "town", Take: 2}, Stage{Unit: "house", All: true}, Stage{All: true}), 8, rowsOf(towns), true},
		varianceCase{"1 house in each of 2 of 3 towns", staged(Stage{Unit: "town", Take: 2}, Stage{Unit: "house", Take: 1}, Stage{All: true}), 8, rowsOf(towns), false},
		varianceCase{"1 row of each of 2 of 3 towns", staged(Stage{Unit: "town", Take: 2}, Stage{Unit: "house", Take: 1}, Stage{Take: 1}), 8, rowsOf(towns), false},
		varianceCase{"1 house in each town", staged(Stage{Unit: "town", All: true}, Stage{Unit: "house", Take: 1}, Stage{All: true}), 8, rowsOf(towns), false},
		varianceCase{"rows of each house", staged(Stage{Unit: "town", All: true}, Stage{Unit: "house", All: true}, Stage{Take: 2, AtMost: true}), 8, rowsOf(towns), true},
	)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range cases {
		e, err := NewEstimate(c.d, nil)
		if err != nil {
			t.Fatal(c.name, err)
		}
		law, w := lawOfDesign(t, c), weightsOf(c.d, c.units, c.rows)
		for range 20 {
			z, x := make([]float64, c.rows), make([]float64, c.rows)
			for i := range z {
				z[i] = rng.NormFloat64() + 1
				x[i] = z[i] * w[i]
			}
			truth, mean, best, forgets := varianceOf(law, w, z), 0.0, 0.0, 0.0
			for m, p := range law {
				mean += p * e.of(m, x, w, c.units, false)
				if e.Strata != nil {
					best += p * e.of(m, x, w, c.units, true)
				}
				without := e
				without.Mean = 0
				if c.tight && e.Mean > 0 {
					forgets += p * without.of(m, x, w, c.units, false)
				}
			}
			if e.Strata != nil && math.Abs(best-truth) > 1e-9*(1+truth) {
				t.Errorf("%s: by strata %v, the variance is %v", c.name, best, truth)
			}
			if c.tight && math.Abs(mean-truth) > 1e-9*(1+truth) || mean < truth-1e-9 {
				t.Errorf("%s: %v on average, the variance is %v", c.name, mean, truth)
			}
			if forgets != 0 && math.Abs(forgets-truth) < 1e-9*(1+truth) {
				t.Errorf("%s: an estimate without the mean is right too", c.name)
			}
		}
	}
}

// Rates by stratum: each row on its own coin.
func TestEstimateOfRatesByStratum(t *testing.T) {
	half, _ := ParseRate("1/2")
	fifth, _ := ParseRate("1/5")
	d, err := NewStratifiedPoisson(mustFrame(t, "stratum", "a 2", "b 2"), []Rate{half, fifth})
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEstimate(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	pi, z := []float64{0.5, 0.5, 0.2, 0.2}, []float64{1, -2, 3, 0.5}
	w, x, law := make([]float64, 4), make([]float64, 4), map[int64]float64{}
	for i := range pi {
		w[i], x[i] = 1/pi[i], z[i]/pi[i]
	}
	for m := range int64(16) {
		law[m] = 1
		for i := range pi {
			law[m] *= map[int64]float64{1: pi[i], 0: 1 - pi[i]}[m>>i&1]
		}
	}
	mean := 0.0
	for m, p := range law {
		mean += p * e.of(m, x, w, nil, false)
	}
	if truth := varianceOf(law, w, z); math.Abs(mean-truth) > 1e-9 {
		t.Errorf("%v on average, the variance is %v", mean, truth)
	}
}

// A table that is 4 of 6 rows, and what is drawn from it: both draws count.
func TestEstimateOfTwoDraws(t *testing.T) {
	third, _ := ParseRate("1/3")
	table := must[*Collected](t)(NewCollected(4, 6))
	outer := lawOfDesign(t, varianceCase{d: must[*SRSWOR](t)(NewSRSWOR(4, 6)), rows: 6})
	z := []float64{1, -2, 3, 0.5, 2, 2}
	ones := []float64{1, 1, 1, 1, 1, 1}
	for name, d := range map[string]Design{
		"full": must[*Full](t)(NewFull(4)), "srswor": must[*SRSWOR](t)(NewSRSWOR(2, 4)), "poisson": must[*Poisson](t)(NewPoisson(third, 4)),
	} {
		law := map[int64]float64{}
		for big, p := range outer {
			var rows []int
			for i := range 6 {
				if big>>i&1 == 1 {
					rows = append(rows, i)
				}
			}
			inner := map[int64]float64{15: 1}
			if name != "full" {
				inner = lawOfDesign(t, varianceCase{d: d, rows: 4})
			}
			for m, r := range inner {
				drawn := int64(0)
				for k, i := range rows {
					drawn |= m >> k & 1 << i
				}
				law[drawn] += p * r
			}
		}
		e, err := NewEstimate(d, table)
		if err != nil {
			t.Fatal(err)
		}
		mean := 0.0
		for m, p := range law {
			mean += p * e.of(m, z, ones, nil, false)
		}
		if truth := varianceOf(law, ones, z); math.Abs(mean-truth) > 1e-9 {
			t.Errorf("%s: %v on average, the variance is %v", name, mean, truth)
		}
	}
}

// Designs without an estimate say why.
func TestEstimateRefused(t *testing.T) {
	f := mustFrame(t, "unit", "a 3", "b 2")
	multi, err := NewMultistage(f, []Stage{{Unit: "unit", Take: 1}, {Take: 2}})
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range map[string]Design{
		"multistage":         multi,
		"one of many":        must[*SRSWOR](t)(NewSRSWOR(1, 6)),
		"one in a stratum":   must[*StratifiedTake](t)(NewStratifiedTake(f, []int64{2, 1})),
		"strata of a sample": must[*StratifiedTake](t)(NewStratifiedTake(f, []int64{2, 2})),
	} {
		var table *Collected
		if name == "strata of a sample" {
			table = must[*Collected](t)(NewCollected(5, 50))
		}
		if e, err := NewEstimate(d, table); err == nil {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// Rows of a town are alike. The variance is that between towns; the twin, which takes the rows for
// what was drawn first, is far below it.
func TestClustersAreNotRows(t *testing.T) {
	f := mustFrame(t, "town", "a 3", "b 3", "c 3")
	d := must[*Multistage](t)(NewMultistage(f, []Stage{{Unit: "town", Take: 2}, {Take: 2}}))
	e, err := NewEstimate(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c := e.Clusters; c.Number != 3 || c.Drawn != 2 || c.Most != 2 || c.Within != 2 || e.Rows != 2 || e.Mean != 1 || e.Square != 2 {
		t.Errorf("%+v with %+v", e, c)
	}
	units := rowsOf(f)
	z, ones := make([]float64, 9), make([]float64, 9)
	for i, u := range units {
		z[i], ones[i] = []float64{1, 2, 4}[u], 1
	}
	law := lawOfDesign(t, varianceCase{d: d, rows: 9, units: units})
	truth := varianceOf(law, ones, z)
	twin, err := fixed(4, 9)
	if err != nil {
		t.Fatal(err)
	}
	mean, rows := 0.0, 0.0
	for m, p := range law {
		mean += p * e.of(m, z, ones, units, false)
		rows += p * twin.of(m, z, nil, nil, false)
	}
	if mean < truth || mean > 5*truth || rows > 0.8*truth {
		t.Errorf("%v by towns and %v by rows, the variance is %v", mean, rows, truth)
	}
	if _, err := NewEstimate(must[*Multistage](t)(NewMultistage(f, []Stage{{Unit: "town", Take: 1}, {Take: 2}})), nil); err == nil {
		t.Error("one town has an estimate")
	}
}
