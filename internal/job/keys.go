package job

import "math/big"

// Keys say how a release finds the groups of a column whose values nobody lists: by a
// private selection of their own price (P25), or by that of another release.
type Keys struct {
	Guarantee Guarantee // of the selection, on the population; empty where From says a release, or the release pays (Tallied)
	AtMost    int64
	Top       int64  // so many of the largest, ranked; 0 where AtMost is the limit
	From      string // a release with the same groups, whose selection is used again
}

// Most is the largest number of values that a selection leaves.
func (k *Keys) Most() int64 {
	if k.Top > 0 {
		return k.Top
	}
	return k.AtMost
}

// Tallied reports whether the release shows the noisy numbers by which its values are selected, and pays for both at once.
func (r *Release) Tallied() bool {
	return r.Keys != nil && r.Keys.From == "" && r.Keys.Guarantee.Epsilon == nil && r.Keys.Guarantee.Rho == nil
}

// Selecting returns what the selection of a release may cost.
func (r *Release) Selecting() Guarantee {
	if r.Tallied() {
		return r.Guarantee
	}
	return r.Keys.Guarantee
}

// Suppress blanks the groups of a release whose noisy number of units is small, and marks or blanks values whose relative error is
// large. What is nil asks for nothing.
type Suppress struct {
	Below, Flag, Blank *big.Rat
}

// Unlisted is the column of the groups whose values nobody lists, "" where all are listed.
func (r *Release) Unlisted(d *Dataset) string {
	for _, name := range r.By {
		if c, ok := d.Column(name); ok && c.Plain() && c.Type != Category && c.Domain == nil {
			return name
		}
	}
	return ""
}

// Keyed is the release whose selection of values a release uses, itself where it says
// what one may cost, nil where all its values are listed.
func (j *Job) Keyed(r *Release) *Release {
	switch {
	case r.Keys == nil:
		return nil
	case r.Keys.From == "":
		return r
	}
	for i := range j.Releases {
		if o := &j.Releases[i]; o.Name == r.Keys.From && o.Keys != nil && o.Keys.From == "" {
			return o
		}
	}
	return nil
}
