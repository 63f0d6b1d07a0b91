package series

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// Without noise an estimate is the figure itself, whatever the matrix.
func TestEstimatesAreExact(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 3))
	months := 24
	rows := slices.Concat(Each("month", months), Sums("quarter", parts(months, 3)...), ToDate("running", Range{0, months}), Change("change", months, 12), Rolling("rolling", months, 5))
	for _, m := range []Matrix{
		find(t, Question{Periods: months, Rows: rows, Goal: RMS}).Matrix,
		random(r, months), Independent(months),
	} {
		x := make([]int64, months)
		measured := make([]*big.Int, months)
		for run := range months {
			x[run] = r.Int64N(1 << 40)
			measured[run] = new(big.Int)
			for s, c := range m.Run(run) {
				measured[run].Add(measured[run], new(big.Int).Mul(big.NewInt(c), big.NewInt(x[s])))
			}
		}
		for _, row := range rows {
			want := int64(0)
			for _, term := range row.Terms {
				want += term.Factor * x[term.Period]
			}
			e, err := m.Decode(row)
			if err != nil {
				t.Fatal(err)
			}
			if len(e.Factors) != row.Period+1 {
				t.Fatalf("%s of period %d reads %d runs", row.Kind, row.Period, len(e.Factors))
			}
			if got := e.Value(measured); got.Cmp(new(big.Rat).SetInt64(want)) != 0 {
				t.Fatalf("%s of period %d: %v, want %d", row.Kind, row.Period, got, want)
			}
		}
	}
	if _, err := Independent(3).Decode(Row{Terms: []Term{{3, 1}}}); err == nil {
		t.Error("a period that the series does not have is estimated")
	}
}

// The figures of one series agree, noise included: quarters are the sums of their months, and
// variances follow.
func TestEstimatesAgree(t *testing.T) {
	rows := slices.Concat(Each("month", 12), Sums("quarter", parts(12, 3)...), Change("change", 12, 1))
	p := find(t, Question{Periods: 12, Rows: rows, Goal: RMS})
	r := rand.New(rand.NewPCG(31, 4))
	measured := make([]*big.Int, 12)
	for i := range measured {
		measured[i] = big.NewInt(r.Int64N(2000) - 1000)
	}
	es := make([]Estimate, len(rows))
	for i, row := range rows {
		es[i], _ = p.Matrix.Decode(row)
		if v, want := p.Errors[i], math.Sqrt(float64(p.Charge))*es[i].Deviation(1); math.Abs(v/want-1) > 1e-9 {
			t.Errorf("%s of period %d: error %v in the plan, %v from the estimate", row.Kind, row.Period, v, want)
		}
	}
	for q := range 4 {
		sum, variance := new(big.Rat), new(big.Rat)
		for i := 3 * q; i < 3*q+3; i++ {
			sum.Add(sum, es[i].Value(measured))
			for j := 3 * q; j < 3*q+3; j++ {
				variance.Add(variance, Covariance(es[i], es[j]))
			}
		}
		quarter := es[12+q]
		if quarter.Value(measured).Cmp(sum) != 0 || quarter.Variance().Cmp(variance) != 0 {
			t.Errorf("quarter %d is not its months", q)
		}
	}
	for i := 1; i < 12; i++ {
		a, b := es[i], es[i-1]
		want := new(big.Rat).Add(a.Variance(), b.Variance())
		want.Sub(want, new(big.Rat).Mul(big.NewRat(2, 1), Covariance(a, b)))
		if es[15+i].Variance().Cmp(want) != 0 {
			t.Errorf("change of period %d: variance %v, want %v", i, es[15+i].Variance(), want)
		}
	}
}
