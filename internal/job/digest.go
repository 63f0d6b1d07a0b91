package job

import "slices"

// Language writes down what a job asks for, in one spelling for all that mean the same.
type Language interface {
	Digest(j *Job) string
	Collected(c *Collected) string
}

// Speaks notes the language in which the job was read.
func (j *Job) Speaks(l Language) { j.in = l }

// Digest names what the job asks for: see the language. A job that was not read in one has none.
func (j *Job) Digest() string {
	if j.in == nil {
		return ""
	}
	return j.in.Digest(j)
}

// CollectedText returns the words of the job for how its table was drawn, which a node of the account pins.
func (j *Job) CollectedText() string { return j.in.Collected(j.Dataset.Collected) }

// SeriesDigest names the question of a series: all that Digest names, without the period and without what
// is public arithmetic on the measurements.
func (j *Job) SeriesDigest() string {
	same := j.AtPeriod("")
	same.Series = slices.Clone(j.Series)
	for i := range same.Series {
		s := &same.Series[i]
		s.Publish, s.Weights, s.Goal = nil, nil, ""
	}
	return same.Digest()
}
