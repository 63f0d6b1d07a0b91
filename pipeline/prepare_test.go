package pipeline

import (
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/table"
)

func numberColumn(rule job.Rule) job.Column {
	return job.Column{Name: "x", Type: job.Number, Lower: big.NewRat(-1, 1), Upper: big.NewRat(5, 2),
		Missing: job.Handling{Rule: rule, Number: big.NewRat(1, 2)}}
}

// hardValues are around the bounds, outside of them, and no numbers at all.
var hardValues = []float64{-1, 2.5, 0, math.Copysign(0, -1), math.Nextafter(-1, -2), math.Nextafter(2.5, 3), math.Inf(1), math.Inf(-1),
	math.NaN(), math.Float64frombits(0xfff8000000000001), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 7, -7, 1}

// stored is how values lie in a page.
func stored(x []float64) []byte {
	b := make([]byte, 0, 8*len(x))
	for _, f := range x {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
	}
	return b
}

// Moving values leaves what clipping them in place leaves, bit by bit, and counts the same; it refuses NaN and nothing
// else: for bounds of both signs, at zero, next to each other, the same, and the largest there are.
func TestMovedIsClipped(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 3))
	zero, small := math.Copysign(0, -1), math.SmallestNonzeroFloat64
	bounds := [][2]float64{{0, 200}, {zero, 200}, {0, 0}, {zero, zero}, {zero, 0}, {0, zero}, {-1, 2.5}, {-5, -2}, {-5, 0}, {-5, zero}, {3, 3}, {1, math.Nextafter(1, 2)},
		{small, 2 * small}, {0, small}, {-small, small}, {math.MaxFloat64, math.MaxFloat64}, {-math.MaxFloat64, math.MaxFloat64}, {0, math.MaxFloat64}, {1e-310, 1e300}}
	for range 300_000 {
		b := bounds[r.IntN(len(bounds))]
		p := &preparer{lower: b[0], upper: b[1]}
		x := make([]float64, r.IntN(20))
		nan := false
		for i := range x {
			switch r.IntN(6) {
			case 0:
				x[i] = math.Float64frombits(r.Uint64()) // anything
			case 1:
				x[i] = hardValues[r.IntN(len(hardValues))]
			case 2:
				x[i] = math.Float64frombits(math.Float64bits(b[r.IntN(2)]) + uint64(r.IntN(5)) - 2) // near a bound
			case 3:
				x[i] = -b[r.IntN(2)]
			default:
				x[i] = b[0] + r.Float64()*(b[1]/2-b[0]/2)*2
			}
			nan = nan || math.IsNaN(x[i])
		}
		got := make([]float64, len(x))
		changed, ok := p.move(got, stored(x))
		if ok == nan {
			t.Fatalf("%v of %v: taken %v", b, x, ok)
		}
		if nan {
			continue
		}
		want := slices.Clone(x)
		p.clip(want, nil)
		if changed != p.facts.Clipped || !slices.Equal(stored(got), stored(want)) {
			t.Fatalf("%v of %v: %v and %d clipped instead of %v and %d", b, x, got, changed, want, p.facts.Clipped)
		}
	}
}

// A value is prepared in the same way wherever it stands, whether the scan adjusted
// its page before or not, and what is counted is the same.
func TestNumbersArePrepared(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for i := range 20_000 {
		x := make([]float64, r.IntN(19))
		var valid []byte
		if i%3 == 0 {
			valid = make([]byte, (len(x)+7)/8)
		}
		var clipped, missing int64
		var want []float64 // NaN: not there
		for k := range x {
			x[k] = r.Float64() * 2
			if r.IntN(4) == 0 {
				x[k] = hardValues[r.IntN(len(hardValues))]
			}
			there := valid == nil || r.IntN(3) > 0
			if valid != nil && there {
				valid[k/8] |= 1 << (k % 8)
			}
			switch {
			case !there || math.IsNaN(x[k]):
				missing++
				want = append(want, math.NaN())
			default:
				if x[k] < -1 || x[k] > 2.5 {
					clipped++
				}
				want = append(want, math.Min(math.Max(x[k], -1), 2.5))
			}
		}
		for _, rule := range []job.Rule{job.Refuse, job.Drop, job.Impute} {
			for how := range 3 {
				p := newPreparer(numberColumn(rule))
				v := table.Values{Float64: slices.Clone(x), Valid: valid}
				switch {
				case valid != nil:
				case how == 1:
					v.Adjusted = p.adjust(v.Float64)
				case how == 2:
					dst := make([]float64, len(x))
					if changed, ok := p.move(dst, stored(x)); ok {
						v = table.Values{Float64: dst, Adjusted: true, Changed: changed}
					} else if missing == 0 {
						t.Fatalf("%v: refused without a NaN", x)
					}
				}
				out, err := p.prepare(v, len(x))
				if rule == job.Refuse && missing > 0 {
					var f *Failure
					if !errors.As(err, &f) || f.Code != "DATA_MISSING" {
						t.Fatalf("%v: %v", x, err)
					}
					continue
				}
				if err != nil || p.facts.Clipped != clipped || p.facts.Missing != missing {
					t.Fatalf("%v %v: %v, %d clipped and %d missing instead of %d and %d", x, rule, err, p.facts.Clipped, p.facts.Missing, clipped, missing)
				}
				for k, f := range out.floats {
					there := out.valid == nil || out.valid[k/8]>>(k%8)&1 == 1
					expect := want[k]
					if math.IsNaN(expect) && rule == job.Impute {
						expect = 0.5
					}
					if there != !math.IsNaN(expect) || there && f != expect || math.IsNaN(f) {
						t.Fatalf("%v %v: row %d is %v, there %v; want %v", x, rule, k, f, there, expect)
					}
				}
			}
		}
	}
}
