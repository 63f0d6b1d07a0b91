package main

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

const opening = `# The papers, reproduced

Every figure and number below was computed by dprelease's own accountant and mechanisms; ` + "`make papers`" + ` makes this page again.
*Stated* is what a paper says, as far as it is recorded in [the privacy rules](privacy-rules.md) (section 6 and the traps).
The papers themselves are not part of this repository: where a figure's axes, caption or table entries are not recorded there,
nothing is claimed about them, and the page says so. Simulated figures use %d repetitions over %d populations from fixed seeds.

`

func page(chapters []chapter, shown [][]exhibit, o options) string {
	var b strings.Builder
	fmt.Fprintf(&b, opening, o.repetitions, o.populations)
	for _, ch := range chapters {
		fmt.Fprintf(&b, "- [%s](#%s)\n", ch.title, anchor(ch.title))
	}
	for c, ch := range chapters {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", ch.title, ch.about)
		for _, e := range shown[c] {
			e.write(&b)
		}
	}
	return b.String()
}

// anchor is the name that a forge gives to a heading.
func anchor(title string) string {
	return regexp.MustCompile(`[^\pL\pN-]`).ReplaceAllString(strings.ReplaceAll(strings.ToLower(title), " ", "-"), "")
}

func (e exhibit) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n### %s%s\n\n%s\n", e.numbers(), e.title, e.text)
	for _, p := range e.figures {
		fmt.Fprintf(b, "\n![%s](papers/%s.svg)\n", e.alt, p.name)
		if n := numbered[p.name]; n != "" && len(e.figures) > 1 {
			fmt.Fprintf(b, "\n*%s*\n", n)
		}
	}
	if e.table != "" {
		fmt.Fprintf(b, "\n%s", e.table)
	}
	if len(e.facts) > 0 {
		b.WriteString("\n| | stated | ours | |\n|---|---:|---:|---|\n")
		for _, f := range e.facts {
			mark := ""
			if f.known {
				mark = "agrees"
				if !f.holds {
					mark = "**differs**"
				}
			}
			stated := f.stated
			if stated == "" {
				stated = "–"
			}
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", f.what, stated, f.ours, mark)
		}
	}
	if e.agreement != "" {
		fmt.Fprintf(b, "\n%s\n", e.agreement)
	}
}

// numbered are the figures and the table of our reconstruction of "Accuracy Gains…",
// by the name of the panel or the exhibit.
var numbered = map[string]string{
	"gains-table": "T1", "gains-budget": "F1", "gains-saving": "F2", "mean-never-1": "F3", "mean-never-2": "F4",
	"gains-figure5": "F5a", "gains-figure5-crossing": "F5b", "median-sensitivity-published": "F6", "median-sensitivity-exact": "F7",
	"median-lognormal-published": "F8", "median-lognormal-exact": "F9", "median-bimodal-published": "F10", "median-bimodal-exact": "F11",
	"quantiles": "F12", "mean-gaussian": "F13a", "median-exponential-1": "F13b", "median-exponential-2": "F13c",
}

// numbers returns the numbers of an exhibit's figures, for its heading.
func (e exhibit) numbers() string {
	names := []string{e.id}
	for _, p := range e.figures {
		names = append(names, p.name)
	}
	var all []string
	for _, n := range names {
		if x := numbered[n]; x != "" && !slices.Contains(all, x) {
			all = append(all, x)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return strings.Join(all, ", ") + ". "
}

// stated compares one of our numbers with one that was stated to some digits: they
// agree when ours is within tolerance of it.
func stated(what string, want, got, tolerance float64) fact {
	return fact{what: what, stated: fmt.Sprintf("%g", want), ours: fmt.Sprintf("%.4g", got), holds: math.Abs(got-want) <= tolerance, known: true}
}

// within is stated as a range.
func within(what string, want, lo, hi, got float64) fact {
	return fact{what: what, stated: fmt.Sprintf("%g (over 25 populations %g to %g)", want, lo, hi), ours: fmt.Sprintf("%.3g", got),
		holds: got >= lo && got <= hi, known: true}
}

// found is a number that no paper states here.
func found(what, ours string) fact { return fact{what: what, ours: ours} }

// allHold sums up in words.
func allHold(facts []fact) string {
	known, holds := 0, 0
	for _, f := range facts {
		if f.known {
			known++
			if f.holds {
				holds++
			}
		}
	}
	if known == 1 && holds == 1 {
		return "What is stated agrees."
	}
	if known == holds {
		return fmt.Sprintf("All %d stated numbers agree.", known)
	}
	return fmt.Sprintf("%d of %d stated numbers agree.", holds, known)
}

// logs are n numbers from lo to hi, evenly spaced in the logarithm.
func logs(lo, hi float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = lo * math.Pow(hi/lo, float64(i)/float64(n-1))
	}
	return out
}

func apply(x []float64, f func(float64) float64) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		out[i] = f(x[i])
	}
	return out
}

func constant(x []float64, c float64) []float64 { return apply(x, func(float64) float64 { return c }) }
