package planned

import (
	"math"
	"math/big"
	"testing"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/rows/keys"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// covers is the least probability, over numbers of units, that the interval of a tally holds the number, given that it is shown and not
// blanked below a number.
func covers(t *testing.T, rule *keys.Threshold, scale float64, below int64, suppress *job.Suppress) float64 {
	t.Helper()
	r := &Release{Job: job.Release{Suppress: suppress}, Answered: Answered{Tally: &Tally{Threshold: rule, Level: 0.95}},
		Cells: &Cells{By: []job.Column{{Name: "town", Domain: []string{"a"}}}, Column: "town", labels: []string{"0"}, cells: 1}}
	for _, name := range TallyFields {
		r.Plan.Output = append(r.Plan.Output, sdk.Field{Name: name})
	}
	const most = 120
	intervals := map[int64][2]float64{}
	for y := rule.At() + 1; y <= most+rule.At(); y++ {
		columns := r.Tallies(&keys.Selection{Keys: []keys.Key{{Text: "a", Units: y}}}).Columns
		intervals[y] = [2]float64{columns[2].Float64[0], columns[3].Float64[0]}
	}
	least := 1.0
	for n := int64(1); n <= most; n++ {
		all, held := 0.0, 0.0
		for z := -rule.At(); z <= rule.At(); z++ {
			y, weight := n+z, math.Exp(-math.Abs(float64(z))/scale)
			if y <= rule.At() || y < below {
				continue
			}
			if all += weight; intervals[y][0] <= float64(n) && float64(n) <= intervals[y][1] {
				held += weight
			}
		}
		if all > 0 {
			least = math.Min(least, held/all)
		}
	}
	return least
}

// P41: the interval of a number that is published where it reaches a limit of suppress holds the number of units, given that it is
// published. The twin that forgets the limit is caught.
func TestTalliesThatAreSuppressed(t *testing.T) {
	const scale = 4
	rule, err := keys.NewTruncated(scale, 1, 1e-6)
	if err != nil {
		t.Fatal(err)
	}
	for _, below := range []int64{1, rule.At() + 1, rule.At() + 30} {
		suppress := &job.Suppress{Below: new(big.Rat).Sub(big.NewRat(below, 1), big.NewRat(1, 3))}
		if c := covers(t, rule, scale, below, suppress); c < 0.95-1e-5 {
			t.Errorf("below %d: holds in %v", below, c)
		}
		if c := covers(t, rule, scale, below, nil); (c < 0.5) != (below > rule.At()+1) {
			t.Errorf("below %d, unknown to the interval: holds in %v", below, c)
		}
	}
}
