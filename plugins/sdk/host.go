package sdk

import (
	"context"
	"errors"

	"github.com/dprelease/dprelease/privacy"
)

// ErrHost says that the host refused a noise call or could not answer it. The
// release has then failed, whatever the mechanism does.
var ErrHost = errors.New("host refused the noise call")

// Host serves a mechanism during a release: it draws the noise. Every call names
// the event that it causes, which must be the next leaf of the plan's event;
// any other call fails the release.
type Host interface {
	// AddLaplace returns values with discrete Laplace noise of ev.Scale added to
	// each. ev.Sensitivity is the L1 sensitivity of the whole vector.
	AddLaplace(ctx context.Context, ev privacy.DiscreteLaplace, values []int64) ([]int64, error)
	// AddGaussian returns values with discrete Gaussian noise of ev.Sigma added
	// to each. ev.Sensitivity is the L2 sensitivity of the whole vector.
	AddGaussian(ctx context.Context, ev privacy.DiscreteGaussian, values []int64) ([]int64, error)
	// SmoothLaplace returns value + scale·Lap(1) on the lattice of the given
	// granularity, which must be that of a planned output column and a power of two.
	// The scale is private: it depends on the data.
	SmoothLaplace(ctx context.Context, ev privacy.Approx, value, scale, granularity float64) (float64, error)
	// Select draws a lattice point with probability ∝ exp(−rate·score); pieces
	// tile the public range. An event with Parts takes that many calls.
	Select(ctx context.Context, ev privacy.Selection, pieces []Piece, rate float64) (int64, error)
	// RandomizeCategories runs every category through randomized response.
	RandomizeCategories(ctx context.Context, ev privacy.RandomizedResponse, codes []int32) ([]int32, error)
	// NextSample draws a fresh sample of the streamed rows: their indices in
	// ascending order. It comes after the last row has been read; the noise calls of
	// ev's inner event must follow. Only Poisson samples can be drawn.
	NextSample(ctx context.Context, ev privacy.Sampling) ([]int64, error)
	// NextBatch returns the streamed rows that the next step of a last iterate takes, as
	// indices in ascending order; AddGaussian with the noise of the step must follow. In
	// every pass each row is in one batch, always the same one, chosen without regard to
	// any value. A step on all rows makes no such call. It comes after the last row has
	// been read.
	NextBatch(ctx context.Context, ev privacy.LastIterate) ([]int64, error)
}

// Piece is a run of lattice points [Lo, Hi]. The score of point x is
// Score + Slope·(x − Lo).
type Piece struct {
	Lo, Hi int64
	Score  int64
	Slope  int64
}

// At is the score of a point.
func (p Piece) At(x int64) int64 { return p.Score + p.Slope*(x-p.Lo) }

// Rows is the stream of the rows in the sample, in the order of the table.
type Rows interface {
	// Next returns the next batch, or io.EOF after the last. A batch is valid
	// until the next call.
	Next() (*Batch, error)
}
