package noise

import (
	"testing"

	"github.com/dprelease/dprelease/internal/noise/noisetest"
)

func TestRandomizedResponseExplored(t *testing.T) {
	for k := 2; k <= 5; k++ {
		for num := uint64(0); num <= 7; num++ {
			for category := range k {
				mass, rest := explore(1e-9, func(s *Source) int64 {
					x, err := RandomizedResponse(s, category, k, num, 7)
					if err != nil {
						t.Fatal(err)
					}
					return int64(x)
				})
				noisetest.CheckExplored(t, "randomized response", mass, rest, 0, func(x int64) float64 {
					keep := float64(num) / 7
					if x == int64(category) {
						return keep
					}
					return (1 - keep) / float64(k-1)
				})
			}
		}
	}
}

func TestRandomizedResponseTape(t *testing.T) {
	for _, c := range []struct {
		tape []uint64
		want int
	}{
		{[]uint64{choice(4, 7)}, 2},
		{[]uint64{choice(5, 7), choice(0, 4)}, 0},
		{[]uint64{choice(6, 7), choice(2, 4)}, 3},
		{[]uint64{choice(6, 7), choice(3, 4)}, 4},
	} {
		if got, err := RandomizedResponse(words(c.tape...), 2, 5, 5, 7); got != c.want || err != nil {
			t.Errorf("got %d, %v; want %d", got, err, c.want)
		}
	}
}

func TestRandomizedResponseRefuses(t *testing.T) {
	s := newSourceT(t)
	for _, c := range []struct {
		category, k int
		num, den    uint64
	}{{0, 1, 1, 2}, {0, 2, 1, 0}, {0, 2, 3, 2}, {2, 2, 1, 2}, {-1, 2, 1, 2}} {
		if _, err := RandomizedResponse(s, c.category, c.k, c.num, c.den); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
	if _, err := RandomizedResponse(nil, 0, 2, 1, 2); err == nil {
		t.Error("a nil source is accepted")
	}
}
