package measure

import (
	"context"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// Noise is a host that draws noise as the host of a run does. It serves no samples.
type Noise struct {
	sdk.Host
	Source *noise.Source
}

// AddLaplace adds discrete Laplace noise.
func (n Noise) AddLaplace(_ context.Context, ev privacy.DiscreteLaplace, v []int64) ([]int64, error) {
	return v, noise.AddDiscreteLaplace(n.Source, v, ev.Scale)
}

// AddGaussian adds discrete Gaussian noise.
func (n Noise) AddGaussian(_ context.Context, ev privacy.DiscreteGaussian, v []int64) ([]int64, error) {
	return v, noise.AddDiscreteGaussian(n.Source, v, ev.Sigma)
}

// Select draws a point with the weights of the exponential mechanism.
func (n Noise) Select(_ context.Context, _ privacy.Selection, pieces []sdk.Piece, rate float64) (int64, error) {
	in := make([]noise.Piece, len(pieces))
	for i, p := range pieces {
		in[i] = noise.Piece(p)
	}
	return noise.Select(n.Source, in, rate)
}
