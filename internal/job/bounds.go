package job

import "math/big"

// Bounds say that nobody knows how large the values of a column are: a release of its own
// finds a bound for them in private, before the others are made.
type Bounds struct {
	Private Guarantee // of the search, on the population
	AtMost  *big.Rat
}

// ReleasePath is the key that declares a release: an item of releases, the bounds of the column
// that it searches, or the measure that pays for it.
func (j *Job) ReleasePath(i int) string {
	if i >= len(j.Releases) {
		return Item("releases", i)
	}
	switch r := &j.Releases[i]; {
	case r.Measures != "":
		return j.InTable(r.Table, r.Measures)
	case r.Bounds != "":
		c, _ := j.Of(r.Table).Dataset.Column(r.Bounds)
		return j.InTable(r.Table, Key(c.Path(), "bounds"))
	}
	return Item("releases", i)
}

// SearchOf returns the release that finds the bounds of a column of the table that the job is seen from.
func (j *Job) SearchOf(column string) (Release, bool) {
	return First(j.Releases, func(r Release) bool { return r.Bounds == column && column != "" && r.Table == j.Dataset.Table })
}
