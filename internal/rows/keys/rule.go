package keys

import (
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/privacy"
)

// Rule decides for each key alone whether it is published.
type Rule interface {
	// Event is the cost of a selection by the rule.
	Event() privacy.Event
	// Keys is the most keys that a unit may be counted for.
	Keys() int64
	// Keep decides on keys, from the number of units of each. It overwrites each number with the noisy one, which may be
	// published with a kept key, or with 0 where the key is not kept or the rule counts nothing. On an error nothing may
	// be published.
	Keep(src *noise.Source, units []int64, kept []bool) error
	// Counts says whether Keep gives noisy numbers.
	Counts() bool
	// Chance is the probability that a key with that number of units is kept, up to rounding. It is for planning.
	Chance(units int64) float64
	// Deviation is the standard deviation of the noise on a number of units, 0 where the rule counts nothing.
	Deviation() float64
}
