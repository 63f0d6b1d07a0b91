package host

import (
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// Drawer draws what a plugin asks for. It is called from one goroutine at a time,
// and only with calls that the plan has next. An error of any method fails the
// release with CodeNoiseFailed.
type Drawer interface {
	// AddLaplace adds discrete Laplace noise to each value, in place.
	AddLaplace(values []int64, scale float64) error
	// AddGaussian adds discrete Gaussian noise to each value, in place.
	AddGaussian(values []int64, sigma float64) error
	// SmoothLaplace returns value + scale·Lap(1), rounded to the lattice.
	SmoothLaplace(value, scale, granularity float64) (float64, error)
	// Select draws a lattice point with probability ∝ exp(−rate·score).
	Select(pieces []sdk.Piece, rate float64) (int64, error)
	// Randomize runs every code, each in [0, k), through k-ary randomized response
	// of at most eps0, in place.
	Randomize(codes []int32, k int, eps0 float64) error
	// Shuffle permutes the codes uniformly, in place.
	Shuffle(codes []int32) error
	// Sample draws a fresh sample of rows, as indices in [0, rows), ascending.
	Sample(ev privacy.Sampling, rows int64) ([]int64, error)
	// Batch gives the rows of one step of a last iterate, counted from 0, as indices in
	// [0, rows), ascending. Step 0 draws the assignment of rows to batches.
	Batch(ev privacy.LastIterate, rows, step int64) ([]int64, error)
}
