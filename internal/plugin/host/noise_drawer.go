package host

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/dprelease/dprelease/internal/guard"
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// Drawer draws what a plugin asks for. It is called from one goroutine at a time,
// and only with calls that the plan has next. An error of any method fails the
// release with CodeNoiseFailed.
type Drawer interface {
	// Add adds the noise of an event to each value, in place: discrete Laplace or discrete Gaussian noise.
	Add(ev privacy.Event, values []int64) error
	// SmoothLaplace returns value + scale·Lap(1), rounded to the lattice.
	SmoothLaplace(ev privacy.Approx, value, scale, granularity float64) (float64, error)
	// Select draws a lattice point with probability ∝ exp(−rate·score).
	Select(ev privacy.Selection, pieces []sdk.Piece, rate float64) (int64, error)
	// Randomize runs every code, each in [0, ev.K), through randomized response of at
	// most ev.Eps0, in place.
	Randomize(ev privacy.RandomizedResponse, codes []int32) error
	// Shuffle permutes the codes uniformly, in place.
	Shuffle(codes []int32) error
	// Sample draws a fresh sample of rows, as indices in [0, rows), ascending.
	Sample(ev privacy.Sampling, rows int64) ([]int64, error)
	// Batch gives the rows of one step of a last iterate, counted from 0, as indices in
	// [0, rows), ascending. Step 0 draws the assignment of rows to batches.
	Batch(ev privacy.LastIterate, rows, step int64) ([]int64, error)
}

// NoiseDrawer draws with internal/noise (P16). It is not safe for concurrent use.
type NoiseDrawer struct {
	src *noise.Source
	// The skips of the last rate: an iterative mechanism draws with one rate many
	// times, and preparing a rate costs more than a draw.
	rate  float64
	skips *noise.Geometric
	order []int32 // the rows in the order in which batches take them
}

var _ Drawer = (*NoiseDrawer)(nil)

// NewDrawer returns a Drawer that draws from src.
func NewDrawer(src *noise.Source) *NoiseDrawer { return &NoiseDrawer{src: src} }

// listPart is the largest number of values that one goroutine adds noise to.
const listPart = 1 << 16

// Add adds the noise of an event to each value, in place.
func (d *NoiseDrawer) Add(ev privacy.Event, values []int64) error { return addNoise(d.src, ev, values) }

// addNoise adds noise from src, or, to each half of a long list, from a Child of src (P16): one goroutine a Source.
func addNoise(src *noise.Source, ev privacy.Event, values []int64) error {
	if len(values) > listPart {
		half := len(values) / 2
		var halves guard.Group
		var failed [2]error
		for i, part := range [][]int64{values[:half], values[half:]} {
			child := src.Child()
			halves.Run(func() { failed[i] = addNoise(child, ev, part) })
		}
		halves.Wait()
		err := cmp.Or(failed[0], failed[1])
		if err != nil {
			clear(values)
		}
		return err
	}
	switch ev := ev.(type) {
	case privacy.DiscreteLaplace:
		return noise.AddDiscreteLaplace(src, values, ev.Scale)
	case privacy.DiscreteGaussian:
		return noise.AddDiscreteGaussian(src, values, ev.Sigma)
	}
	return errVector // LinearCalls lists no other
}

// SmoothLaplace returns value + scale·Lap(1), rounded to the lattice.
func (d *NoiseDrawer) SmoothLaplace(_ privacy.Approx, value, scale, granularity float64) (float64, error) {
	return noise.SmoothLaplace(d.src, value, scale, granularity)
}

// Select draws a lattice point with probability ∝ exp(−rate·score).
func (d *NoiseDrawer) Select(_ privacy.Selection, pieces []sdk.Piece, rate float64) (int64, error) {
	in := make([]noise.Piece, len(pieces))
	for i, p := range pieces {
		in[i] = noise.Piece(p)
	}
	return noise.Select(d.src, in, rate)
}

// Randomize runs every code through k-ary randomized response, in place.
func (d *NoiseDrawer) Randomize(ev privacy.RandomizedResponse, codes []int32) error {
	num, den, err := keepProbability(ev.K, ev.Eps0)
	if err != nil {
		return err
	}
	for i, c := range codes {
		out, err := noise.RandomizedResponse(d.src, int(c), ev.K, num, den)
		if err != nil {
			return err
		}
		codes[i] = int32(out)
	}
	return nil
}

// keepProbability is the largest probability of the form num/2^62, give or take
// one part in 2^47 of its complement, with which k-ary randomized response is
// eps0-locally private.
//
// # Contract
//
// For 2 ≤ k ≤ 2^20 and eps0 ≥ 1e-6: 1/k ≤ num/den and
// num·(k−1)/(den−num) ≤ e^eps0 (P17: rounded towards more noise). Proof:
// keep_probability.proof.md.
func keepProbability(k int, eps0 float64) (num, den uint64, err error) {
	if k < 2 || k > 1<<20 || !(eps0 >= 1e-6) {
		return 0, 0, errors.New("randomized response needs 2 to 2^20 categories and eps0 of at least 1e-6")
	}
	den = 1 << 62
	// The complement q = (k−1)/(e^eps0+k−1) keeps its precision where the
	// probability itself is next to 1.
	q := float64(k-1) / (math.Exp(eps0) + float64(k-1)) // P18: no cancellation here
	up := math.Ceil(math.Ldexp(q*(1+0x1p-48), 62))
	return den - max(1, uint64(up)), den, nil
}

// Shuffle permutes the codes uniformly, in place (Fisher–Yates).
func (d *NoiseDrawer) Shuffle(codes []int32) error {
	for i := len(codes) - 1; i > 0; i-- {
		j := d.src.Uint64n(uint64(i) + 1)
		codes[i], codes[j] = codes[j], codes[i]
	}
	return d.src.Err()
}

// Sample draws a Poisson sample by geometric skips. Other designs have no
// NextSample.
//
// # Contract
//
// Every row is in the sample with the event's rate, rounded down where it has bits
// below 2^-62, independently of all other rows and of every other draw. Proof:
// poisson_sample.proof.md.
func (d *NoiseDrawer) Sample(ev privacy.Sampling, rows int64) ([]int64, error) {
	p, ok := ev.(privacy.Poisson)
	if !ok {
		return nil, fmt.Errorf("a fresh sample of kind %s cannot be drawn during a release", privacy.Name(ev))
	}
	out := []int64{}
	if p.Rate == 1 {
		for i := int64(0); i < rows; i++ {
			out = append(out, i)
		}
		return out, nil
	}
	if d.skips == nil || d.rate != p.Rate {
		num, den, err := rateBelow(p.Rate)
		if err != nil {
			return nil, err
		}
		if d.skips, err = noise.NewGeometric(num, den); err != nil {
			return nil, err
		}
		d.rate = p.Rate
	}
	// Room for all but one draw in a billion, so that it is not copied as it grows.
	if mean := p.Rate * float64(rows); mean < 1<<26 {
		out = make([]int64, 0, int(mean+6*math.Sqrt(mean))+16)
	}
	for at := uint64(0); ; at++ {
		skip := d.skips.Draw(d.src)
		if d.src.Err() != nil {
			return nil, d.src.Err()
		}
		if skip >= uint64(rows)-at {
			return out, nil
		}
		at += skip
		out = append(out, int64(at))
		if at+1 >= uint64(rows) {
			return out, nil
		}
	}
}

// rateBelow is the float64 rate as an exact fraction, rounded down where it has
// bits below 2^-62: a smaller rate than the one that is charged is sound.
func rateBelow(rate float64) (num, den uint64, err error) {
	if !(rate > 0 && rate < 1) {
		return 0, 0, errors.New("rate must be above 0 and below 1")
	}
	den = 1 << 62
	r := new(big.Rat).SetFloat64(rate)
	r.Mul(r, new(big.Rat).SetInt(new(big.Int).SetUint64(den)))
	num = new(big.Int).Quo(r.Num(), r.Denom()).Uint64()
	if num == 0 {
		return 0, 0, errors.New("rate is too small to be drawn")
	}
	return num, den, nil
}

// Batch gives the rows of one step of a last iterate. Step 0 puts all rows in a
// random order, which is cut into batches and holds for the whole run.
//
// # Contract
//
// Every row is in exactly one batch of a pass, in the same one in every pass, and
// which one is uniform over all assignments, whatever the rows hold and in whatever
// order the table has them. Proof: batches.proof.md.
func (d *NoiseDrawer) Batch(ev privacy.LastIterate, rows, step int64) ([]int64, error) {
	if rows != ev.N || ev.Batch < 1 || step < 0 || rows > math.MaxInt32 {
		return nil, errors.New("a batch needs the rows that the event names, at most 2^31 of them")
	}
	if step == 0 {
		d.order = make([]int32, rows)
		for i := range d.order {
			d.order[i] = int32(i)
		}
		if err := d.Shuffle(d.order); err != nil {
			return nil, err
		}
		// Sorted once: later passes only copy.
		for part := range slices.Chunk(d.order, int(ev.Batch)) {
			slices.Sort(part)
		}
	}
	if int64(len(d.order)) != rows {
		return nil, errors.New("the first batch of a run comes first")
	}
	from := step % ev.Batches() * ev.Batch
	part := d.order[from:min(rows, from+ev.Batch)]
	out := make([]int64, len(part))
	for i, r := range part {
		out[i] = int64(r)
	}
	return out, nil
}
