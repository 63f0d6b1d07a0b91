// Package insecurenoise makes sources whose draws are known. It is for tests only: a
// release with such a source protects nobody. A test of internal/noise fails when other
// code than tests imports this package. It imports internal/noise.
package insecurenoise

import (
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
