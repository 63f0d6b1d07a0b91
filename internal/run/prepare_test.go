package run

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/rows/units"
	"github.com/dprelease/dprelease/internal/say/failure"
)

func numberColumn(rule job.Rule) job.Column {
	return job.Column{Name: "x", Type: job.Number, Lower: big.NewRat(-1, 1), Upper: big.NewRat(5, 2),
		Missing: job.Handling{Rule: rule, Number: big.NewRat(1, 2)}}
}

// hardValues are around the bounds, outside of them, and no numbers at all.
var hardValues = []float64{-1, 2.5, 0, math.Copysign(0, -1), math.Nextafter(-1, -2), math.Nextafter(2.5, 3), math.Inf(1), math.Inf(-1),
	math.NaN(), math.Float64frombits(0xfff8000000000001), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 7, -7, 1}

// A value is prepared in the same way wherever it stands, and what is counted is the same.
func TestNumbersArePrepared(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for i := range 20_000 {
		x := make([]float64, r.IntN(19))
		if i%100 == 0 {
			x = make([]float64, r.IntN(800)) // more than are compared at once
		}
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
			p := NewPreparer(numberColumn(rule))
			v := table.Values{Float64: slices.Clone(x), Valid: valid}
			out, err := p.Prepare(v, len(x))
			if rule == job.Refuse && missing > 0 {
				var f *failure.Failure
				if !errors.As(err, &f) || f.Code != "DATA_MISSING" {
					t.Fatalf("%v: %v", x, err)
				}
				continue
			}
			if err != nil || p.facts.Clipped != clipped || p.facts.Missing != missing {
				t.Fatalf("%v %v: %v, %d clipped and %d missing instead of %d and %d", x, rule, err, p.facts.Clipped, p.facts.Missing, clipped, missing)
			}
			for k, f := range out.Float64 {
				there := out.Valid == nil || out.Valid[k/8]>>(k%8)&1 == 1
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

// Bounds that no float64 is are rounded inward (P17): nothing that is prepared or folded lies outside the exact bound, and the
// float64 next to it does.
func TestBoundsAreRoundedInward(t *testing.T) {
	inward := func(what string, lower, upper float64, c job.Column) {
		t.Helper()
		exactly := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
		if exactly(lower).Cmp(c.Lower) < 0 || exactly(math.Nextafter(lower, math.Inf(-1))).Cmp(c.Lower) >= 0 {
			t.Errorf("%s: the lower bound %s is %.20g", what, c.Lower, lower)
		}
		if exactly(upper).Cmp(c.Upper) > 0 || exactly(math.Nextafter(upper, math.Inf(1))).Cmp(c.Upper) <= 0 {
			t.Errorf("%s: the upper bound %s is %.20g", what, c.Upper, upper)
		}
	}
	for n := int64(1); n < 40; n++ { // of these some are nearer to the float64 above them, and some to that below
		for _, sign := range []int64{-1, 1} {
			c := numberColumn(job.Impute)
			c.Lower, c.Upper = big.NewRat(sign*n-20, 30), big.NewRat(sign*n+1, 30)
			for _, number := range []*big.Rat{c.Lower, c.Upper} {
				c.Missing.Number = number
				out, err := NewPreparer(c).Prepare(table.Values{Kind: table.Float, Float64: []float64{math.Inf(-1), math.Inf(1), math.NaN()}}, 3)
				if err != nil {
					t.Fatal(err)
				}
				inward("prepared", out.Float64[0], out.Float64[1], c)
				if at := out.Float64[2]; at < out.Float64[0] || at > out.Float64[1] {
					t.Errorf("what is put for a missing value, %.20g, is outside of %.20g to %.20g", at, out.Float64[0], out.Float64[1])
				}
			}
			f := &folding{}
			f.add(units.Fold{By: units.FoldMax}, &c, &c)
			inward("folded", f.folds[0].Lower, f.folds[0].Upper, c)
		}
	}
}

// Whole numbers above 2^63 are numbers and categories like others: none is taken for another.
func TestUnsignedNumbers(t *testing.T) {
	values := []int64{-1, math.MinInt64, 7} // 2^64 − 1, 2^63, 7
	p := NewPreparer(job.Column{Name: "u", Type: job.Number, Lower: new(big.Rat).SetInt64(0), Upper: new(big.Rat).SetFloat64(2e19)})
	out, err := p.Prepare(table.Values{Kind: table.Int, Int64: values, Unsigned: true}, 3)
	if err != nil || out.Float64[0] != 1<<64 || out.Float64[1] != 1<<63 || out.Float64[2] != 7 {
		t.Error(out.Float64, err)
	}
	p = NewPreparer(job.Column{Name: "u", Type: job.Category, Domain: []string{"18446744073709551615", "9223372036854775808", "7", "-1"}})
	if out, err = p.Prepare(table.Values{Kind: table.Int, Int64: values, Unsigned: true}, 3); err != nil || !slices.Equal(out.Codes, []int32{0, 1, 2}) {
		t.Error(out.Codes, err)
	}
}
