package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/lab/plot"
)

func (s study) lossName() string {
	if s.model.logistic {
		return "mean log loss"
	}
	return "root mean squared error"
}

// tables writes one table for each study. The last column says how much of what the
// features explain is left: 100 % is the fit without privacy, 0 % the best model
// without features.
func tables(all []study) string {
	var b strings.Builder
	for _, s := range all {
		fmt.Fprintf(&b, "`%s`: %s, %d records, δ = %g, %s. Without privacy %.5f; without features %.5f.\n\n", s.title, s.lossName(),
			s.table.Rows, s.request.Target.Delta, s.request.Public.Relation, s.free, s.null)
		b.WriteString("| ε | noise multiplier | loss, median | 10 % to 90 % | excess over the fit | explained " +
			"|\n|---:|---:|---:|---:|---:|---:|\n")
		for _, p := range s.points {
			fmt.Fprintf(&b, "| %g | %.3g | %.5f | %.5f – %.5f | %+.2f %% | %.1f %% |\n", p.epsilon, p.multiplier, p.median, p.low, p.high,
				100*(p.median/s.free-1), 100*(s.null-p.median)/(s.null-s.free))
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// together writes one table of what each release explains, for releases of one model.
func together(all []study) string {
	var b strings.Builder
	b.WriteString("| release | records read |")
	for _, e := range epsilons {
		fmt.Fprintf(&b, " ε = %g |", e)
	}
	b.WriteString("\n|:---|---:|" + strings.Repeat("---:|", len(epsilons)) + "\n")
	for _, s := range all {
		fmt.Fprintf(&b, "| `%s` | %d |", s.title, s.reads)
		for _, p := range s.points {
			fmt.Fprintf(&b, " %.1f %% |", 100*(s.null-p.median)/(s.null-s.free))
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// loss draws the loss over epsilon, one panel a study.
func loss(all []study) plot.Row {
	var row plot.Row
	for _, s := range all {
		f := plot.New(plot.Axes{Title: s.title, X: "ε", Y: s.lossName(), LogX: true})
		var low, median, high []float64
		for _, p := range s.points {
			low, median, high = append(low, p.low), append(median, p.median), append(high, p.high)
		}
		level := func(y float64) []float64 { return slices.Repeat([]float64{y}, len(epsilons)) }
		f.Line("median release", epsilons, median)
		f.Line("without features", epsilons, level(s.null))
		f.Line("without privacy", epsilons, level(s.free))
		f.Rule("four in five releases lie between", epsilons, low)
		f.Rule("", epsilons, high)
		row = append(row, f)
	}
	return row
}
