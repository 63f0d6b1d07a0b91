package samplers

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/combin"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/noise/insecurenoise"
	"github.com/dprelease/dprelease/internal/noise/noisetest"
)

// drawParts draws a table of some rows in blocks of two, cut into parts, from a script.
func drawParts(t testing.TB, d Design, rows int, cuts []int, taken []int64, src *noise.Source) (set int64) {
	t.Helper()
	for i, first := range cuts {
		end := rows
		if i+1 < len(cuts) {
			end = cuts[i+1]
		}
		p := Part{Table: int64(rows), First: int64(first), Rows: int64(end - first), Taken: taken}
		sel, err := beginPart(d, p, 2, ways["sequential"], func(int64) *noise.Source { return src })
		if err != nil {
			t.Fatal(err)
		}
		drawn, _ := collect(t, sel, end-first, nil, 1, 3)
		for _, r := range drawn {
			set |= 1 << (first + r)
		}
	}
	return set
}

// allocations are ways to find how many rows each block of two gets: the right one, and two that are wrong.
var allocations = map[string]func(t testing.TB, src *noise.Source, size, rows int) []int64{
	"drawn": func(t testing.TB, src *noise.Source, size, rows int) []int64 {
		taken, err := counts(ways["sequential"](src, int64(size), int64(rows)), []int64{int64(rows)}, 2)
		if err != nil {
			t.Fatal(err)
		}
		return taken[0]
	},
	"proportional": func(_ testing.TB, _ *noise.Source, size, rows int) []int64 {
		out, left := []int64{}, size
		for at := 0; at < rows; at += 2 {
			n := min(left, (size*min(2, rows-at)+rows-1)/rows)
			out, left = append(out, int64(n)), left-n
		}
		return out
	},
	"a block for each row drawn": func(_ testing.TB, src *noise.Source, size, rows int) []int64 {
		out := make([]int64, (rows+1)/2)
		for n := 0; n < size; {
			b := int(src.Uint64n(uint64(len(out))))
			if out[b] < int64(min(2, rows-2*b)) {
				out[b]++
				n++
			}
		}
		return out
	},
}

// Every subset has exactly its probability, however the table is cut at block boundaries: all choices of the host and of
// the parts are walked through. Counts that are not those of a uniform subset are caught.
func TestPartsOfFixedSizeExplored(t *testing.T) {
	for name, allocate := range allocations {
		for _, c := range []struct {
			rows, size int
			cuts       []int
		}{{4, 2, []int{0, 2}}, {5, 2, []int{0, 2, 4}}, {5, 3, []int{0, 4}}, {6, 3, []int{0, 2, 4}}, {6, 4, []int{0}}} {
			d := must[*SRSWOR](t)(NewSRSWOR(int64(c.size), int64(c.rows)))
			mass, rest := noisetest.Explore(1e-5, func(choose func(uint64) uint64) int64 {
				src := insecurenoise.NewScript(choose)
				return drawParts(t, d, c.rows, c.cuts, allocate(t, src, c.size, c.rows), src)
			})
			worst, want := 0.0, 1/float64(combin.Binomial(c.rows, c.size))
			for set := range int64(1) << c.rows {
				p := 0.0
				if bits.OnesCount64(uint64(set)) == c.size {
					p = want
				}
				worst = math.Max(worst, math.Abs(mass[set]-p))
			}
			switch exact := worst <= rest+1e-12; {
			case name == "drawn" && !exact:
				t.Errorf("%d of %d: a subset is off by %g", c.size, c.rows, worst)
			case name != "drawn" && exact:
				t.Errorf("%s, %d of %d: the mistake is not seen", name, c.size, c.rows)
			}
		}
	}
}

// The same rows are drawn however the table is cut, and again when a part is drawn again; of a fixed size exactly so many.
func TestPartsDoNotDependOnTheCut(t *testing.T) {
	const rows = 3*PartBlock + 1234
	key := newSource(t).NewKey()
	for _, d := range []Design{
		must[*Poisson](t)(NewPoisson(mustRate(t, "0.3"), rows)), must[*Poisson](t)(NewPoisson(mustRate(t, "1/1000"), 0)),
		must[*SRSWOR](t)(NewSRSWOR(50000, rows)), must[*SRSWOR](t)(NewSRSWOR(200, rows)), must[*Full](t)(NewFull(0)),
	} {
		var taken []int64
		if FixedSize(d) {
			all, err := Counts(d, newSource(t), []int64{rows})
			if err != nil {
				t.Fatal(err)
			}
			taken = all[0]
		}
		draw := func(cuts ...int) (out []int) {
			cuts = append(cuts, rows)
			for i, first := range cuts[:len(cuts)-1] {
				sel, err := BeginPart(d, Part{Key: key, Table: rows, First: int64(first), Rows: int64(cuts[i+1] - first), Taken: taken})
				if err != nil {
					t.Fatal(err)
				}
				drawn, _ := collect(t, sel, cuts[i+1]-first, nil, 1000, 7, 50000)
				for _, r := range drawn {
					out = append(out, first+r)
				}
			}
			return out
		}
		one := draw(0)
		if n := d.Facts().SampleSize; n > 0 && int64(len(one)) != n {
			t.Errorf("%s: %d rows of %d", d.Kind(), len(one), n)
		}
		for _, cuts := range [][]int{{0}, {0, PartBlock, 2 * PartBlock, 3 * PartBlock}, {0, 1, 17, PartBlock - 1, PartBlock + 5, rows - 1}, {0, 0, 100000, 100000}} {
			if !slices.Equal(one, draw(cuts...)) {
				t.Errorf("%s: cut at %v other rows are drawn", d.Kind(), cuts)
			}
		}
	}
}

// Poisson: what each block selects has the law of its coins, and blocks are independent. With the stream of one block
// used for all of them, which the twin does, the number of rows drawn varies too much.
func TestPartsOfPoisson(t *testing.T) {
	const rows, draws = 64 * 8, 4000
	d := must[*Poisson](t)(NewPoisson(mustRate(t, "1/4"), 0))
	law := func(stream func(key noise.Key, b int64) *noise.Source) (mean, variance float64) {
		src, sum, squares := newSource(t), 0.0, 0.0
		for range draws {
			key := src.NewKey()
			sel, err := beginPart(d, Part{Table: rows, Rows: rows}, 64, newSubset, func(b int64) *noise.Source { return stream(key, b) })
			if err != nil {
				t.Fatal(err)
			}
			drawn, _ := collect(t, sel, rows, nil, rows)
			n := float64(len(drawn))
			sum, squares = sum+n, squares+n*n
		}
		return sum / draws, squares/draws - sum*sum/draws/draws
	}
	// A binomial variance of 96; its estimate has a relative deviation of √(2/4000) = 0.022.
	// Its mean of 128 has the deviation √(96/4000) = 0.155. Six of either fail once in 10⁸.
	if m, v := law(func(k noise.Key, b int64) *noise.Source { return k.Derive("draw", uint64(b)).Source() }); math.Abs(v-96) > 96*0.022*6 || math.Abs(m-128) > 0.155*6 {
		t.Errorf("the mean is %g, the variance %g", m, v)
	}
	if _, v := law(func(k noise.Key, _ int64) *noise.Source { return k.Derive("draw", 0).Source() }); v < 96*2 {
		t.Errorf("one stream for all blocks is not noticed: the variance is %g", v)
	}
}

// Keys of other places and purposes give other streams, and the same ones the same.
func TestKeyedStreams(t *testing.T) {
	key, seen := newSource(t).NewKey(), map[string]bool{}
	for _, k := range []noise.Key{key, key.Derive("draw"), key.Derive("draw", 0), key.Derive("draw", 1), key.Derive("cap", 0), key.Derive("draw", 0, 0)} {
		seen[fmt.Sprint(k.Source().Uint64(), k.Source().Uint64())] = true
	}
	first := func() uint64 { return key.Derive("draw", 1).Source().Uint64() }
	if once, again := first(), first(); len(seen) != 6 || once != again {
		t.Error("streams are shared, or do not repeat")
	}
}
