package finish

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// hostile are values near the edges of a coordinate and of its lattice, and values that no table should hold.
func hostile(rng *rand.Rand, c sdk.Coordinate) float64 {
	size := math.Max(math.Abs(c.Low), math.Abs(c.High))
	all := []float64{0, math.Copysign(0, -1), c.Low, c.High, math.Nextafter(c.Low, math.Inf(-1)), math.Nextafter(c.High, math.Inf(1)),
		math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 1e-310,
		c.Lattice * 0x1p43, c.Lattice * 0x1p44, -c.Lattice * 0x1p44, c.Lattice * 0x1p52, -c.Lattice * 0x1p63,
		math.Float64frombits(rng.Uint64()), c.Low + (c.High-c.Low)*rng.Float64(), size * (4*rng.Float64() - 2)}
	step := c.Lattice * (math.Floor(size/c.Lattice*(2*rng.Float64()-1)) + 0.5)
	all = append(all, step, math.Nextafter(step, 0), math.Nextafter(step, math.Inf(1)), step-c.Lattice/2)
	return all[rng.IntN(len(all))]
}

// expected computes the vector of a row by P39 word for word: a value that is not finite adds 0, else it is weighed, clamped and rounded.
func expected(c *coordinate, x, weight float64) int64 {
	if math.IsNaN(x) || math.IsInf(x, 0) || math.IsNaN(weight) {
		return 0
	}
	x = math.Min(math.Max(x, c.Low), c.High) * weight
	x = math.Min(math.Max(x, c.low), c.high)
	return int64(math.Floor(x/c.Lattice + (3<<43 + 0.5) - 3<<43))
}

// Rows that are added up batch by batch add what each of them adds alone, whatever is in them, and a column as it is adds what an
// expression with the same values adds.
func TestRowsOfAllKinds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	cases := 0
	for k := range 200 {
		low := math.Ldexp(rng.Float64()*4-2, rng.IntN(40)-20)
		c := sdk.Coordinate{Low: low, High: low + math.Ldexp(rng.Float64(), rng.IntN(40)-20)}
		size := math.Max(math.Abs(c.Low), math.Abs(c.High))
		_, e := math.Frexp(size)
		c.Lattice = math.Ldexp(1, e-rng.IntN(38))
		n := []int{1, 7, 64, 2049, 4500}[rng.IntN(5)]
		xs, codes, weights, valid := make([]float64, n), make([]int32, n), make([]float64, n), make([]byte, (n+7)/8)
		for i := range n {
			xs[i], codes[i], weights[i] = hostile(rng, c), rng.Int32N(4)-1, []float64{1, 0.5, 2.5, -1, 7, math.NaN()}[rng.IntN(6)]
			if rng.IntN(3) > 0 {
				valid[i/8] |= 1 << (i % 8)
			}
		}
		public, by := publicOf(x(-1e305, 1e305), group("a", "b", "c")), []string{"", "g"}[rng.IntN(2)]
		batch := sdk.Batch{Rows: n}
		if rng.IntN(2) > 0 {
			valid = nil
		}
		if rng.IntN(3) == 0 {
			public.Design.EqualWeights, public.Design.MaxWeight, public.Design.MinWeight = false, 2.5, 0.5
			if rng.IntN(3) > 0 {
				batch.Weights = weights
			}
		}
		for value, number := range map[string]func(x float64) float64{
			"x": func(x float64) float64 { return x }, "x + 0.0": func(x float64) float64 { return x },
			"x * 0.5": func(x float64) float64 { return x * 0.5 }, "0.75": func(float64) float64 { return 0.75 },
		} {
			c.Value = value
			query := sdk.Query{Coordinates: []sdk.Coordinate{c, {Value: "1", Low: 1, High: 1, Lattice: 1}}}
			places := 1
			if k%3 == 0 {
				query.Cells, places = []sdk.Split{{Value: "x", Count: 3}, {Value: "g", Texts: []string{"c", "a"}}}, 6
			}
			q, err := NewQueries(planOf(query), public, by, 1)
			if err != nil {
				continue // no row adds anything, or the lattice is too fine
			}
			batch.Columns = nil
			for _, name := range q.Columns {
				batch.Columns = append(batch.Columns, map[string]sdk.Values{"x": {Float64: xs, Valid: valid}, "g": {Codes: codes}}[name])
			}
			if err := q.Write(batch); err != nil {
				t.Fatal(err)
			}
			want := make([]int64, len(q.all[0].sums))
			for i := range n {
				cell, w, there := 0, 1.0, valid == nil || valid[i/8]>>(i%8)&1 == 1
				if batch.Weights != nil {
					w = math.Min(math.Max(weights[i], 0.5), 2.5)
				}
				if by != "" {
					cell = int(codes[i])
				}
				if places > 1 {
					second := []int{-1, 1, -1, 0}[codes[i]+1]
					if !there || !(xs[i] >= 0 && xs[i] < 3) || second < 0 || cell < 0 {
						continue
					}
					cell = cell*places + 2*int(xs[i]) + second
				}
				if cell < 0 {
					continue
				}
				own := &q.all[0].coordinates[0]
				if there || value == "0.75" {
					want[cell] += expected(own, number(xs[i]), w)
				}
				want[len(want)/2+cell] += expected(&q.all[0].coordinates[1], 1, w)
			}
			if got := q.Sums()[0]; fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%q of %+v, by %q, %d places, %d rows, weights %v, missing %v: %v, want %v", value, c, by, places, n,
					batch.Weights != nil, valid != nil, got, want)
			}
			cases++
		}
	}
	if cases < 300 {
		t.Errorf("only %d cases", cases)
	}
}
