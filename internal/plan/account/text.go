package account

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/dprelease/dprelease/internal/say/sentence"
	"github.com/dprelease/dprelease/internal/say/verdict"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/describe"
)

// writeText writes the answer for people: the charged guarantee, the bound of each method,
// the reasons of those that have none, and the published claims.
func (a *answer) writeText(w io.Writer) error {
	var b strings.Builder
	a.sentence(&b)
	a.table(&b)
	a.claims(&b)
	for _, warning := range a.Warnings {
		fmt.Fprintf(&b, "\nwarning: %s\n", warning)
	}
	_, err := io.WriteString(w, trailing.ReplaceAllString(b.String(), "\n"))
	return err
}

// trailing is the padding that the last column of a table leaves.
var trailing = regexp.MustCompile(` +\n`)

func (a *answer) sentence(b *strings.Builder) {
	if c := a.Calibrated; c != nil {
		p := a.query.Parameter
		size := "smallest"
		value := up(float64(c.Value))
		if p.Most {
			size, value = "largest", down(float64(c.Value))
		}
		if p.Whole {
			value = fmt.Sprintf("%.0f", float64(c.Value))
		}
		fmt.Fprintf(b, "calibrated  %s = %s\n            the %s value that meets (ε = %s, δ = %s)\n",
			c.Parameter, value, size, shortest(a.query.Epsilon), shortest(a.query.Delta))
	}
	if a.Method == nil {
		fmt.Fprintf(b, "charged     nothing: %s\n", a.Reason)
	} else {
		fmt.Fprintf(b, "charged     (ε = %s, δ = %s) under %s, by %s\n", up(float64(a.Epsilon)), up(float64(a.Delta)), a.Relation, *a.Method)
	}
	fmt.Fprintf(b, "event       %s\n", describe.Event(a.event))
	if a.Method != nil {
		a.meaning(b)
	}
	if a.Method != nil && a.Lower > 0 {
		fmt.Fprintf(b, "truth       %s lies between %s and %s\n", a.unknown(), down(float64(a.Lower)), up(float64(a.Upper)))
	}
}

// meaning states the guarantee as the chance of an attacker, in the words of the report.
func (a *answer) meaning(b *strings.Builder) {
	charged := privacy.Point{Epsilon: float64(a.Epsilon), Delta: float64(a.Delta)}
	attacker := verdict.ProfileOf(a.event, a.Relation).Attacker(charged)
	fmt.Fprintf(b, "meaning     %s\n", attacker.Chance(sentence.In("en"), a.Relation, "record", verdict.InTable))
	if weak := attacker.Caution(sentence.In("en"), "record"); weak != "" {
		fmt.Fprintf(b, "caution     %s\n", weak)
	}
}

func (a *answer) unknown() string {
	if a.asksDelta() {
		return "δ"
	}
	return "ε"
}

// table has one row for each method: supported ones from tight to loose, then
// the others with the reason.
func (a *answer) table(b *strings.Builder) {
	b.WriteString("\n")
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	given := "at δ = " + shortest(float64(a.query.Delta))
	if a.asksDelta() {
		given = "at ε = " + shortest(float64(a.query.Epsilon))
	}
	fmt.Fprintf(t, "method\t%s %s\t\n", a.unknown(), given)
	names := make([]string, 0, len(a.Methods))
	for name := range a.Methods {
		names = append(names, name)
	}
	slices.SortFunc(names, func(x, y string) int {
		// Of equal bounds the charged one stands first.
		return cmp.Or(cmp.Compare(a.Methods[x], a.Methods[y]), cmp.Compare(b2i(y == *a.Method), b2i(x == *a.Method)), cmp.Compare(x, y))
	})
	for _, name := range names {
		x := float64(a.Methods[name])
		note := "charged"
		if name != *a.Method {
			note = looser(x, float64(a.Upper))
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", name, up(x), note)
	}
	for _, u := range a.Unsupported {
		fmt.Fprintf(t, "%s\t–\tno: %s\n", u.Method, u.Text())
	}
	t.Flush() //nolint:errcheck // a strings.Builder never fails
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// looser compares a bound with the charged one.
func looser(x, best float64) string {
	if x == best {
		return "the same"
	}
	if best == 0 {
		return "looser"
	}
	switch r := x / best; {
	case r < 1.001:
		return "less than 0.1 % looser"
	case r < 2:
		return fmt.Sprintf("%.1f %% looser", 100*(r-1))
	case r < 1000:
		return fmt.Sprintf("%.3g times looser", r)
	default:
		return fmt.Sprintf("%.0e times looser", r)
	}
}

// claims lists published figures. None of them is charged.
func (a *answer) claims(b *strings.Builder) {
	if len(a.Claimed) > 0 {
		b.WriteString("\nclaimed, not charged\n")
	}
	for _, c := range a.Claimed {
		fmt.Fprintf(b, "  (ε = %s, δ = %s)  %s\n      %s\n", down(c.Epsilon), down(c.Delta), c.Source, c.Why)
	}
}
