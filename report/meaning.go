package report

import (
	"math"
	"strings"

	"github.com/dprelease/dprelease/internal/say/verdict"
	"github.com/dprelease/dprelease/privacy"
)

// checked reports whether the run found each unit to have one row.
func (d Dataset) checked() bool { return d.UnitName != "" && d.UnitColumn != "" }

// One names what is protected: a unit by its name where the run checked the units, else a
// row.
func (d Dataset) One() string {
	if d.checked() {
		return d.UnitName
	}
	return d.Unit
}

// Many is the plural of One.
func (d Dataset) Many() string {
	switch {
	case !d.checked():
		return d.Unit + "s"
	case d.UnitPlural != "":
		return d.UnitPlural
	}
	return d.UnitName + "s"
}

// UnitNote explains in English what a unit's name stands for, "" where the job gives none.
func (d Dataset) UnitNote() string { return d.unitNote(wordsIn("en")) }

func (d Dataset) unitNote(w words) string {
	a := d.UnitName
	if !w.Foreign() {
		a = A(d.UnitName)
	}
	switch {
	case d.checked() && len(d.Tables) > 0:
		var names []string
		members := ""
		for _, t := range d.Tables {
			if names = append(names, t.Name); t.MemberOf != "" {
				members += w.t("unit.members", t.Name, d.UnitName, t.UnitColumn, t.MemberOf)
			}
		}
		return w.t("unit.tables", d.UnitColumn, strings.Join(names, ", "), d.UnitName, members) + w.t("unit.spelling", a)
	case d.checked() && d.UnitRows != "":
		missing := ""
		if d.UnitMissing != "" {
			missing = w.Or("without."+d.UnitMissing, "")
		}
		return w.t("unit.several", d.UnitColumn, d.UnitName) + w.t("unit.spelling", a) + missing
	case d.checked():
		return w.t("unit.one", w.rowOf(d.Unit), d.UnitColumn, d.UnitName) + w.t("unit.spelling", a)
	case d.UnitName != "":
		return w.t("unit.unchecked", w.rowOf(d.Unit), a)
	}
	return ""
}

// rowOf is the word for a row.
func (w words) rowOf(unit string) string {
	if unit == "row" {
		return w.t("unit.row")
	}
	return unit
}

// Collected is the design by which somebody drew the table from its population.
type Collected struct {
	Method string `json:"method"`
	// In is in how many of Waves waves each unit of a panel is, or 0 where it follows one of Patterns patterns.
	In       int64 `json:"in,omitempty"`
	Waves    int64 `json:"waves,omitempty"`
	Patterns int   `json:"patterns,omitempty"`
	// By are the columns whose values are the units that were drawn, none where these are rows.
	By         []string `json:"by,omitempty"`
	Taken      int64    `json:"taken,omitempty"` // units, where their number is public, of
	Population int64    `json:"population,omitempty"`
	// Least and Most are the smallest and the largest share of the population that was taken, and Rate the share of all.
	Least      float64 `json:"rate_least,omitempty"`
	Most       float64 `json:"rate_most,omitempty"`
	Rate       float64 `json:"rate,omitempty"`
	Allocation string  `json:"allocation,omitempty"` // how the sizes were chosen
	// Known says that the number of rows tells about the units that were drawn, so that the draw buys no privacy.
	Known bool `json:"known,omitempty"`
}

// CollectedText describes in English how the table was drawn from its population, "" where it is all of it.
func (d Dataset) CollectedText() string { return d.collected(wordsIn("en")) }

// collected describes how the table was drawn from its population, "" where it is all of it.
func (d Dataset) collected(w words) string {
	c := d.Collected
	switch {
	case c == nil:
		return ""
	case c.Waves > 0:
		wave := int64(0)
		if d.Panel != nil {
			wave = d.Panel.Wave
		}
		in := w.t("collected.in", c.In, c.Waves)
		if c.In == 0 {
			in = w.t("collected.patterns", c.Patterns, c.Waves)
		}
		return w.t("collected.wave", wave, in)
	}
	text := w.Or("drawn."+c.Method, c.Method)
	if len(c.By) > 0 {
		text += " " + w.t("result.by", strings.Join(c.By, w.t("meaning.and")))
	}
	switch {
	case c.Population > 0 && c.Taken > 0:
		text += ", " + w.t("collected.taken", grouped(c.Taken), grouped(c.Population))
	case c.Population > 0:
		text += ", " + w.t("collected.of", grouped(c.Population))
	}
	switch {
	case c.Least == 0:
	case c.Least == c.Most:
		text += ", " + w.t("collected.rate", plain(100*c.Least, 4))
	default:
		text += ", " + w.t("collected.rates", plain(100*c.Least, 4), plain(100*c.Most, 4))
	}
	if c.Allocation != "" {
		text += ", " + w.t("collected.allocation", c.Allocation)
	}
	if c.Known {
		text += "; " + w.t("collected.known")
	}
	return text
}

// A puts the article before an English noun: a person, an airport.
func A(noun string) string {
	if noun != "" && strings.ContainsRune("aeioAEIO", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// Place returns what a unit is in or not, under add-remove: neighbours are two tables, or two of what
// the table was drawn from.
func (d Dataset) Place() verdict.Place {
	switch {
	case d.Panel != nil && d.Panel.Collected:
		return verdict.InPanel
	case d.Collected != nil:
		return verdict.InPopulation
	}
	return verdict.InTable
}

// Meaning says a guarantee in one sentence, without its full stop: what may change,
// and that the probability of any set of results is then at most e^ε times what it
// was, plus δ.
func Meaning(g Guarantee, d Dataset) string { return meaning(wordsIn("en"), g, d) }

func meaning(w words, g Guarantee, d Dataset) string {
	change := w.t("meaning.presence", w.one(d), w.t(string(d.Place())))
	if g.Relation == privacy.ReplaceOne {
		plural, keeps := "", ""
		if d.UnitRows != "" {
			plural = "s"
		}
		if n := len(d.PublicColumns); n > 0 {
			verb := "meaning.are"
			if n == 1 {
				verb = "meaning.is"
			}
			keeps = w.t("meaning.keeps", strings.Join(d.PublicColumns, w.t("meaning.and")), w.t(verb))
		}
		change = w.t("meaning.record", w.one(d), plural, keeps)
		if !d.checked() {
			change = w.t("meaning.row", w.one(d), keeps)
		}
	}
	text := w.t("meaning.factor", change, factor(g.Epsilon))
	if in := oneIn(g.Delta); in != "" {
		text += w.t("meaning.further_in", Spent(g.Delta), in)
	} else if g.Delta > 0 {
		text += w.t("meaning.further", Spent(g.Delta))
	}
	return text
}

// oneIn is n for a chance that is at most one in n, "" where it is large or far too small to be said so.
func oneIn(p float64) string {
	n := math.Floor(1 / p * (1 + 1e-12))
	if !(n >= 2) || n > 1e15 {
		return ""
	}
	if step := math.Pow10(int(math.Floor(math.Log10(n))) - 2); step > 1 {
		n = math.Floor(n/step*(1+1e-12)) * step
	}
	return grouped(int64(n))
}

// Caution says plainly where a guarantee is weak, and "" where it is not.
func Caution(g Guarantee, d Dataset) string {
	return strings.Join(cautions(wordsIn("en"), g, d), "; ")
}

// cautions are the parts of Caution. A δ that allows one of ten tables of this size to give one
// unit away is a weakness of its own.
func cautions(w words, g Guarantee, d Dataset) []string {
	var all []string
	if text := g.attacker().Caution(w.Words, w.one(d)); text != "" {
		all = append(all, text)
	}
	if p := d.Periods; p != nil && p.AtMost < p.Count && p.Held != HeldByCap {
		if p.AtMost == 1 {
			all = append(all, w.t("caution.period", w.one(d), p.Count, p.words(p.Cost), p.words(p.Life)))
		} else {
			all = append(all, w.t("caution.periods", w.one(d), p.AtMost, p.Count, p.words(p.Cost), p.words(p.Life)))
		}
		if p.Held == "" {
			all = append(all, w.t("caution.unchecked", w.one(d)))
		}
	}
	if n := float64(d.Population); n > 0 && g.Delta*n > 0.1 {
		all = append(all, w.t("caution.delta", grouped(d.Population), w.many(d), grouped(d.Population)))
	}
	return all
}
