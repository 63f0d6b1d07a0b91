package main

import (
	"fmt"
	"math"
	"regexp"
	"strings"
)

const opening = `# The papers, reproduced

dprelease's own accountant and mechanisms computed every figure and number below, with the papers' parameters and axes; ` +
	"`make papers`" + ` makes this page again.
What a paper states agrees with ours, unless **refuted** stands beside it. Simulated figures use RUNS runs from fixed seeds; ` +
	`where the luck of one population decides, POPULATIONS.
[What the papers left open](open-questions.md) is a page of its own.

`

// text is the page, after its exhibits were drawn.
func (p page) text(shown [][]exhibit) string {
	var b strings.Builder
	b.WriteString(strings.NewReplacer("RUNS", fmt.Sprint(repetitions), "POPULATIONS", fmt.Sprint(populations)).Replace(p.opening))
	for _, ch := range p.chapters {
		fmt.Fprintf(&b, "- [%s](#%s)\n", ch.title, anchor(ch.title))
	}
	for c, ch := range p.chapters {
		fmt.Fprintf(&b, "\n## %s\n", ch.title)
		if ch.about != "" {
			fmt.Fprintf(&b, "\n%s\n", ch.about)
		}
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
	fmt.Fprintf(b, "\n### %s\n\n%s\n", e.title, e.text)
	for _, p := range e.figures {
		fmt.Fprintf(b, "\n![%s](papers/%s.svg)\n", e.alt, p.name)
	}
	if e.table != "" {
		fmt.Fprintf(b, "\n%s", e.table)
	}
	for i, f := range e.facts {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "- %s: ", f.what)
		if f.stated != "" {
			fmt.Fprintf(b, "stated %s, ours ", f.stated)
		}
		b.WriteString(f.ours)
		if f.known && !f.holds {
			b.WriteString(": **refuted**")
		}
		b.WriteString("\n")
	}
	if e.agreement = strings.TrimSpace(e.agreement); e.agreement != "" {
		fmt.Fprintf(b, "\n%s\n", e.agreement)
	}
}

// stated compares one of our numbers with one that was stated to some digits: they
// agree when ours is within tolerance of it.
func stated(what string, want, got, tolerance float64) fact {
	return fact{what: what, stated: fmt.Sprintf("%g", want), ours: fmt.Sprintf("%.4g", got), holds: math.Abs(got-want) <= tolerance,
		known: true}
}

// claim is a finding in words.
func claim(what, stated string, holds bool, ours string) fact {
	return fact{what: what, stated: stated, ours: ours, holds: holds, known: true}
}

var yesNo = map[bool]string{true: "yes", false: "no"}

// found is a number that no paper states here.
func found(what, ours string) fact { return fact{what: what, ours: ours} }

// logs are n numbers from lo to hi, evenly spaced in the logarithm.
func logs(lo, hi float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = lo * math.Pow(hi/lo, float64(i)/float64(n-1))
	}
	return out
}

// steps are n+1 evenly spaced numbers from lo to hi.
func steps(lo, hi float64, n int) []float64 {
	out := make([]float64, n+1)
	for i := range out {
		out[i] = lo + (hi-lo)*float64(i)/float64(n)
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
