package language

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/plugins/asked"
	"github.com/dprelease/dprelease/privacy/rational"
)

// mostMeasured bounds AtMost: beyond it the noise in the number of rows exceeds what is left out.
const mostMeasured = 1000

// measured declares the price of a measure, beside other keys.
func measured(more ...field[job.Measure]) kind[job.Measure] {
	return spending(func(m *job.Measure) *job.Guarantee { return &m.Guarantee }, more...)
}

// measureOfBounds is the key of a column that pays for what lies at its bounds.
func measureOfBounds() field[job.Column] {
	return key("measure", optional(measured()), func(c *job.Column) **job.Measure { return &c.Measure },
		"Pays for two releases: which shares of the values lie at lower and at upper, or beyond them. Each costs half",
		example(`{epsilon: "0.05"}`))
}

func measuredCap() kind[job.Measure] {
	return measured(key("at_most", count(), func(m *job.Measure) *int64 { return &m.AtMost },
		"Units with more rows count as having so many. A large number adds noise", required(), example("50")))
}

// partOf is the guarantee of one of several releases that share a measure.
func partOf(m *job.Measure, of int64) job.Guarantee {
	share := func(x *big.Rat) *big.Rat {
		if x == nil {
			return nil
		}
		return new(big.Rat).Quo(x, big.NewRat(of, 1))
	}
	return job.Guarantee{Epsilon: share(m.Epsilon), Rho: share(m.Rho), Delta: new(big.Rat)}
}

// measures adds the releases that measures pay for.
func (k *checker) measures() {
	d := &k.j.Dataset
	given := k.own()
	switch c := d.Cap; {
	case c == nil:
	case c.Choice != nil:
		k.choice(c, given)
	case c.Measure != nil && k.measure(job.CapMeasure, c.Measure):
		k.measureCap(c, given)
	}
	for i := range d.Columns {
		if c := &d.Columns[i]; c.Measure != nil && k.measure(job.Key(c.Path(), "measure"), c.Measure) {
			k.measureBounds(c, given)
		}
	}
}

// measure reports what is wrong with a measure by itself.
func (k *checker) measure(path string, m *job.Measure) bool {
	switch {
	case m.Epsilon == nil && m.Rho == nil: // told already
	case (path == job.CapMeasure || path == job.CapChoice) && m.AtMost < 2:
		if !k.unread(path) {
			k.wrong(job.Key(path, "at_most"), "", "must be at least 2: it tells units with one row from others")
		}
	case path == job.CapChoice && m.AtMost > asked.MostRows:
		k.wrong(job.Key(path, "at_most"), "", "must be at most %d", asked.MostRows)
	case m.AtMost > mostMeasured:
		k.wrong(job.Key(path, "at_most"), "", "must be at most %d: more of it is noise", mostMeasured)
	default:
		return true
	}
	return false
}

// measureCap adds a noisy histogram of all units by their number of rows. It reads the whole table,
// or its slice, also where other releases come from a sample: the rows of a sample's units are as
// many, and fewer units say less. It counts the rows behind the condition that all releases share,
// and all rows where they share none.
func (k *checker) measureCap(c *job.Cap, given []job.Release) {
	const none = "leave it out"
	switch d := &k.j.Dataset; {
	case d.Collected != nil || d.Weights != nil: // refused already
		return
	case d.Declares(job.UnitRows):
		k.wrong(job.CapMeasure, "rename the column", "counts rows in a column of its own called %s, and the job declares one", job.UnitRows)
		return
	case len(given) == 0 || c.Rows == 0:
		return
	}
	var keep []int // rows of a unit that count: in a release whose groups it is in one of, and in as many as may count
	for _, r := range given {
		of := k.j.Dataset.CapOf(&r)
		keep = append(keep, int(of.Rows), int(of.Rows*of.Groups))
	}
	slices.Sort(keep)
	keep = slices.Compact(keep)
	if most := keep[len(keep)-1]; int64(most) >= c.Measure.AtMost {
		k.wrong(job.Key(job.CapMeasure, "at_most"), none,
			"must be more than %d, the rows of a unit that the cap keeps: else the measure sees nothing that is left out", most)
		return
	}
	k.ask(asked.UnitRows{Column: job.UnitRows, AtMost: int(c.Measure.AtMost), Keep: keep},
		job.Release{Name: k.capName(), From: job.All, Where: shared(given), Guarantee: partOf(c.Measure, 1), Measures: job.CapMeasure})
}

// measureBounds adds two shares: of the values at or beyond the lower bound of a column, and of
// those at or beyond its upper bound. They are of the rows that count in the first draw from which a
// release reads the column.
func (k *checker) measureBounds(c *job.Column, given []job.Release) {
	path := job.Key(c.Path(), "measure")
	if c.Bounds != nil || c.Type != job.Number || c.Lower == nil || c.Upper == nil {
		k.wrong(path, "say lower and upper, or leave it out", "counts the values at lower and at upper, so the column needs both")
		return
	}
	for _, r := range given {
		if r.Measures != "" || !mentions(r.Params, c.Name) {
			continue
		}
		at := func(side string, share asked.Share) {
			k.ask(share, job.Release{Name: k.freeName(plainName(c.Name) + "_at_" + side), From: r.From,
				Guarantee: partOf(c.Measure, 2), Measures: path})
		}
		below, from := math.Nextafter(rational.Up(c.Lower), math.Inf(1)), rational.Down(c.Upper)
		at("lower", asked.Share{Column: c.Name, To: &below})
		at("upper", asked.Share{Column: c.Name, From: &from})
		return
	}
	k.wrong(path, "leave it out", "would be paid for a column that no release reads")
}

// capName is the name of the release that says what a cap leaves out.
func (k *checker) capName() string {
	if t := plainName(k.j.Dataset.Table); t != "" {
		return k.freeName("rows_of_" + t + "_left_out_by_cap")
	}
	return k.freeName("rows_left_out_by_cap")
}

// freeName is a name that no release has: base, or base and a number.
func (k *checker) freeName(base string) string {
	for n, name := 2, base; ; n++ {
		if _, taken := job.First(k.j.Releases, func(r job.Release) bool { return strings.EqualFold(r.Name, name) }); !taken {
			return name
		}
		name = fmt.Sprintf("%s_%d", base, n)
	}
}

// plainName is the name of a column in letters that the name of a release may have.
func plainName(column string) string {
	plain := strings.Trim(strings.Map(func(r rune) rune {
		if r < 0x80 && nameGrammar.MatchString("x"+string(r)) {
			return r
		}
		return '_'
	}, column), "_-")
	return plain[:min(len(plain), 80)]
}
