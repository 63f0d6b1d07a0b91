package job

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/plugins/asked"
	"github.com/dprelease/dprelease/privacy/rational"
)

// Measure pays for releases of the job's own that say what a cap, or the bounds of a column, leave
// out. They are planned, priced and made like any other release.
type Measure struct {
	Epsilon, Rho *big.Rat // one of them
	AtMost       int64    // of a cap: units with more rows count as having so many
}

// UnitRows is the column that says how many rows a unit has. It exists where a cap is measured, and
// is read by that release alone.
const UnitRows = "(rows)"

// mostMeasured bounds AtMost: beyond it the noise in the number of rows exceeds what is left out.
const mostMeasured = 1000

// measured are the keys that a measure of either kind has.
func measured() []field[Measure] {
	return []field[Measure]{
		key("epsilon", amount(span{lo: "0", loOpen: true}), func(m *Measure) **big.Rat { return &m.Epsilon },
			"What the measure may cost, beside the releases", example(`"0.05"`)),
		key("rho", amount(span{lo: "0", hi: "1000000", loOpen: true}), func(m *Measure) **big.Rat { return &m.Rho },
			"The same in ρ, instead of epsilon", example(`"0.001"`)),
	}
}

func measuredBounds() kind[Measure] { return object(measured()...) }

// measureOfBounds is the key of a column that pays for what lies at its bounds.
func measureOfBounds() field[Column] {
	return key("measure", optional(measuredBounds()), func(c *Column) **Measure { return &c.Measure },
		"Pays for two releases: which shares of the values lie at lower and at upper, or beyond them. Each costs half",
		example(`{epsilon: "0.05"}`))
}

func measuredCap() kind[Measure] {
	return object(append(measured(), key("at_most", count(), func(m *Measure) *int64 { return &m.AtMost },
		"Units with more rows count as having so many. A large number adds noise", required(), example("50")))...)
}

// part is the guarantee of one of several releases that share a measure.
func (m *Measure) part(of int64) Guarantee {
	share := func(x *big.Rat) *big.Rat {
		if x == nil {
			return nil
		}
		return new(big.Rat).Quo(x, big.NewRat(of, 1))
	}
	return Guarantee{Epsilon: share(m.Epsilon), Rho: share(m.Rho), Delta: new(big.Rat)}
}

// CountsUnits reports whether the rows of a release are the units of the job, each with the number
// of its rows, although the job caps units and does not fold them.
func (r *Release) CountsUnits() bool { return r.Measures == capMeasure || r.Measures == capChoice }

const capMeasure = "dataset.cap.measure"

// CountsRows is the largest number of rows that a unit counts with where units are counted by their rows, 0 where they are not.
func (d *Dataset) CountsRows() int64 {
	switch c := d.Cap; {
	case c == nil:
	case c.Choice != nil:
		if caps := c.Choice.Caps(); len(caps) > 0 {
			return caps[len(caps)-1]
		}
	case c.Measure != nil:
		return c.Measure.AtMost
	}
	return 0
}

// measures adds the releases that measures pay for.
func (k *checker) measures() {
	d := &k.j.Dataset
	given := k.own()
	switch c := d.Cap; {
	case c == nil:
	case c.Choice != nil:
		k.choice(c, given)
	case c.Measure != nil && k.measure(capMeasure, c.Measure):
		k.measureCap(c, given)
	}
	for i := range d.Columns {
		if c := &d.Columns[i]; c.Measure != nil && k.measure(Key(c.path(), "measure"), c.Measure) {
			k.measureBounds(c, given)
		}
	}
}

// measure reports what is wrong with a measure by itself.
func (k *checker) measure(path string, m *Measure) bool {
	switch {
	case (m.Epsilon == nil) == (m.Rho == nil):
		if !k.unread(path) {
			k.wrong(path, `say epsilon: "0.05"`, "needs epsilon or rho, and not both")
		}
	case (path == capMeasure || path == capChoice) && m.AtMost < 2:
		if !k.unread(path) {
			k.wrong(Key(path, "at_most"), "", "must be at least 2: it tells units with one row from others")
		}
	case path == capChoice && m.AtMost > asked.MostRows:
		k.wrong(Key(path, "at_most"), "", "must be at most %d", asked.MostRows)
	case m.AtMost > mostMeasured:
		k.wrong(Key(path, "at_most"), "", "must be at most %d: more of it is noise", mostMeasured)
	default:
		return true
	}
	return false
}

// measureCap adds a noisy histogram of all units by their number of rows. It reads the whole table,
// or its slice, also where other releases come from a sample: the rows of a sample's units are as
// many, and fewer units say less. It counts the rows behind the condition that all releases share,
// and all rows where they share none.
func (k *checker) measureCap(c *Cap, given []Release) {
	const none = "leave it out"
	switch d := &k.j.Dataset; {
	case d.Collected != nil || d.Weights != nil: // refused already
		return
	case d.declares(UnitRows):
		k.wrong(capMeasure, "rename the column", "counts rows in a column of its own called %s, and the job declares one", UnitRows)
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
		k.wrong(Key(capMeasure, "at_most"), none,
			"must be more than %d, the rows of a unit that the cap keeps: else the measure sees nothing that is left out", most)
		return
	}
	k.ask(asked.UnitRows{Column: UnitRows, AtMost: int(c.Measure.AtMost), Keep: keep},
		Release{Name: k.capName(), From: All, Where: shared(given), Guarantee: c.Measure.part(1), Measures: capMeasure})
}

// measureBounds adds two shares: of the values at or beyond the lower bound of a column, and of
// those at or beyond its upper bound. They are of the rows that count in the first draw from which a
// release reads the column.
func (k *checker) measureBounds(c *Column, given []Release) {
	path := Key(c.path(), "measure")
	if c.Bounds != nil || c.Type != Number || c.Lower == nil || c.Upper == nil {
		k.wrong(path, "say lower and upper, or leave it out", "counts the values at lower and at upper, so the column needs both")
		return
	}
	for _, r := range given {
		if r.Measures != "" || !mentions(r.Params, c.Name) {
			continue
		}
		at := func(side string, share asked.Share) {
			k.ask(share, Release{Name: k.freeName(plainName(c.Name) + "_at_" + side), From: r.From, Guarantee: c.Measure.part(2), Measures: path})
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
		if _, taken := first(k.j.Releases, func(r Release) bool { return strings.EqualFold(r.Name, name) }); !taken {
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
