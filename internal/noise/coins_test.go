package noise

import (
	"math/bits"
	"testing"

	"github.com/dprelease/dprelease/internal/noise/noisetest"
)

// Six words in which the 64 lanes hold all 64 sequences of six digits: the
// number of lanes that show 1 is then the probability itself.
func TestTossExhaustively(t *testing.T) {
	var tape []uint64
	for d := range 6 {
		w := uint64(0)
		for lane := range uint64(64) {
			w |= lane >> (5 - d) & 1 << lane
		}
		tape = append(tape, w)
	}
	for num := uint64(0); num <= 64; num++ {
		c, err := NewCoins(num, 64)
		if err != nil {
			t.Fatal(err)
		}
		s := words(tape...)
		got := c.Toss(s)
		if bits.OnesCount64(got) != int(num) || s.Err() != nil {
			t.Errorf("%d/64 shows on %d of 64 lanes", num, bits.OnesCount64(got))
		}
		// Lane i holds the uniform i/64: it shows 1 exactly where i < num.
		if num < 64 && got != 1<<num-1 {
			t.Errorf("%d/64 shows %b", num, got)
		}
	}
}

// Lanes that follow 1/3 = 0.010101.. for all 64 digits are settled by the
// digits that follow.
func TestTossSettlesTies(t *testing.T) {
	var tape []uint64
	for i := range 64 {
		w := uint64(0) // every lane draws the digit of 1/3
		if i%2 == 1 {
			w = ^uint64(0)
		}
		tape = append(tape, w)
	}
	// Then each lane's own words: alternately just below and just above 1/3.
	for lane := range uint64(64) {
		tape = append(tape, 0x5555555555555554+2*(lane&1))
	}
	c, err := NewCoins(1, 3)
	if err != nil {
		t.Fatal(err)
	}
	s := words(tape...)
	if got := c.Toss(s); got != 0x5555555555555555 || s.Err() != nil || s.pos != len(s.buf) {
		t.Errorf("got %x after %d of %d bytes: %v", got, s.pos, len(s.buf), s.Err())
	}
}

func TestTossFit(t *testing.T) {
	const n = 20_000
	s := newSourceT(t)
	for _, c := range [][2]uint64{{1, 3}, {1, 100}, {99, 100}, {1, 1 << 20}, {3602879701896397, 1 << 55}, {1, 1<<64 - 1}} {
		coins, err := NewCoins(c[0], c[1])
		if err != nil {
			t.Fatal(err)
		}
		lanes := make([]int, 64)
		probs := make([]float64, 64)
		pairs := 0
		p := float64(c[0]) / float64(c[1])
		for range n {
			w := coins.Toss(s)
			for i := range lanes {
				lanes[i] += int(w >> i & 1)
				probs[i] = p
			}
			pairs += bits.OnesCount64(w & bits.RotateLeft64(w, 1) & 0x5555555555555555)
		}
		noisetest.CheckCells(t, "each lane", n, lanes, probs)
		// 32 disjoint pairs of neighbours: both show 1 with probability p².
		noisetest.CheckCells(t, "pairs of lanes", 32*n, []int{pairs}, []float64{p * p})
	}
	for _, c := range [][2]uint64{{0, 5}, {5, 5}} {
		coins, err := NewCoins(c[0], c[1])
		if err != nil {
			t.Fatal(err)
		}
		if w := coins.Toss(s); w != -b2u(c[0] == c[1]) {
			t.Errorf("%d/%d shows %x", c[0], c[1], w)
		}
	}
	for _, c := range [][2]uint64{{0, 0}, {2, 1}} {
		if _, err := NewCoins(c[0], c[1]); err == nil {
			t.Errorf("%d/%d is accepted", c[0], c[1])
		}
	}
}

func BenchmarkCoins(b *testing.B) {
	s := newSourceT(b)
	c, err := NewCoins(1, 5)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		c.Toss(s)
	}
	b.ReportMetric(b.Elapsed().Seconds()*1e9/64/float64(b.N), "ns/coin")
}
