package bounds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sort"

	"github.com/dprelease/dprelease/plugins/linear"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

const schema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "required": ["column"],
  "properties": {
    "column": {"type": "string", "description": "the numeric column; its lower and upper may be as wide as they can possibly be"}
  }
}`

const (
	perDecade = 8
	decades   = 12
	unit      = 1 << 20 // score steps of a row
	above     = 2       // rows over ε that a bound aims to leave beyond it
	tilt      = 5       // a bound ten times as large has 10^−tilt of the weight
)

// Mechanism finds a bound. Its zero value is ready for use.
type Mechanism struct{}

// Describe says what the mechanism is.
func (Mechanism) Describe() sdk.Description {
	return sdk.Description{
		Name: "bounds", Version: "1.0.0", Summary: "a bound for the magnitude of a numeric column, to clip its values to", Params: json.RawMessage(schema),
		Relations: linear.Relations(), Designs: []string{"full", "poisson", "srswor", "collected"},
	}
}

// search is one search for a bound. It follows from public facts alone.
type search struct {
	column  sdk.Column
	bounds  []float64 // the candidates, ascending
	offsets []int64   // of their scores: the preference for small ones
	rows    int64     // that are to lie beyond the bound
	rate    float64
	event   privacy.BoundedRange
}

func newSearch(req sdk.PlanRequest) (*search, error) {
	var p struct {
		Column string `json:"column"`
	}
	if err := sdk.DecodeParams(req.Params, &p); err != nil {
		return nil, err
	}
	c, err := linear.NumberColumn(req.Public, "column", p.Column)
	if err != nil {
		return nil, err
	}
	epsilon := req.Target.Epsilon
	if !(epsilon > 0x1p-20 && epsilon < 1<<20) {
		return nil, errors.New("guarantee: epsilon must lie between 2^-20 and 2^20")
	}
	most := math.Max(math.Abs(c.Lower), math.Abs(c.Upper))
	if !(most > 1e-250 && most < 1e250) {
		return nil, fmt.Errorf("column: the bounds of %q must lie between 1e-250 and 1e250 in magnitude", c.Name)
	}
	s := &search{column: c, rows: int64(math.Ceil(above / epsilon)), event: privacy.BoundedRange{Eps: epsilon}, rate: sdk.SelectRate(epsilon, unit)}
	for i := range perDecade*decades + 1 {
		s.bounds = append(s.bounds, Candidate(most, i))
		prefer := tilt * math.Ln10 * float64(len(s.offsets)) / perDecade
		s.offsets = append(s.offsets, int64(math.Round(prefer/s.rate)))
	}
	return s, nil
}

// Candidate is the candidate with that index where no magnitude exceeds most: the numbers
// 10^(k/8) up to most, for whole k.
func Candidate(most float64, i int) float64 {
	top := int(math.Floor(perDecade * math.Log10(most)))
	return math.Pow(10, float64(top-perDecade*decades+i)/perDecade)
}

// Plan says what a search costs. It sees no data.
func (Mechanism) Plan(req sdk.PlanRequest) (sdk.Plan, error) {
	s, err := newSearch(req)
	if err != nil {
		return sdk.Plan{}, err
	}
	note := fmt.Sprintf("about %d rows of the sample are larger than the bound, give or take %.3g; it is one of %d public candidates", s.rows, 2/s.event.Eps, len(s.bounds))
	return sdk.Plan{
		Columns: []string{s.column.Name}, Event: s.event, Rows: 1,
		Output: []sdk.Field{{Name: linear.EstimateField, Type: sdk.Float64, Doc: "the bound: a number that the magnitudes of few values exceed"}},
		Errors: []sdk.ExpectedError{{Field: linear.EstimateField, Note: note, SamplingNote: "it depends on the largest values, which are private"}},
	}, nil
}

var errTooMany = errors.New("there are more rows than scores have room for")

// Release counts the magnitudes between candidates and has the host draw one.
func (Mechanism) Release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) (sdk.Result, error) {
	s, err := newSearch(req.PlanRequest())
	if err != nil {
		return sdk.Result{}, err
	}
	counts, most := make([]int64, len(s.bounds)+1), int64(1)<<40
	err = sdk.Each(rows, func(b *sdk.Batch) error {
		if most -= int64(b.Rows); most < 0 {
			return errTooMany
		}
		for row, y := range b.Float64(0) {
			if b.IsValid(0, row) {
				counts[sort.SearchFloat64s(s.bounds, math.Abs(y))]++
			}
		}
		return nil
	})
	if err != nil {
		return sdk.Result{}, err
	}
	i, err := host.Select(ctx, s.event, s.pieces(counts), s.rate)
	if err != nil {
		return sdk.Result{}, err
	}
	return sdk.Result{Columns: []sdk.ResultColumn{{Name: linear.EstimateField, Float64: []float64{s.bounds[i]}}}}, nil
}

// pieces scores the candidates. counts[i] are the rows whose magnitude exceeds candidate
// i − 1 and not candidate i.
//
// # Contract
//
// The score of candidate i is unit·|n − rows| + offset, n the rows whose magnitude exceeds
// it. Between neighbours, also where a row is replaced, it moves by at most unit. Proof:
// bounds.proof.md.
func (s *search) pieces(counts []int64) []sdk.Piece {
	beyond := int64(0)
	for _, n := range counts {
		beyond += n
	}
	out := make([]sdk.Piece, len(s.bounds))
	for i := range out {
		beyond -= counts[i]
		off := beyond - s.rows
		out[i] = sdk.Piece{Lo: int64(i), Hi: int64(i), Score: unit*max(off, -off) + s.offsets[i]}
	}
	return out
}
