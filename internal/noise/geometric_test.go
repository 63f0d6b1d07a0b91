package noise

import (
	"math"
	"math/big"
	"testing"

	"github.com/dprelease/dprelease/internal/noise/noisetest"
)

func TestGeometricTape(t *testing.T) {
	// p = 1/4 by blocks of 4 trials. (3/4)^4 = 0.3164: the word 2^62 (0.25) says a
	// block fails, 2^63 (0.5) that the next does not. r is two bits: 3; its coin
	// (3/4)^3 = 0.4219: 0.5 refuses; again r = 2 and (3/4)^2 = 0.5625: 0.5 takes
	// it. 4 + 2 = 6.
	g := byBlocks(t, 1, 4)
	s := words(1<<62, 1<<63, 3<<62, 1<<63, 2<<62, 1<<63)
	if got := g.Draw(s); got != 6 || s.pos != 48 || s.Err() != nil {
		t.Errorf("got %d after %d bytes, %v", got, s.pos, s.Err())
	}
	// By search: 0.5 lies between (3/4)^3 and (3/4)^2: 2. The word 0 is below all
	// of the table, whose last is (3/4)^20 < 2^-8: 20 and a fresh draw.
	g, err := NewGeometric(1, 4)
	if err != nil {
		t.Fatal(err)
	}
	s = words(1<<63, 0, 1<<63, 3<<62-1, 3<<62+2)
	for _, want := range []uint64{2, 22, 1, 0} {
		if got := g.Draw(s); got != want || s.Err() != nil {
			t.Errorf("got %d, want %d, %v", got, want, s.Err())
		}
	}
}

// byBlocks prepares the way for small p whatever p.
func byBlocks(t *testing.T, num, den uint64) *Geometric {
	t.Helper()
	g, err := NewGeometric(num, den)
	if err != nil {
		t.Fatal(err)
	}
	g.power, g.guide, g.digit = nil, nil, nil
	g.prepareBlocks(num, den)
	return g
}

// The table and its guide: each word of the table encloses its power, and a
// search from the guide ends where one from the start would.
func TestGeometricSearchTable(t *testing.T) {
	for _, c := range [][2]uint64{{1, 2}, {9, 10}, {1, 3}, {1, 100}, {3602879701896397, 1 << 55}, {1, 1023}} {
		g, err := NewGeometric(c[0], c[1])
		if err != nil {
			t.Fatal(err)
		}
		if n := len(g.power); n < 2 || n > 6000 || g.power[n-1] >= 1<<56 || g.power[n-2] < 1<<56 {
			t.Fatalf("p=%d/%d: a table of %d", c[0], c[1], n)
		}
		for i, w := range g.power {
			lo, hi := power{g.q, uint64(i)}.at(256)
			at := new(big.Int).Lsh(new(big.Int).SetUint64(w), 192)
			end := new(big.Int).Lsh(new(big.Int).Add(new(big.Int).SetUint64(w), big.NewInt(2)), 192)
			if at.Cmp(hi) > 0 || end.Cmp(lo) < 0 {
				t.Fatalf("p=%d/%d: word %d does not enclose its power", c[0], c[1], i)
			}
			if i > 0 && g.power[i-1]-w < 1<<40 {
				t.Fatalf("p=%d/%d: powers %d and %d are too close", c[0], c[1], i-1, i)
			}
			if i == 0 || i == len(g.power)-1 {
				continue
			}
			next := new(big.Int).Rsh(lo, 128).Uint64()
			first := new(big.Int).Rsh(lo, 192).Uint64()
			for _, x := range []struct {
				tape []uint64
				want uint64
			}{
				{[]uint64{w - 1}, uint64(i)}, {[]uint64{w + 3}, uint64(i) - 1},
				{[]uint64{first, next - 1<<10}, uint64(i)}, {[]uint64{first, next + 1<<10}, uint64(i) - 1},
			} {
				if next < 1<<11 || next > 1<<64-1<<11 {
					continue // exact powers such as 1/2 have no word that ties
				}
				s := words(x.tape...)
				if got := g.Draw(s); got != x.want || s.Err() != nil {
					t.Fatalf("p=%d/%d, %x: %d, want %d, %v", c[0], c[1], x.tape, got, x.want, s.Err())
				}
			}
		}
	}
}

// The words of the digit tables enclose their powers, at every level.
func TestGeometricDigitTables(t *testing.T) {
	for _, den := range []uint64{2, 3, 1000, 1 << 20, 1_000_003, 1 << 40, 1<<64 - 1} {
		g := byBlocks(t, 1, den)
		if want := (int(g.k) + 7) / 8; len(g.digit) != want {
			t.Fatalf("1/%d: %d tables, want %d", den, len(g.digit), want)
		}
		for i, table := range g.digit {
			for _, d := range []int{0, 1, 2, 3, 17, 100, 254, 255} {
				if d >= 1<<min(8, int(g.k)-8*i) {
					continue
				}
				w := table[d]
				lo, hi := power{g.q, uint64(d) << (8 * i)}.at(256)
				at := new(big.Int).Lsh(new(big.Int).SetUint64(w), 192)
				end := new(big.Int).Lsh(new(big.Int).Add(new(big.Int).SetUint64(w), big.NewInt(2)), 192)
				if at.Cmp(hi) > 0 || end.Cmp(lo) < 0 {
					t.Errorf("1/%d: word %d of table %d does not enclose its power", den, d, i)
				}
			}
		}
	}
}

// fails decides as the exact power does, at the words around its threshold.
func TestGeometricDecidesAtTheThreshold(t *testing.T) {
	for _, c := range [][2]uint64{{1, 3}, {1, 100}, {1, 3000}, {3602879701896397, 1 << 55}, {1, 1_000_003}, {7, 1<<40 + 1}} {
		g := byBlocks(t, c[0], c[1])
		for _, r := range []uint64{1, 2, 3, 255, 256, 257, 1000, 65_537, 1<<g.k - 1} {
			if r >= 1<<g.k {
				continue
			}
			lo, _ := power{g.q, r}.at(256) // (1 − p)^r to 256 digits
			w := new(big.Int).Rsh(lo, 192).Uint64()
			next := new(big.Int).Rsh(lo, 128).Uint64()
			for _, x := range []struct {
				tape []uint64
				want bool
			}{
				{[]uint64{w - 1, 0}, true}, {[]uint64{w + 1, 0}, false},
				{[]uint64{w - 40, 0}, true}, {[]uint64{w + 40, 0}, false},
				{[]uint64{w, next - 1<<10, 0}, true}, {[]uint64{w, next + 1<<10, 0}, false},
			} {
				if next < 1<<11 || next > 1<<64-1<<11 || w < 50 || w > 1<<64-50 {
					continue
				}
				s := words(x.tape...)
				if got := g.failsWithin(s, r); got != x.want || s.Err() != nil {
					t.Errorf("p=%d/%d, r=%d, %x of %x %x: %v, %v", c[0], c[1], r, x.tape, w, next, got, s.Err())
				}
			}
		}
	}
}

// The powers enclose the exact rational power, computed without rounding.
func TestPowerBounds(t *testing.T) {
	for _, q := range [][2]int64{{2, 3}, {99, 100}, {1, 1000}, {999_999, 1_000_000}} {
		for _, e := range []uint64{0, 1, 2, 3, 17, 255, 1000} {
			p := power{[2]*big.Int{big.NewInt(q[0]), big.NewInt(q[1])}, e}
			exp := new(big.Int).SetUint64(e)
			num := new(big.Int).Exp(p.q[0], exp, nil)
			den := new(big.Int).Exp(p.q[1], exp, nil)
			for _, prec := range []uint{64, 128, 500} {
				lo, hi := p.at(prec)
				x := new(big.Int).Lsh(num, prec)
				if new(big.Int).Mul(lo, den).Cmp(x) > 0 || new(big.Int).Mul(hi, den).Cmp(x) < 0 {
					t.Errorf("(%d/%d)^%d at %d bits is not enclosed", q[0], q[1], e, prec)
				}
				if w := new(big.Int).Sub(hi, lo); w.Cmp(big.NewInt(2)) > 0 {
					t.Errorf("(%d/%d)^%d at %d bits: bounds %s apart", q[0], q[1], e, prec, w)
				}
			}
		}
	}
}

func TestGeometricFit(t *testing.T) {
	const n, cells = 300_000, 64
	s := newSourceT(t)
	for i, c := range [][2]uint64{
		{1, 2}, {9, 10}, {1, 3}, {1, 100}, {3, 2000}, // by search
		{2, 3}, {1, 3}, {3, 10}, {1, 100}, {1, 5000}, {3, 1_000_000}, {1, 1 << 40}, {1, 1 << 57}, // by blocks
	} {
		g, err := NewGeometric(c[0], c[1])
		if err != nil {
			t.Fatal(err)
		}
		if i >= 5 {
			g = byBlocks(t, c[0], c[1])
		}
		p := float64(c[0]) / float64(c[1])
		above := func(x float64) float64 { return math.Exp(x * math.Log1p(-p)) } // P(G ≥ x)
		var edges []float64
		for j := range cells {
			e := math.Ceil(math.Log1p(-float64(j)/cells) / math.Log1p(-p))
			if len(edges) == 0 || e > edges[len(edges)-1] {
				edges = append(edges, e)
			}
		}
		counts, probs := make([]int, len(edges)), make([]float64, len(edges))
		for j := range edges {
			if probs[j] = above(edges[j]); j+1 < len(edges) {
				probs[j] -= above(edges[j+1])
			}
		}
		for range n {
			x, j := float64(g.Draw(s)), 0
			for j+1 < len(edges) && x >= edges[j+1] {
				j++
			}
			counts[j]++
		}
		noisetest.CheckCells(t, "geometric", n, counts, probs)
	}
	for _, c := range [][2]uint64{{0, 1}, {1, 1}, {2, 1}, {0, 0}} {
		if _, err := NewGeometric(c[0], c[1]); err == nil {
			t.Errorf("%d/%d is accepted", c[0], c[1])
		}
	}
	huge, err := NewGeometric(1, 1<<64-1)
	if err != nil {
		t.Fatal(err)
	}
	// Three failed blocks of 2^63 trials are more than int64 holds.
	turn := 0
	if x := huge.Draw(newScript(func(uint64) uint64 {
		if turn++; turn == 4 {
			return ^uint64(0)
		}
		return 0
	})); x != math.MaxInt64 {
		t.Errorf("a draw of %d", x)
	}
}

func BenchmarkNewGeometric(b *testing.B) {
	for b.Loop() {
		if _, err := NewGeometric(1, 1000); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGeometric(b *testing.B) {
	s := newSourceT(b)
	for name, den := range map[string]uint64{"search": 100, "blocks": 10_000} {
		g, err := NewGeometric(1, den)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				g.Draw(s)
			}
		})
	}
}
