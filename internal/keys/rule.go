package keys

import (
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/privacy"
)

// Rule decides for each key alone whether it is published.
type Rule interface {
	// Event is what a selection by the rule costs.
	Event() privacy.Event
	// Keep decides on keys that these many units have. It puts in the place of each number the noisy one, which may be
	// published for a key that is kept, or 0 where the key is not kept or the rule counts nothing. On an error nothing
	// may be published.
	Keep(src *noise.Source, units []int64, kept []bool) error
	// Counts says whether Keep gives noisy numbers.
	Counts() bool
	// Chance is the probability that a key of this many units is kept, up to rounding. It is for people to plan with.
	Chance(units int64) float64
	// Deviation is the standard deviation of the noise on a number of units, 0 where the rule counts nothing.
	Deviation() float64
}
