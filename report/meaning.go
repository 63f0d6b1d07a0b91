package report

import (
	"fmt"
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

// UnitNote explains what a unit's name stands for, "" where the job gives none.
func (d Dataset) UnitNote() string {
	switch {
	case d.checked() && len(d.Tables) > 0:
		var names []string
		members := ""
		for _, t := range d.Tables {
			if names = append(names, t.Name); t.MemberOf != "" {
				members += fmt.Sprintf("; a row of %s is of the %s that its %s has in %s", t.Name, d.UnitName, t.UnitColumn, t.MemberOf)
			}
		}
		return fmt.Sprintf("all rows with the same %s in the tables %s are one %s and are protected together%s; %s with two spellings of it counts as two",
			d.UnitColumn, strings.Join(names, ", "), d.UnitName, members, A(d.UnitName))
	case d.checked() && d.UnitRows != "":
		return fmt.Sprintf("all rows with the same value of %s are one %s and are protected together; %s with two spellings of it counts as two%s",
			d.UnitColumn, d.UnitName, A(d.UnitName), d.withoutUnit())
	case d.checked():
		return fmt.Sprintf("no two %ss have the same value of %s, which the run checks, so one %s is one %s; %s with two spellings of it counts as two", d.Unit, d.UnitColumn, d.Unit, d.UnitName, A(d.UnitName))
	case d.UnitName != "":
		return fmt.Sprintf("the job calls %s %s, and nothing checked that; what is protected is one %s, and somebody with several %ss is protected less", A(d.Unit), A(d.UnitName), d.Unit, d.Unit)
	}
	return ""
}

// A puts the article before an English noun: a person, an airport.
func A(noun string) string {
	if noun != "" && strings.ContainsRune("aeioAEIO", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// withoutUnit describes what became of rows without a unit.
func (d Dataset) withoutUnit() string {
	switch d.UnitMissing {
	case "drop":
		return "; rows without a value were left out"
	case "own":
		return "; each row without a value counts as one of its own, so that whoever has several such rows is protected less"
	}
	return ""
}

// Place returns what a unit is in or not, under add-remove: neighbours are two tables, or two of what
// the table was drawn from.
func (d Dataset) Place() verdict.Place {
	switch {
	case d.Panel != nil && d.Panel.Collected:
		return verdict.InPanel
	case d.Collected != "":
		return verdict.InPopulation
	}
	return verdict.InTable
}

// Meaning says a guarantee in one sentence, without its full stop: what may change,
// and that the probability of any set of results is then at most e^ε times what it
// was, plus δ.
func Meaning(g Guarantee, d Dataset) string { return meaning(wordsIn("en"), g, d) }

func meaning(w words, g Guarantee, d Dataset) string {
	change := w.t("meaning.presence", w.one(d), d.Place().In(w.language))
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
	if g.Delta > 0 {
		text += w.t("meaning.further", Spent(g.Delta), oneIn(g.Delta))
	}
	return text
}

// oneIn is a small chance in words, never smaller than it is.
func oneIn(p float64) string {
	n := math.Floor(1 / p * (1 + 1e-12))
	if !(n >= 2) || n > 1e15 {
		return " at most"
	}
	if step := math.Pow10(int(math.Floor(math.Log10(n))) - 2); step > 1 {
		n = math.Floor(n/step*(1+1e-12)) * step
	}
	return " at most (1 in " + grouped(int64(n)) + ")"
}

// Caution says plainly where a guarantee is weak, and "" where it is not.
func Caution(g Guarantee, d Dataset) string {
	return strings.Join(cautions(wordsIn("en"), g, d), "; ")
}

// cautions are the parts of Caution. A δ that allows one of ten tables of this size to give one
// unit away is a weakness of its own.
func cautions(w words, g Guarantee, d Dataset) []string {
	var all []string
	if text := g.attacker().Caution(w.language, w.one(d)); text != "" {
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
