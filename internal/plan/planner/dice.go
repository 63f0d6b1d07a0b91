package planner

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// Dice is a host whose noise comes from a fixed seed. It measures accuracy and protects
// nothing. When Quiet is set it adds no noise, which shows the query itself.
type Dice struct {
	Rand  *rand.Rand
	Quiet bool
	// Share, if positive, is the quantile at which the magnitude of the next Laplace draw
	// lies.
	Share float64
	// Scales lists the noise scales of the smooth releases so far. They depend on the values.
	Scales []float64

	_ struct{}
}

var _ sdk.Host = (*Dice)(nil)

func (d *Dice) laplace(scale float64) float64 {
	x := scale * d.Rand.ExpFloat64()
	if d.Share > 0 {
		x = -scale * math.Log1p(-d.Share)
		d.Share = 0
	}
	if d.Rand.IntN(2) == 0 {
		return -x
	}
	return x
}

// AddLaplace adds rounded Laplace noise.
func (d *Dice) AddLaplace(_ context.Context, ev privacy.DiscreteLaplace, values []int64) ([]int64, error) {
	for i := range values {
		if !d.Quiet {
			values[i] += int64(math.Round(d.laplace(ev.Scale)))
		}
	}
	return values, nil
}

// AddGaussian adds rounded normal noise.
func (d *Dice) AddGaussian(_ context.Context, ev privacy.DiscreteGaussian, values []int64) ([]int64, error) {
	for i := range values {
		if !d.Quiet {
			values[i] += int64(math.Round(ev.Sigma * d.Rand.NormFloat64()))
		}
	}
	return values, nil
}

// SmoothLaplace adds Laplace noise and notes its scale.
func (d *Dice) SmoothLaplace(_ context.Context, _ privacy.Approx, value, scale, _ float64) (float64, error) {
	d.Scales = append(d.Scales, scale)
	if d.Quiet {
		return value, nil
	}
	return value + d.laplace(scale), nil
}

// Select draws a point with the weights of the exponential mechanism. When Quiet is set
// it takes the middle of the best piece.
func (d *Dice) Select(_ context.Context, _ privacy.Selection, pieces []sdk.Piece, rate float64) (int64, error) {
	if len(pieces) == 0 {
		return 0, errors.New("nothing to select from")
	}
	best, lowest := pieces[0], pieces[0].At(lower(pieces[0]))
	for _, p := range pieces {
		if score := p.At(lower(p)); score < lowest {
			best, lowest = p, score
		}
	}
	if d.Quiet {
		if best.Slope != 0 {
			return lower(best), nil
		}
		return best.Lo + (best.Hi-best.Lo)/2, nil
	}
	total := 0.0
	weight := func(p sdk.Piece) float64 {
		return math.Exp(-rate*float64(p.At(lower(p))-lowest)) * geometric(rate*math.Abs(float64(p.Slope)), float64(p.Hi-p.Lo+1))
	}
	for _, p := range pieces {
		total += weight(p)
	}
	at := d.Rand.Float64() * total
	for _, p := range pieces {
		if at -= weight(p); at > 0 {
			continue
		}
		if p.Slope == 0 {
			return p.Lo + d.Rand.Int64N(p.Hi-p.Lo+1), nil
		}
		// Away from the lower end each step is e^−fall as likely.
		n, fall := float64(p.Hi-p.Lo+1), rate*math.Abs(float64(p.Slope))
		away := int64(-math.Log1p(d.Rand.Float64()*math.Expm1(-fall*n)) / fall)
		away = max(0, min(p.Hi-p.Lo, away))
		if p.Slope < 0 {
			return p.Hi - away, nil
		}
		return p.Lo + away, nil
	}
	return lower(best), nil
}

// lower is the end of a piece that has the lower score.
func lower(p sdk.Piece) int64 {
	if p.Slope < 0 {
		return p.Hi
	}
	return p.Lo
}

// geometric is the sum of e^−fall·i for the first n whole numbers i.
func geometric(fall, n float64) float64 {
	if fall == 0 {
		return n
	}
	return math.Expm1(-fall*n) / math.Expm1(-fall)
}

// RandomizeCategories runs randomized response.
func (d *Dice) RandomizeCategories(_ context.Context, ev privacy.RandomizedResponse, codes []int32) ([]int32, error) {
	if d.Quiet {
		return codes, nil
	}
	keep := 1 / (1 + float64(ev.K-1)*math.Exp(-ev.Eps0))
	for i, c := range codes {
		if d.Rand.Float64() >= keep {
			codes[i] = (c + 1 + d.Rand.Int32N(int32(ev.K)-1)) % int32(ev.K)
		}
	}
	return codes, nil
}

// NextBatch is not simulated.
func (d *Dice) NextBatch(ctx context.Context, _ privacy.LastIterate) ([]int64, error) {
	return d.NextSample(ctx, nil)
}

// NextSample is not simulated.
func (d *Dice) NextSample(context.Context, privacy.Sampling) ([]int64, error) {
	return nil, errors.New("mechanisms that draw samples of their own are not simulated")
}
