package pipeline

import (
	"errors"
	"math"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// drawer draws what a mechanism asks for, from a stream of its own.
type drawer struct{ src *noise.Source }

func (d drawer) AddLaplace(values []int64, scale float64) error {
	return noise.AddDiscreteLaplace(d.src, values, scale)
}

func (d drawer) AddGaussian(values []int64, sigma float64) error {
	return noise.AddDiscreteGaussian(d.src, values, sigma)
}

func (d drawer) SmoothLaplace(value, scale, granularity float64) (float64, error) {
	return noise.SmoothLaplace(d.src, value, scale, granularity)
}

func (d drawer) Select(pieces []sdk.Piece, rate float64) (int64, error) {
	all := make([]noise.Piece, len(pieces))
	for i, p := range pieces {
		all[i] = noise.Piece{Lo: p.Lo, Hi: p.Hi, Score: p.Score}
	}
	return noise.Select(d.src, all, rate)
}

// Randomize keeps a category with probability num/2^62 at most e^ε0/(e^ε0+k−1):
// the float is rounded down so that the response is at most ε0-private (P15).
func (d drawer) Randomize(codes []int32, k int, eps0 float64) error {
	num, den, err := keepProbability(k, eps0)
	if err != nil {
		return err
	}
	for i, c := range codes {
		r, err := noise.RandomizedResponse(d.src, int(c), k, num, den)
		if err != nil {
			return err
		}
		codes[i] = int32(r)
	}
	return nil
}

var errResponse = errors.New("randomized response: k must be at least 2 and ε0 non-negative")

// keepProbability is the largest num/2^52 whose odds against each other category
// are certainly at most e^ε0.
func keepProbability(k int, eps0 float64) (num, den uint64, err error) {
	if k < 2 || !(eps0 >= 0) {
		return 0, 0, errResponse
	}
	const whole = 1 << 52
	// keep = 1/(1+(k−1)e^−ε0); a relative margin of 2^-45 covers the rounding of
	// exp, of the sum and of the quotient, each a few units in the last place.
	keep := 1 / (1 + float64(k-1)*math.Exp(-eps0))
	lost := float64(k-1) * math.Exp(-eps0) * keep * (1 + 0x1p-40) * whole
	num = whole - uint64(math.Ceil(lost))
	if num <= whole/uint64(k) {
		return 1, uint64(k), nil // nothing is left: every category is as likely
	}
	return num, whole, nil
}

// Shuffle permutes uniformly (Fisher–Yates with exact integers).
func (d drawer) Shuffle(codes []int32) error {
	for i := len(codes) - 1; i > 0; i-- {
		j := d.src.Uint64n(uint64(i) + 1)
		codes[i], codes[j] = codes[j], codes[i]
	}
	return d.src.Err()
}

// Sample draws a fresh sample of the rows that were streamed.
func (d drawer) Sample(ev privacy.Sampling, rows int64) ([]int64, error) {
	return drawRows(d.src, ev, rows)
}
