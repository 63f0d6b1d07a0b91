package planned

import (
	"math"

	"github.com/dprelease/dprelease/internal/rows/keys"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy/rational"
)

// Tally is the rule whose noisy numbers a release shows, and the level of their intervals, as a share.
type Tally struct {
	*keys.Threshold
	Level float64
}

// TallyFields are the columns that a release with a tally has beside its groups.
var TallyFields = []string{sdk.EstimateField, sdk.SDField, "interval_low", "interval_high"}

// Tallies is the result that shows the noisy numbers of the values that were selected.
func (r *Release) Tallies(s *keys.Selection) sdk.Result {
	shown := map[string]keys.Key{}
	for _, k := range s.Keys {
		shown[k.Text] = k
	}
	columns := map[string][]float64{}
	at := r.Tally.At()
	if b := r.Job.Suppress; b != nil && b.Below != nil { // whoever sees a number sees that it was not blanked
		at = max(at, int64(math.Ceil(math.Min(rational.Up(b.Below), 1<<52)))-1)
	}
	for _, v := range r.Cells.By[0].Domain {
		k := shown[v]
		low, high := r.Tally.Interval(k.Units, s.Above(k, at), r.Tally.Level)
		for i, x := range []float64{float64(k.Units), r.Tally.Deviation(), float64(low), float64(high)} {
			columns[TallyFields[i]] = append(columns[TallyFields[i]], x)
		}
	}
	out := sdk.Result{}
	for _, f := range r.Plan.Output {
		c := sdk.ResultColumn{Name: f.Name, Float64: columns[f.Name]}
		if r.Cells.Labelled(f.Name) {
			c = sdk.ResultColumn{Name: f.Name, Texts: r.Cells.Labels()}
		}
		out.Columns = append(out.Columns, c)
	}
	return r.Cells.Result(out)
}
