package language

import (
	"errors"
	"math/big"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/plugins/asked"
)

// capRows is a whole number, or a mapping that has the run choose one.
func capRows() kind[job.CapRows] {
	n := count()
	form := object(
		key("private", measured(), func(c *job.Choice) *job.Measure { return &c.Private },
			"What the choice may cost on the population, beside the releases", required(), example(`{epsilon: "0.05"}`)),
		key("at_most", count(), func(c *job.Choice) *int64 { return &c.Private.AtMost },
			"The largest cap that may be chosen, up to 720. A large number adds noise", required(), example("50")),
		key("assume", list(wholes(), 1), func(c *job.Choice) *[]int64 { return &c.Assume },
			"Assumed numbers of units with 1, 2, 3 … rows, for a forecast of the choice", example("[6000, 2500, 900, 300]"),
			out("it forecasts, and changes no release")),
	)
	number := transform(n, func(rows int64) (job.CapRows, error) { return job.CapRows{Rows: rows}, nil })
	chosen := transform(form, func(c job.Choice) (job.CapRows, error) { return job.CapRows{Choice: &c}, nil })
	k := orMapping(n.label+", or mapping", number, chosen)
	k.facts = func(c *job.CapRows) any {
		if c.Choice == nil {
			return n.fact(&c.Rows)
		}
		return form.fact(c.Choice)
	}
	return k
}

// wholes is a whole number of at least 0.
func wholes() kind[int64] {
	return transform(amount(span{lo: "0", hi: "9007199254740992"}), func(r *big.Rat) (int64, error) {
		if !r.IsInt() {
			return 0, errors.New("must be a whole number")
		}
		return r.Num().Int64(), nil
	})
}

// choice adds the release from which a cap is chosen. It counts units in the first draw that a release reads, behind the
// condition that all releases share, and all their rows where they share none.
func (k *checker) choice(c *job.Cap, given []job.Release) {
	switch d, p := &k.j.Dataset, c.Choice; {
	case !k.measure(job.CapChoice, &p.Private), c.Measure != nil, d.Weights != nil: // refused already
		return
	case d.Declares(job.UnitRows):
		k.wrong(job.CapChoice, "rename the column", "counts rows in a column of its own called %s, and the job declares one", job.UnitRows)
		return
	case len(given) == 0:
		return
	}
	caps := c.Choice.Caps()
	c.Rows = caps[len(caps)-1]
	k.ask(asked.UnitRows{Column: job.UnitRows, AtMost: int(c.Rows), Choose: true},
		job.Release{Name: k.capName(), From: k.firstDraw(given), Where: shared(given), Guarantee: partOf(&c.Choice.Private, 1),
			Measures: job.CapChoice})
}

// firstDraw is the draw that is made first of those that some releases read: draws are made in the order of their first
// releases, also where these are from other tables.
func (k *checker) firstDraw(given []job.Release) string {
	first := slices.IndexFunc(k.j.Releases, func(r job.Release) bool {
		return slices.ContainsFunc(given, func(g job.Release) bool { return g.From == r.From })
	})
	return k.j.Releases[first].From
}

// shared is the condition that all releases share, none where they differ.
func shared(given []job.Release) job.Expression {
	if slices.ContainsFunc(given, func(r job.Release) bool { return r.Where.Text != given[0].Where.Text }) {
		return job.Expression{}
	}
	return given[0].Where
}
