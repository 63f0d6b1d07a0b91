package insecurenoise

import (
	"math/rand/v2"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/noise/internal/known"
)

// NewTape returns a Source that reads b instead of random bits. When b runs out, Err
// reports noise.ErrTape, every draw that can fail does, and a fixed stream takes over so
// that every loop still ends.
func NewTape(b []byte) *noise.Source { return noise.Known(known.Choices{Tape: b}) }

// NewScript returns a Source whose every choice is made by choose, for tests that walk
// through all of a sampler's choices and add up their exact probabilities. choose(n)
// stands for a uniform integer in [0, n), and choose(0) for 64 fair bits.
func NewScript(choose func(n uint64) uint64) *noise.Source {
	return noise.Known(known.Choices{Choose: choose})
}

// NewSeeded returns a Source that makes the same choices in every run, for tests that
// compare noisy numbers.
func NewSeeded(seed uint64) *noise.Source {
	r := rand.New(rand.NewPCG(seed, 0))
	return NewScript(func(n uint64) uint64 {
		if n == 0 {
			return r.Uint64()
		}
		return r.Uint64N(n)
	})
}
