package verdict

import (
	"math"
	"strconv"

	"github.com/dprelease/dprelease/internal/say/sentence"
	"github.com/dprelease/dprelease/privacy"
)

// Place names the text for a set of units that a unit is in or not, under add-remove.
type Place string

// The places: the table, the population that it was drawn from, the panel of which it is a wave.
const (
	InTable      Place = "place.table"
	InPopulation Place = "place.population"
	InPanel      Place = "place.panel"
)

// Chance states the guarantee as the chance of a guess about one unit, without a full stop.
func (a Attacker) Chance(l *sentence.Words, rel privacy.Relation, unit string, where Place) string {
	often := l.T("chance.always")
	if hundred := InHundred(a.Guess); hundred != "100" {
		often = l.T("chance.times", hundred)
	}
	if rel == privacy.ReplaceOne {
		return l.T("chance.values", unit, often)
	}
	return l.T("chance.presence", unit, l.T(string(where)), often)
}

// Caution says plainly that a guarantee is weak, and "" where it is not. Weak is one under which
// an attacker with one false alarm in twenty may be right more often than not, very weak one
// under which the attacker may be right in nine of ten cases.
func (a Attacker) Caution(l *sentence.Words, unit string) string {
	switch {
	case a.Detection > 0.9:
		return l.T("caution.very_weak", unit, Percent(a.Detection))
	case a.Detection > 0.5:
		return l.T("caution.weak", unit, Percent(a.Detection))
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
