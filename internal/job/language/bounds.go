package language

import (
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"sync"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/plugins/asked"
	"github.com/dprelease/dprelease/privacy/rational"
)

var privateBounds = sync.OnceValue(func() kind[job.Bounds] {
	return object(
		key("private", guarantee(), func(b *job.Bounds) *job.Guarantee { return &b.Private },
			"What the search for the bound may cost on the population, beside the releases", required(), example(`{epsilon: "0.1"}`)),
		key("at_most", amount(span{lo: "0", loOpen: true}), func(b *job.Bounds) **big.Rat { return &b.AtMost },
			"A number that neither a value nor its negative can exceed. It may be far too large", required(), example("1e12")),
	)
})

// bounds settles the bounds of a column that are found in private: nobody has to know more
// than those of the search.
func (k *checker) bounds(path string, c *job.Column) {
	c.Type = job.Number
	if slices.ContainsFunc([]string{"upper", "domain", "assume", "type"}, func(key string) bool { return k.j.Has(job.Key(path, key)) }) {
		return
	}
	if c.Lower != nil && c.Lower.Sign() != 0 {
		k.wrong(job.Key(path, "lower"), "say lower: 0 where no value is negative, or leave it out",
			"must be 0 beside bounds, which are found in private, not %s", rational.Format(c.Lower))
		return
	}
	if c.Bounds.AtMost == nil {
		return // it has its problem
	}
	c.Upper = c.Bounds.AtMost
	if c.Lower == nil {
		c.Lower = new(big.Rat).Neg(c.Upper)
	}
	if up := rational.Up(c.Upper); !(up <= mostBound && up >= 1/mostBound) {
		k.wrong(job.Key(job.Key(path, "bounds"), "at_most"), "", "must lie between 1e-70 and 1e70")
		c.Lower, c.Upper = nil, nil
		return
	}
	k.number(path, c)
}

// mostBound is the largest bound of a search: its square is a finite number.
const mostBound = 1e70

// searches adds the releases that find the bounds of columns. Each comes from the first
// draw from which a release reads its column: later ones use the bound again.
func (k *checker) searches() {
	var from []string // the draws in their order
	for _, r := range k.j.Releases {
		from = append(from, r.From)
	}
	given := k.own()
	for i := range k.j.Dataset.Columns {
		c := &k.j.Dataset.Columns[i]
		if c.Bounds == nil || c.Upper == nil {
			continue
		}
		found, times := "", 1.0
		for _, f := range from {
			for _, r := range given {
				if r.From != f || !mentions(r.Params, c.Name) {
					continue
				}
				if found == "" {
					found = f
				}
				times = max(times, timesOf(c.Bounds.Private, r.Guarantee))
			}
		}
		if found == "" {
			continue // nothing reads it, and nothing is charged
		}
		k.ask(asked.Bound{Column: c.Name, Times: math.Round(100*math.Min(times, 8)) / 100},
			job.Release{Name: k.freeName("bound_of_" + plainName(c.Name)), From: found, Guarantee: c.Bounds.Private, Bounds: c.Name})
	}
}

// ask adds a release that a key of the job asks for.
func (k *checker) ask(a asked.Release, r job.Release) {
	params, err := json.Marshal(a)
	if err != nil {
		return
	}
	r.Table, r.Mechanism, r.Params = k.j.Dataset.Table, a.Mechanism(), params
	k.j.Releases = append(k.j.Releases, r)
}

// timesOf is the ratio of the ε of two guarantees, 1 where it is not known.
func timesOf(g job.Guarantee, other job.Guarantee) float64 {
	switch {
	case g.Rho != nil && other.Rho != nil && other.Rho.Sign() > 0:
		return math.Sqrt(rational.Up(g.Rho) / rational.Up(other.Rho))
	case g.Epsilon != nil && other.Epsilon != nil && other.Epsilon.Sign() > 0 && g.Rho == nil && other.Rho == nil:
		return rational.Up(g.Epsilon) / rational.Up(other.Epsilon)
	}
	return 1
}

// mentions reports whether parameters hold a text somewhere.
func mentions(params json.RawMessage, text string) bool {
	var walk func(v any) bool
	walk = func(v any) bool {
		switch v := v.(type) {
		case string:
			return v == text
		case []any:
			for _, e := range v {
				if walk(e) {
					return true
				}
			}
		case map[string]any:
			for _, e := range v {
				if walk(e) {
					return true
				}
			}
		}
		return false
	}
	var v any
	return json.Unmarshal(params, &v) == nil && walk(v)
}

// guaranteePath is the key that says what a release may cost.
func guaranteePath(j *job.Job, i int) string {
	if j.Releases[i].Measures != "" {
		return j.ReleasePath(i)
	}
	if j.Releases[i].Bounds != "" {
		return job.Key(j.ReleasePath(i), "private")
	}
	return job.Key(j.ReleasePath(i), "guarantee")
}
