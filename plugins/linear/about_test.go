package linear

import (
	"testing"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// A count is the population's where rows have weights of their own, and else that of the rows that are there.
func TestAbout(t *testing.T) {
	for want, d := range map[string]sdk.Design{
		"it is about the table":                          {Kind: "full", Rate: 1, EqualWeights: true},
		"it is about the sample, and not the population": {Kind: "rotation", Rate: 0.25, EqualWeights: true},
		"it is about the population, by weights":         {Kind: "stratified", MinWeight: 2, MaxWeight: 5},
	} {
		if got := About(d); got != want {
			t.Errorf("%+v: %s", d, got)
		}
	}
}
