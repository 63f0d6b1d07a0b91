package verdict

import (
	"fmt"
	"math"
	"strconv"

	"github.com/dprelease/dprelease/privacy"
)

// phrases are the words of a verdict in one language, one for each of the report's.
type phrases struct {
	presence, values, times, unlimited, weak, veryWeak string
	in                                                 map[Place]string
}

// Place is a set of units that a unit is in or not, under add-remove.
type Place string

// The places: the table, the population that it was drawn from, the panel of which it is a wave.
const (
	InTable      Place = "table"
	InPopulation Place = "population"
	InPanel      Place = "panel"
)

// In writes a place in a language: "in the table".
func (p Place) In(language string) string { return languages[language].in[p] }

var languages = map[string]phrases{
	"en": {
		presence: "somebody guesses whether any one %s is %s, and is right one time in two; after reading everything that is released, " +
			"this guess is right %s",
		values: "somebody guesses which of two records any one %s has, and is right one time in two; after reading everything that is " +
			"released, this guess is right %s",
		times:     "at most %s times in 100",
		unlimited: "every time, as far as the guarantee goes",
		weak: "this is a weak guarantee: it does not rule out that somebody who knows every other %s, and accepts one false alarm in " +
			"twenty, is right about this one in %s of cases",
		in: map[Place]string{InTable: "in the table", InPopulation: "in the population", InPanel: "in the panel"},
		veryWeak: "this is a very weak guarantee: it does not rule out that somebody who knows every other %s, and accepts one false alarm " +
			"in twenty, is right about this one in %s of cases",
	},
	"de": {
		presence: "Wer rät, ob ein bestimmter Eintrag (%s) %s steht, und dabei sonst jedes zweite Mal recht hätte, hat mit allem, " +
			"was veröffentlicht ist, %s recht",
		values: "Wer rät, welche von zwei Angaben zu einem bestimmten Eintrag (%s) stimmt, und dabei sonst jedes zweite Mal recht " +
			"hätte, hat mit allem, was veröffentlicht ist, %s recht",
		times:     "höchstens %s von 100 Mal",
		unlimited: "womöglich jedes Mal",
		weak: "Diese Garantie ist schwach: Sie schließt nicht aus, dass jemand, der alle anderen Einträge (%s) kennt und in einem von " +
			"zwanzig Fällen falschen Alarm hinnimmt, über diesen einen in %s der Fälle recht hat",
		in: map[Place]string{InTable: "in der Tabelle", InPopulation: "in der Grundgesamtheit", InPanel: "im Panel"},
		veryWeak: "Diese Garantie ist sehr schwach: Sie schließt nicht aus, dass jemand, der alle anderen Einträge (%s) kennt und in einem " +
			"von zwanzig Fällen falschen Alarm hinnimmt, über diesen einen in %s der Fälle recht hat",
	},
}

// Chance states the guarantee as the chance of a guess about one unit, without a full stop.
func (a Attacker) Chance(language string, rel privacy.Relation, unit string, where Place) string {
	p, often := languages[language], languages[language].unlimited
	if hundred := InHundred(a.Guess); hundred != "100" {
		often = fmt.Sprintf(p.times, hundred)
	}
	if rel == privacy.ReplaceOne {
		return fmt.Sprintf(p.values, unit, often)
	}
	return fmt.Sprintf(p.presence, unit, where.In(language), often)
}

// Caution says plainly that a guarantee is weak, and "" where it is not. Weak is one under which
// an attacker with one false alarm in twenty may be right more often than not, very weak one
// under which the attacker may be right in nine of ten cases.
func (a Attacker) Caution(language, unit string) string {
	p := languages[language]
	switch {
	case a.Detection > 0.9:
		return fmt.Sprintf(p.veryWeak, unit, Percent(a.Detection))
	case a.Detection > 0.5:
		return fmt.Sprintf(p.weak, unit, Percent(a.Detection))
	}
	return ""
}

// InHundred prints a chance as times in 100, rounded up.
func InHundred(p float64) string {
	n := math.Ceil(100*p - 1e-9)
	if n < 100 {
		return strconv.FormatFloat(n, 'f', 0, 64)
	}
	if p > 0.9999 {
		return "100"
	}
	return strconv.FormatFloat(math.Ceil(1e4*p-1e-9)/100, 'f', -1, 64)
}

// Percent prints a chance that is an upper bound, rounded up to a tenth of a percent.
func Percent(x float64) string {
	return strconv.FormatFloat(math.Min(math.Ceil(x*1000-1e-9)/10, 100), 'f', -1, 64) + " %"
}
