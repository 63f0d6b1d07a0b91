package run

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// cellRows are the rows of one cell that a mechanism is given.
type cellRows struct {
	codes   []int32
	numbers []float64 // NaN where one is missing
	weights []float64
}

func (c *cellRows) Write(b sdk.Batch) error {
	c.codes, c.weights = append(c.codes, b.Columns[0].Codes...), append(c.weights, b.Weights...)
	for i, x := range b.Columns[1].Float64 {
		if b.Columns[1].Valid[i>>3]>>(i&7)&1 == 0 {
			x = math.NaN()
		}
		c.numbers = append(c.numbers, x)
	}
	return nil
}

// Whatever fits in memory, a mechanism sees the rows of each cell in their order, with their weights and what is missing of
// them.
func TestSpoolsGoToTheDisk(t *testing.T) {
	for _, weighted := range []bool{false, true} {
		for _, memory := range []int64{0, 100, 10_000, math.MaxInt64} {
			r := rand.New(rand.NewPCG(7, 8))
			const cells = 5
			s, want := newSpool(cells, memory), make([]cellRows, cells)
			for range 20 {
				n := r.IntN(200)
				cell, codes, x := make([]int32, n), make([]int32, n), make([]float64, n)
				valid, weights := make([]byte, (n+7)/8), []float64(nil)
				if weighted {
					weights = make([]float64, n)
				}
				for i := range n {
					cell[i], codes[i], x[i] = int32(r.IntN(cells+1))-1, int32(r.IntN(9))-1, r.Float64()
					if r.IntN(3) > 0 {
						valid[i>>3] |= 1 << (i & 7)
					}
					if weighted {
						weights[i] = r.Float64()
					}
					if c := cell[i]; c >= 0 {
						one := cellRows{[]int32{codes[i]}, []float64{x[i]}, nil}
						if valid[i>>3]>>(i&7)&1 == 0 {
							one.numbers[0] = math.NaN()
						}
						want[c].codes, want[c].numbers = append(want[c].codes, one.codes...), append(want[c].numbers, one.numbers...)
						if weighted {
							want[c].weights = append(want[c].weights, weights[i])
						}
					}
				}
				if err := s.add(cell, []sdk.Values{{Codes: codes}, {Float64: x, Valid: valid}}, weights); err != nil {
					t.Fatal(err)
				}
			}
			for c := range want {
				for range 2 { // a mechanism may be run twice
					got := cellRows{}
					if err := s.feed(c, &got); err != nil {
						t.Fatal(err)
					}
					same := func(a, b float64) bool { return a == b || a != a && b != b }
					if !slices.Equal(got.codes, want[c].codes) || !slices.EqualFunc(got.numbers, want[c].numbers, same) || !reflect.DeepEqual(got.weights, want[c].weights) {
						t.Fatalf("with %d bytes cell %d has %v, want %v", memory, c, got, want[c])
					}
				}
			}
			s.Close()
		}
	}
}
