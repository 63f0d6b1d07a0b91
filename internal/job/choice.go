package job

import (
	"github.com/dprelease/dprelease/plugins/asked"
)

// Choice says that a cap is chosen in private: a release of its own counts units by their numbers of rows, with noise, before
// the others are made, and the cap that suits these follows from the noisy numbers.
type Choice struct {
	Private Measure // pays for the numbers; AtMost is the largest cap
	// Assume are the assumed numbers of units with 1, 2, 3 … rows. They forecast the choice and change nothing else.
	Assume []int64
}

// Caps are those that may be chosen.
func (c *Choice) Caps() []int64 { return asked.Caps(c.Private.AtMost) }

// LeftOut returns the share of the rows that does not count where so many of each unit do, if units have as many as is assumed.
func (c *Choice) LeftOut(keep int64) float64 {
	all, left := 0.0, 0.0
	for i, units := range c.Assume {
		rows := int64(i + 1)
		all, left = all+float64(units)*float64(rows), left+float64(units)*float64(max(0, rows-keep))
	}
	return left / max(all, 1)
}

const CapChoice = "dataset.cap.rows"

// ChoosesCap reports whether a cap is chosen from what the release finds.
func (r *Release) ChoosesCap() bool { return r.Measures == CapChoice }
