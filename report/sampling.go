package report

import (
	"fmt"
	"math"
	"strings"
)

// Sampling is the error that drawing the sample adds to that of a released value. It
// follows from the design, the public bounds and what the job assumes, never from
// data (P19).
type Sampling struct {
	// BoundSD is the largest standard deviation over the draws that any table within
	// the public bounds can have, 0 where the whole table is read; nil where no such
	// number is public.
	BoundSD *float64 `json:"sd_bound,omitempty"`
	// AssumedSD is the one to expect under Assumption, what the job assumes.
	AssumedSD  float64 `json:"sd_assumed,omitempty"`
	Assumption string  `json:"assumption,omitempty"`
	// Unknown is why there is no BoundSD.
	Unknown string `json:"unknown,omitempty"`
	// Worst and Assumed are noise and sampling together.
	Worst   *Combined `json:"with_noise_at_worst,omitempty"`
	Assumed *Combined `json:"with_noise_assumed,omitempty"`
}

// Even is the error to expect of a value that is made of so many rows of the sample, one of several groups with as many.
type Even struct {
	Groups  float64 `json:"groups"`
	Rows    float64 `json:"rows"`
	NoiseSD float64 `json:"noise_sd"`
	Half95  float64 `json:"half_95"` // of the noise
	// Both are noise and sampling together, nil where nothing says how far drawing the sample moves the value.
	Both *Combined `json:"with_sampling,omitempty"`
}

// Combined is an error of two independent parts that are both right on average: the
// noise, and what drawing the sample adds.
type Combined struct {
	SD float64 `json:"sd"`
	// Half95 is half of an interval that holds the error in 95 of 100 cases, where
	// the sampling error is nearly normal, as it is in samples that are not small.
	Half95 float64 `json:"half_95_normal,omitempty"`
	// Half95Any needs no such condition: Chebyshev's inequality, √20 times SD.
	Half95Any float64 `json:"half_95_chebyshev"`
}

// normal95 is the 97.5 % point of the standard normal distribution.
const normal95 = 1.959963984540054

// Combine adds a sampling error of standard deviation sd to the noise of e. The
// variances add up, because the noise is drawn independently of the sample, or at
// least is right on average whatever the sample. The interval of the normal
// approximation takes as many standard deviations as the more pointed of the two
// parts needs: that of a sum lies in between.
func Combine(e ExpectedError, sd float64) *Combined {
	c := &Combined{SD: math.Hypot(e.NoiseSD, sd)}
	wide := math.Sqrt(c.SD*c.SD + e.Unsure) // an interval knows the variance of the draw only with noise
	c.Half95Any = math.Sqrt(20) * wide
	if e.Half95 > 0 && e.NoiseSD > 0 {
		c.Half95 = math.Min(math.Max(normal95, e.Half95/e.NoiseSD)*wide, c.Half95Any)
	}
	return c
}

// Times returns the errors of a value that is so many times as large, nil for none.
func (c *Combined) Times(x float64) *Combined {
	if c == nil {
		return nil
	}
	return &Combined{SD: x * c.SD, Half95: x * c.Half95, Half95Any: x * c.Half95Any}
}

// noUse begins the note of a mechanism about a value that tells nothing.
const noUse = "no use: "

// Useless explains why a value with this error tells nothing, "" where it may tell
// something: in one of 20 cases its noise is larger than the whole range of the value.
func (e ExpectedError) Useless() string {
	half := e.Half95
	if half == 0 {
		half = 2 * e.NoiseSD
	}
	switch note, found := strings.CutPrefix(e.Note, noUse); {
	case found:
		return note
	case e.Range > 0 && half > e.Range:
		name := e.Field
		if e.Note != "" {
			name += " (" + e.Note + ")"
		}
		return fmt.Sprintf("%s: the noise is ±%s in 95 of 100 cases, and the whole range of the value is %s", name, plain(half, 4),
			plain(e.Range, 4))
	}
	return ""
}
