package main

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
)

// near is a relative difference of six digits: of an estimate or error, and of an end in half-widths of R's interval.
const near = 5e-6

// rule says why something differs from R.
type rule struct {
	what                string // estimate, error or interval
	designs, statistics string // "" for all
	why                 string
}

var rules = []rule{
	{"estimate", "", "variance", "R multiplies by n/(n − 1); `variance` divides by the number of rows"},
	{"estimate", "apiclus2", "mean by group", "one is blank: with few districts Fieller's interval holds everything"},
	{"error", "", "variance", "the same factor; the variance of strata leaves their differences in"},
	{"error", "stratified", "mean by group", "strata of unequal size have one factor n/(n − 1), the largest"},
	{"error", "stratified", "ratio histogram",
		"where a denominator or a bin is estimated, the differences between strata stay in: too wide, never too narrow"},
	{"error", "rates weights", "histogram", "the squares of weights are taken at a few nodes, which makes them too large by up to a third"},
	{"error", "apiclus2", "", "what is drawn below the districts is bounded from the frame here, and estimated by R"},
	{"interval", "", "count share histogram", "numbers and shares of rows have Wilson's interval and half a row more, or the degrees of " +
		"freedom of the next line; R's is symmetric"},
	{"interval", "", "mean by group sum by group sum",
		"the degrees of freedom are those of the rows, or clusters, that matter in the cell; R takes those of the design"},
	{"interval", "poisson rates weights apiclus1 apiclus2", "mean",
		"Fieller's interval, which holds whatever the number of rows is; R's is symmetric"},
	{"interval", "", "ratio variance", "Fieller's interval; R's is symmetric"},
}

// differs reports what of a line is not R's.
func (l line) differs(what string) bool {
	far := func(a, b, scale float64) bool { return !(math.Abs(a-b) <= near*scale) }
	r, o := l.r, l.ours
	switch what {
	case "estimate":
		return far(o.Estimate, r.Estimate, math.Abs(r.Estimate))
	case "error":
		if r.Error == 0 { // known, and noise remains
			return far(o.Error, 0, math.Abs(r.Estimate))
		}
		return far(o.Error, r.Error, r.Error)
	}
	half := (r.High - r.Low) / 2
	if half == 0 {
		half = math.Abs(r.Estimate)
	}
	return far(o.Low, r.Low, half) || far(o.High, r.High, half)
}

// because is the rule about a line, −1 for none.
func (l line) because(what string) int {
	return slices.IndexFunc(rules, func(r rule) bool {
		return r.what == what && (r.designs == "" || slices.Contains(strings.Fields(r.designs), l.design)) &&
			(r.statistics == "" || named(r.statistics, l.statistic))
	})
}

// named reports whether a list of statistics holds one: "mean" is not in "mean by group".
func named(list, name string) bool {
	for _, s := range statistics {
		if at := strings.Index(list, s.name+" by group"); at >= 0 && s.name+" by group" != name {
			list = list[:at] + list[at+len(s.name+" by group"):]
		}
	}
	return strings.Contains(list, name)
}

// page writes what was compared.
func page(lines []line) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `# Beside R's package survey

<!-- bin/lab/rsurvey writes this page -->

The program at noise next to nothing (ε 10¹¹), and R's `+"`survey`"+` on the same tables: `+
		`%d values of %d collections of California's schools. `+"`poisson`, `rates`"+` were drawn by R once; the others come with the package.
A cell is about all values of a statistic: estimates/standard errors/intervals. "=" says that six digits agree, `+
		`a number names the reason below, and × is the largest ratio of the standard errors here to R's. `+
		`What a job draws itself has the same formulas; a wave of a panel is a Poisson sample.

| statistic |`, len(lines), len(designs))
	for _, d := range designs {
		fmt.Fprintf(&b, " %s |", d.name)
	}
	b.WriteString("\n|---|")
	b.WriteString(strings.Repeat("---|", len(designs)))
	b.WriteString("\n")
	for _, s := range statistics {
		fmt.Fprintf(&b, "| %s |", s.name)
		for _, d := range designs {
			var parts []string
			for _, what := range []string{"estimate", "error", "interval"} {
				sign, most := "", 1.0
				for _, l := range lines {
					if l.design != d.name || l.statistic != s.name {
						continue
					}
					if sign == "" {
						sign = "="
					}
					if l.differs(what) {
						sign = fmt.Sprint(l.because(what) + 1)
						most = math.Max(most, l.ours.Error/l.r.Error)
					}
				}
				if what == "error" && most > 1.0005 {
					sign += fmt.Sprintf("×%.3g", most)
				}
				parts = append(parts, sign)
			}
			fmt.Fprintf(&b, " %s |", strings.Trim(strings.Join(parts, "/"), "/"))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
	for i, r := range rules {
		fmt.Fprintf(&b, "%d. *%s*: %s.\n", i+1, r.what, r.why)
	}
	b.WriteString(`
Sums of clusters stand beside R's calibrated total (` + "`calibrate(~1)`" + `): the public number of rows makes them ratios here. ` +
		`Quantiles are not compared: R interpolates.
`)
	return b.Bytes()
}
