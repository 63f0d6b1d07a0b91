package language

import (
	"testing"

	"github.com/dprelease/dprelease/internal/job"
)

// Of 6 units with 1 row and 2 with 3, a cap of one row leaves out 4 of 12 rows.
func TestLeftOutAsAssumed(t *testing.T) {
	c := job.Choice{Assume: []int64{6, 0, 2}}
	for keep, want := range map[int64]float64{1: 4. / 12, 2: 2. / 12, 3: 0, 9: 0} {
		if got := c.LeftOut(keep); got != want {
			t.Errorf("a cap of %d leaves out %g, want %g", keep, got, want)
		}
	}
	if got := (&job.Choice{}).LeftOut(1); got != 0 {
		t.Errorf("without an assumption it is %g", got)
	}
}
