package bounds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sort"

	"github.com/dprelease/dprelease/plugins/asked"
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
    "column": {"type": "string", "description": "the numeric column; its lower and upper may be as wide as they can possibly be"},
    "times":  {"type": "number", "minimum": 1, "maximum": 8, "default": 1,
               "description": "how many times as much ε the search spends as a release that clips to the bound will: the more, ` +
	`the nearer the bound comes to the one that suits that release"}
  }
}`

const (
	perDecade = 16
	decades   = 12
	unit      = 1 << 20 // score steps of a row
	// A bound may leave out above/ε rows at no cost, with the ε of the release that clips to it.
	// Where the tail is heavy, the best bound for a sum leaves out about as many.
	above = 2
	// mostRows and mostOffset keep scores below 2^62.
	mostRows   = 1 << 40
	mostOffset = 1 << 60
)

// tilt returns how much less likely large bounds are: one ten times as large has 10^−tilt of the
// weight.
func tilt(times float64) float64 { return 1.5 + 3.25*times }

// Mechanism finds a bound. Its zero value is ready for use.
type Mechanism struct{}

// Describe returns the name, version, parameters and designs of the mechanism.
func (Mechanism) Describe() sdk.Description {
	return sdk.Description{
		Name: asked.Bound{}.Mechanism(), Version: "1.1.0", Summary: "a bound for the magnitude of a numeric column, to clip its values to",
		Params:    json.RawMessage(schema),
		Relations: linear.Relations(), Designs: sdk.EveryDesign(), Capped: true,
	}
}

// search is one search for a bound. It follows from public facts alone.
type search struct {
	column  sdk.Column
	bounds  []float64 // the candidates, ascending
	offsets []int64   // of their scores: the preference for small ones
	rows    int64     // how many rows may lie beyond the bound at no cost
	rate    float64
	event   privacy.BoundedRange
}

func newSearch(req sdk.PlanRequest) (*search, error) {
	var p struct {
		Column string  `json:"column"`
		Times  float64 `json:"times"`
	}
	p.Times = 1
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
	s := &search{column: c, rows: int64(math.Ceil(above * p.Times / epsilon)), event: privacy.BoundedRange{Eps: epsilon}}
	own := int64(1) // the rows of a unit
	if req.Public.Cap != nil {
		if own = req.Public.Cap.Rows; own > 1<<30 {
			return nil, errors.New("dataset.cap: a search for a bound takes at most 2^30 rows of a unit")
		}
	}
	s.rate = sdk.SelectRate(epsilon, own*unit/2) // the scores of a row move in one direction
	for i := range perDecade*decades + 1 {
		s.bounds = append(s.bounds, Candidate(most, i))
		offset := math.Round(tilt(p.Times) * math.Ln10 * float64(i) / perDecade / s.rate)
		if offset > mostOffset {
			return nil, errors.New("guarantee: epsilon is too small for units with so many rows: a score would not fit in 64 bits; " +
				"cap units at fewer rows, or allow a larger epsilon")
		}
		s.offsets = append(s.offsets, int64(offset))
	}
	return s, nil
}

// Candidate is the candidate with that index where no magnitude exceeds most: the numbers
// 10^(k/16) up to most, for whole k.
func Candidate(most float64, i int) float64 {
	top := int(math.Floor(perDecade * math.Log10(most)))
	return math.Pow(10, float64(top-perDecade*decades+i)/perDecade)
}

// Plan returns what a search costs. It sees no data.
func (Mechanism) Plan(req sdk.PlanRequest) (sdk.Plan, error) {
	s, err := newSearch(req)
	if err != nil {
		return sdk.Plan{}, err
	}
	note := fmt.Sprintf("some %d rows of the sample are larger than the bound, where its tail is heavy; it is one of %d public candidates",
		s.rows, len(s.bounds))
	return sdk.Plan{
		Columns: []string{s.column.Name}, Event: s.event, Rows: 1,
		Output: []sdk.Field{{Name: sdk.EstimateField, Type: sdk.Float64, Doc: "the bound: a number that the magnitudes of few values exceed"}},
		Errors: []sdk.ExpectedError{
			{Field: sdk.EstimateField, Note: note, SamplingNote: "it depends on the largest values, which are private"}},
	}, nil
}

var errTooMany = errors.New("there are more rows than scores have room for")

// Release counts the magnitudes between candidates and has the host draw one.
func (Mechanism) Release(ctx context.Context, req sdk.ReleaseRequest, rows sdk.Rows, host sdk.Host) (sdk.Result, error) {
	s, err := newSearch(req.PlanRequest)
	if err != nil {
		return sdk.Result{}, err
	}
	counts, most := make([]int64, len(s.bounds)+1), int64(mostRows)
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
	return sdk.Result{Columns: []sdk.ResultColumn{{Name: sdk.EstimateField, Float64: []float64{s.bounds[i]}}}}, nil
}

// pieces scores the candidates. counts[i] are the rows whose magnitude exceeds candidate
// i − 1 and not candidate i.
//
// # Contract
//
// The score of candidate i is unit·max(0, n − rows) + offset, n the rows whose magnitude
// exceeds it. Between neighbours the scores of two candidates move apart by at most unit
// times the rows of a unit, also where a unit is replaced. Proof: bounds.proof.md.
func (s *search) pieces(counts []int64) []sdk.Piece {
	beyond := int64(0)
	for _, n := range counts {
		beyond += n
	}
	out := make([]sdk.Piece, len(s.bounds))
	for i := range out {
		beyond -= counts[i]
		out[i] = sdk.Piece{Lo: int64(i), Hi: int64(i), Score: unit*max(0, beyond-s.rows) + s.offsets[i]}
	}
	return out
}
