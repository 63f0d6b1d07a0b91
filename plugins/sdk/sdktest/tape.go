package sdktest

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// answer is the answer to one noise call.
type answer struct {
	values []int64
	value  float64
	point  int64
	codes  []int32
}

// tape answers noise calls. While it records, it makes answers up. Every answer is possible, so a
// mechanism must treat it in the same way on neighbouring tables. While it replays, it gives the
// same answers again. It draws samples by the ids of the records, so a shared record is in both
// samples or in neither.
//
// It is for tests and protects nothing.
type tape struct {
	rng     *rand.Rand
	loud    float64 // the noise as a multiple of its usual size; 0: none
	focus   int     // the record that is in most samples
	fill    float64 // the probability of every other record to be in a sample; negative: the plan's
	seed    uint64
	rows    []record
	answers []answer
	samples int
	order   []int64 // the rows by the batch that they are in
	batches int64
	replay  bool
	at      int
}

// errTape says that a replayed run asked for something else than was recorded.
var errTape = errors.New("the noise calls differ between neighbouring tables")

func newTape(rng *rand.Rand, focus int) *tape {
	return &tape{
		rng: rng, focus: focus, seed: rng.Uint64(),
		loud: []float64{0, 1, 1, 1, 30}[rng.IntN(5)], fill: []float64{-1, 0, 0.5, 1}[rng.IntN(4)],
	}
}

func (t *tape) rewind(rows []record) {
	t.replay, t.rows, t.at, t.samples, t.batches = true, rows, 0, 0, 0
}

// next gives the recorded answer, or records the one that is made up.
func (t *tape) next(invent func() answer) (answer, error) {
	if !t.replay {
		a := invent()
		t.answers = append(t.answers, a)
		return a, nil
	}
	if t.at == len(t.answers) {
		return answer{}, errTape
	}
	t.at++
	return t.answers[t.at-1], nil
}

func (t *tape) add(values []int64, scale float64) ([]int64, error) {
	a, err := t.next(func() answer {
		out := slices.Clone(values)
		for i := range out {
			x := math.Round(scale * t.loud * (t.rng.ExpFloat64() - t.rng.ExpFloat64()))
			if math.Abs(x) < 1<<60 && out[i] < 1<<60 && out[i] > -1<<60 {
				out[i] += int64(x)
			}
		}
		return answer{values: out}
	})
	if err == nil && len(a.values) != len(values) {
		return nil, errTape
	}
	return slices.Clone(a.values), err
}

func (t *tape) AddLaplace(_ context.Context, ev privacy.DiscreteLaplace, values []int64) ([]int64, error) {
	return t.add(values, ev.Scale)
}

func (t *tape) AddGaussian(_ context.Context, ev privacy.DiscreteGaussian, values []int64) ([]int64, error) {
	return t.add(values, ev.Sigma)
}

func (t *tape) SmoothLaplace(_ context.Context, _ privacy.Approx, value, scale, granularity float64) (float64, error) {
	if err := checkSmooth(value, scale, granularity); err != nil {
		return 0, err
	}
	a, err := t.next(func() answer {
		x := value + scale*t.loud*(t.rng.ExpFloat64()-t.rng.ExpFloat64())
		return answer{value: math.RoundToEven(x/granularity) * granularity}
	})
	return a.value, err
}

func (t *tape) Select(_ context.Context, _ privacy.Selection, pieces []sdk.Piece, rate float64) (int64, error) {
	if err := checkPieces(pieces, rate); err != nil {
		return 0, err
	}
	a, err := t.next(func() answer {
		p := pieces[t.rng.IntN(len(pieces))]
		if t.loud == 0 {
			return answer{point: best(pieces)}
		}
		return answer{point: p.Lo + int64(t.rng.Uint64N(uint64(p.Hi-p.Lo)+1))}
	})
	return a.point, err
}

func (t *tape) RandomizeCategories(_ context.Context, ev privacy.RandomizedResponse, codes []int32) ([]int32, error) {
	a, err := t.next(func() answer {
		out := slices.Clone(codes)
		for i := range out {
			if t.loud > 0 {
				out[i] = int32(t.rng.IntN(ev.K))
			}
		}
		return answer{codes: out}
	})
	if err == nil && len(a.codes) != len(codes) {
		return nil, errTape
	}
	return slices.Clone(a.codes), err
}

// NextBatch puts the records into batches in an order of their ids, so that two
// neighbours that share a record have it in the same batch.
func (t *tape) NextBatch(_ context.Context, ev privacy.LastIterate) ([]int64, error) {
	if t.batches%max(ev.Calls(), 1) == 0 || len(t.order) != len(t.rows) {
		t.order = make([]int64, len(t.rows))
		for i := range t.order {
			t.order[i] = int64(i)
		}
		slices.SortStableFunc(t.order, func(a, b int64) int {
			return cmp.Compare(t.hash(t.rows[a].id), t.hash(t.rows[b].id))
		})
	}
	n, size := int64(len(t.order)), max(ev.Batch, 1)
	from := min(n, t.batches%max(ev.Batches(), 1)*size)
	t.batches++
	out := slices.Clone(t.order[from:min(n, from+size)])
	slices.Sort(out)
	return out, nil
}

// hash is a number that goes with an id.
func (t *tape) hash(id int) uint64 { return rand.NewPCG(t.seed, uint64(id)).Uint64() }

func (t *tape) NextSample(_ context.Context, ev privacy.Sampling) ([]int64, error) {
	p, ok := ev.(privacy.Poisson)
	if !ok {
		return nil, errors.New("only a poisson sample can be drawn during a release")
	}
	t.samples++
	rate := p.Rate
	if t.fill >= 0 && rate > 0 && rate < 1 {
		rate = t.fill // every subset is a possible sample
	}
	out := []int64{}
	for i, r := range t.rows {
		coin := rand.New(rand.NewPCG(t.seed^uint64(t.samples), uint64(r.id))).Float64()
		if r.id == t.focus && p.Rate > 0 && t.samples%4 != 0 || coin < rate {
			out = append(out, int64(i))
		}
	}
	return out, nil
}
