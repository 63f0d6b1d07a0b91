package sdk

import (
	"context"

	"github.com/dprelease/dprelease/privacy"
)

// Host is what the host does for a mechanism during a release. Every call names
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
	// tile the public range.
	Select(ctx context.Context, ev privacy.Pure, pieces []Piece, rate float64) (int64, error)
	// RandomizeCategories runs every category through randomized response.
	RandomizeCategories(ctx context.Context, ev privacy.RandomizedResponse, codes []int32) ([]int32, error)
	// NextSample draws a fresh sample of the streamed rows: their indices in
	// ascending order. It comes after the last row has been read; the noise calls of
	// ev's inner event must follow. Only Poisson samples can be drawn.
	NextSample(ctx context.Context, ev privacy.Sampling) ([]int64, error)
	// NextBatch gives the streamed rows that the next step of a last iterate takes, as
	// indices in ascending order; AddGaussian with the noise of the step must follow.
	// Every row is in one batch of a pass, chosen without regard to any value, and in
	// the same one in every pass. Full batches are not asked for. It comes after the
	// last row has been read.
	NextBatch(ctx context.Context, ev privacy.LastIterate) ([]int64, error)
}

// Piece is a run of lattice points [Lo, Hi] with one score.
type Piece struct {
	Lo, Hi int64
	Score  int64
}

// Rows is the stream of the rows in the sample, in the order of the table.
type Rows interface {
	// Next returns the next batch, or io.EOF after the last. A batch is valid
	// until the next call.
	Next() (*Batch, error)
}

// Batch is some rows of the columns that the plan asked for. Its slices may be
// memory that cannot be written: a mechanism that changes values copies them first.
type Batch struct {
	n       int
	columns []batchColumn
	weights []float64
}

type batchColumn struct {
	floats []float64
	codes  []int32
	valid  []byte
}

// Len is the number of rows.
func (b *Batch) Len() int { return b.n }

// Float64 returns the values of column i of the plan, a Number. A value that is
// not valid is unspecified but finite.
func (b *Batch) Float64(i int) []float64 { return b.columns[i].floats }

// Codes returns column i of the plan, a Category: indices into its domain, or
// -1 where the value is missing.
func (b *Batch) Codes(i int) []int32 { return b.columns[i].codes }

// Valid returns the validity bitmap of column i, least significant bit first,
// or nil where every value is valid.
func (b *Batch) Valid(i int) []byte { return b.columns[i].valid }

// IsValid reports whether the value in row of column i is present.
func (b *Batch) IsValid(i, row int) bool {
	v := b.columns[i].valid
	return v == nil || v[row>>3]>>(row&7)&1 == 1
}

// Weights returns the design weights of the rows, or nil where all are equal.
func (b *Batch) Weights() []float64 { return b.weights }
