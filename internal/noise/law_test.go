package noise

import (
	"math/bits"
	"testing"

	"github.com/dprelease/dprelease/internal/noise/internal/known"
	"github.com/dprelease/dprelease/internal/noise/noisetest"
)

// explore walks through all choices of draw.
func explore(prune float64, draw func(*Source) int64) (mass map[int64]float64, rest float64) {
	return noisetest.Explore(prune, func(choose func(uint64) uint64) int64 { return draw(newScript(choose)) })
}

// newScript makes a Source of choices.
func newScript(choose func(uint64) uint64) *Source { return Known(known.Choices{Choose: choose}) }

// words makes a tape of 64-bit words.
func words(w ...uint64) *Source {
	var b []byte
	for _, x := range w {
		for i := range 8 {
			b = append(b, byte(x>>(8*i)))
		}
	}
	return Known(known.Choices{Tape: b})
}

// choice returns a word that Uint64n(n) maps to j without rejection.
func choice(j, n uint64) uint64 {
	q, r := bits.Div64(j, 0, n) // j·2^64/n
	if r > 0 {
		q++
	}
	// One more for each word that the rejection of low halves could skip: none,
	// or one, as a low half grows by n with each word.
	if _, lo := bits.Mul64(q, n); lo < -n%n {
		q++
	}
	return q
}

func newSourceT(t testing.TB) *Source {
	t.Helper()
	s, err := NewSource()
	if err != nil {
		t.Fatal(err)
	}
	return s
}
