package mean

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

var errOverflow = errors.New("the sum does not fit the lattice")

// Release sums every column on its lattice, has the host add the noise, and
// divides once by public constants.
func (Mechanism) Release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) (sdk.Result, error) {
	l, err := newLayout(req.PlanRequest())
	if err != nil {
		return sdk.Result{}, err
	}
	if l.params.Noise == "gaussian" {
		if err := l.planned(req.Plan.Event); err != nil {
			return sdk.Result{}, err
		}
	}
	sums, err := l.sum(rows)
	if err != nil {
		return sdk.Result{}, err
	}
	for i := range sums {
		switch ev := l.noise[i].event.(type) {
		case privacy.DiscreteLaplace:
			sums[i], err = host.AddLaplace(ctx, ev, sums[i])
		case privacy.DiscreteGaussian:
			sums[i], err = host.AddGaussian(ctx, ev, sums[i])
		default:
			err = fmt.Errorf("unexpected noise %s", ev.Kind())
		}
		if err != nil {
			return sdk.Result{}, err
		}
	}
	return l.result(sums), nil
}

// sum returns one vector a column: the centred sum, or A and B for every group.
func (l *layout) sum(rows sdk.Rows) ([][]int64, error) {
	sums := make([][]int64, len(l.queries))
	for i, q := range l.queries {
		n := l.groups()
		if q.ratio {
			n *= 2
		}
		sums[i] = make([]int64, n)
	}
	err := sdk.Each(rows, func(b *sdk.Batch) error {
		for i, q := range l.queries {
			if err := l.add(q, b, i, sums[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return sums, err
}

// add adds one batch. Partial sums of a batch cannot overflow (maxSteps); their
// addition to the total is checked.
func (l *layout) add(q query, b *sdk.Batch, column int, total []int64) error {
	if b.Rows > 1<<20 {
		return errOverflow
	}
	if !q.ratio && b.Weights == nil {
		return checkedAdd(total, 0, q.sumPlain(b.Float64(column)))
	}
	part := make([]int64, len(total))
	values, weights, valid := b.Float64(column), b.Weights, b.Columns[column].Valid
	var codes []int32
	if l.params.By != "" {
		codes = b.Codes(len(l.queries))
	}
	for row, y := range values {
		g := 0
		if codes != nil {
			g = int(codes[row])
		}
		if g < 0 || valid != nil && valid[row>>3]>>(row&7)&1 == 0 {
			continue
		}
		w := 1.0
		if weights != nil {
			w = math.Min(weights[row], q.maxWeight)
		}
		v := q.value(y, w)
		if !q.ratio {
			part[0] += v
			continue
		}
		part[2*g] += v
		part[2*g+1] += q.value(q.column.Upper, w) - v
	}
	for i, v := range part {
		if err := checkedAdd(total, i, v); err != nil {
			return err
		}
	}
	return nil
}

func checkedAdd(total []int64, i int, v int64) error {
	s := total[i] + v // wraps; an overflow shows in the signs

	if (total[i] >= 0) == (v >= 0) && (s >= 0) != (v >= 0) {
		return errOverflow
	}
	total[i] = s
	return nil
}

// magic added to a float of magnitude below 2^51 rounds it to an integer, half
// to even, and leaves that integer in the low bits.
const magic = 3 << 51

// sumPlain is the fast lane: one column, all valid, weight one. It computes the
// same lattice value as query.value, and a test holds the two together. What magic
// adds to the bits is taken off at the end: on the way the sums wrap, which whole
// numbers undo, and the true sum of a batch fits (maxSteps).
func (q query) sumPlain(values []float64) int64 {
	inverse := 1 / q.granularity // a power of two: exact
	offset := int64(len(values)) * int64(math.Float64bits(magic))
	var s0, s1, s2, s3 int64
	for len(values) >= 4 {
		v := values[:4:4]
		s0 += int64(math.Float64bits((v[0]-q.centre)*inverse + magic))
		s1 += int64(math.Float64bits((v[1]-q.centre)*inverse + magic))
		s2 += int64(math.Float64bits((v[2]-q.centre)*inverse + magic))
		s3 += int64(math.Float64bits((v[3]-q.centre)*inverse + magic))
		values = values[4:]
	}
	for _, y := range values {
		s0 += int64(math.Float64bits((y-q.centre)*inverse + magic))
	}
	return s0 + s1 + s2 + s3 - offset
}
