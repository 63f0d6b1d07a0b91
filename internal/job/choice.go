package job

import (
	"errors"
	"math/big"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/job/lang"
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

// capRows is a whole number, or a mapping that has the run choose one.
func capRows() kind[CapRows] {
	n := count()
	form := object(
		key("private", measuredBounds(), func(c *Choice) *Measure { return &c.Private },
			"What the choice may cost on the population, beside the releases", required(), example(`{epsilon: "0.05"}`)),
		key("at_most", count(), func(c *Choice) *int64 { return &c.Private.AtMost },
			"The largest cap that may be chosen, up to 720. A large number adds noise", required(), example("50")),
		key("assume", list(wholes(), 1), func(c *Choice) *[]int64 { return &c.Assume },
			"Assumed numbers of units with 1, 2, 3 … rows, for a forecast of the choice", example("[6000, 2500, 900, 300]"),
			out("it forecasts, and changes no release")),
	)
	return kind[CapRows]{label: n.label + ", or mapping", schema: schema{"anyOf": []schema{n.schema, form.schema}}, nested: form.nested,
		suffix: form.suffix,
		read: func(c *cursor, p lang.Place, into *CapRows) bool {
			if p.Node.Kind != yaml.MappingNode {
				return n.read(c, p, &into.Rows)
			}
			into.Choice = &Choice{}
			return form.read(c, p, into.Choice)
		},
		facts: func(c *CapRows) any {
			if c.Choice == nil {
				return n.fact(&c.Rows)
			}
			return form.fact(c.Choice)
		}}
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

const capChoice = "dataset.cap.rows"

// choice adds the release from which a cap is chosen. It counts units in the first draw that a release reads, behind the
// condition that all releases share, and all their rows where they share none.
func (k *checker) choice(c *Cap, given []Release) {
	switch d, p := &k.j.Dataset, c.Choice; {
	case !k.measure(capChoice, &p.Private), c.Measure != nil, d.Weights != nil: // refused already
		return
	case d.declares(UnitRows):
		k.wrong(capChoice, "rename the column", "counts rows in a column of its own called %s, and the job declares one", UnitRows)
		return
	case len(given) == 0:
		return
	}
	caps := c.Choice.Caps()
	c.Rows = caps[len(caps)-1]
	k.ask(asked.UnitRows{Column: UnitRows, AtMost: int(c.Rows), Choose: true},
		Release{Name: k.capName(), From: k.firstDraw(given), Where: shared(given), Guarantee: c.Choice.Private.part(1), Measures: capChoice})
}

// firstDraw is the draw that is made first of those that some releases read: draws are made in the order of their first
// releases, also where these are from other tables.
func (k *checker) firstDraw(given []Release) string {
	first := slices.IndexFunc(k.j.Releases, func(r Release) bool {
		return slices.ContainsFunc(given, func(g Release) bool { return g.From == r.From })
	})
	return k.j.Releases[first].From
}

// shared is the condition that all releases share, none where they differ.
func shared(given []Release) Expression {
	if slices.ContainsFunc(given, func(r Release) bool { return r.Where.Text != given[0].Where.Text }) {
		return Expression{}
	}
	return given[0].Where
}

// ChoosesCap reports whether a cap is chosen from what the release finds.
func (r *Release) ChoosesCap() bool { return r.Measures == capChoice }
