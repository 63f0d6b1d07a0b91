package main

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"
)

// page writes everything as Markdown.
func (s *study) page(rows, large int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Beside the rivals\n\nThe same work with the same guarantee, by dprelease and by the tools that a user would choose "+
		"instead, in one run on one machine (%s, %d processors of %s/%s). `bin/lab/rivals` writes this page anew.\n\n",
		time.Now().Format("2 January 2006"), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
	b.WriteString("| tool | version | licence |\n|---|---|---|\n")
	for _, t := range tools {
		fmt.Fprintf(&b, "| %s | `%s` | %s |\n", t.name, strings.Join(t.packages, "`, `"), t.licence)
	}
	fmt.Fprintf(&b, "\nEach rival is used as its own guide advises, in the better of its ways: the scripts are in `lab/rivals/scripts`.\n\n"+
		"## Errors\n\nRoot mean square error over %d runs, or as many as are named, and all cells, "+
		"± its standard error; a table of %d persons, one row each, and one of their visits. A value that dprelease leaves blank, because "+
		"noise is nearly all of it, is not in its error, and the share of these is said. **Bold** is the best, and what cannot be told from "+
		"it (two standard errors). The relation is add-remove but for the sample. The noise of a rival that has no use for δ "+
		"is measured once. DP Wizard writes code for OpenDP, which is asked.\n\n", s.runs, rows)
	for _, t := range tasks {
		s.errorTable(&b, t)
	}
	s.costTable(&b, large)
	s.chargeTable(&b)
	return b.Bytes()
}

func (s *study) errorTable(b *bytes.Buffer, t task) {
	fmt.Fprintf(b, "### %s\n\n", t.title)
	if t.tables > 1 {
		fmt.Fprintf(b, "The runs are shared by %d tables of the same law: on one table the median may lie beside a candidate.\n\n", t.tables)
	}
	b.WriteString("| |")
	var of []guarantee
	for _, g := range guarantees {
		if !t.needsDelta || g.delta != "0" {
			of = append(of, g)
			fmt.Fprintf(b, " %s |", g)
		}
	}
	b.WriteString(" how |\n|---|" + strings.Repeat("---:|", len(of)) + "---|\n")
	var cannot []string
	for _, name := range asked {
		for _, other := range t.ways(name) {
			cannot = s.errorRow(b, other, name, of, cannot)
		}
	}
	b.WriteString("\n")
	for _, text := range cannot {
		fmt.Fprintf(b, "- %s\n", strings.ReplaceAll(text, "|", "\\|"))
	}
	if len(cannot) > 0 {
		b.WriteString("\n")
	}
}

// errorRow writes the row of a way of a tool and adds what it cannot do.
func (s *study) errorRow(b *bytes.Buffer, t task, name string, of []guarantee, cannot []string) []string {
	values, how := []string{}, ""
	for _, g := range of {
		at := slices.IndexFunc(s.lines, func(l line) bool {
			return l.task.name == t.name && l.task.way == t.way && l.given == g && l.tool == name
		})
		switch {
		case at < 0:
			continue
		case s.lines[at].Cannot != "":
			values = append(values, "–")
			if text := name + ": " + s.lines[at].Cannot; !slices.Contains(cannot, text) {
				cannot = append(cannot, text)
			}
			continue
		}
		l := s.lines[at]
		if how = l.How; len(l.Runs) < s.runs {
			how += fmt.Sprintf("; %d runs", len(l.Runs))
		}
		text := fmt.Sprintf("%.3g ± %.1g", l.rmse, l.se)
		cells := float64(len(s.truth[t.name]))
		switch blank := cells - l.found; {
		case t.name == "keys":
			text = fmt.Sprintf("%.3g, %.1f found", l.rmse, l.found)
		case blank > 0.005*cells:
			text += fmt.Sprintf(" (%.0f %% blank)", 100*blank/cells)
		case s.best(l):
			text = "**" + text + "**"
		}
		values = append(values, text)
	}
	if len(values) > 0 {
		fmt.Fprintf(b, "|%s|%s|%s|\n", name, strings.Join(values, "|"), how)
	}
	return cannot
}

// best reports whether no tool does better than the line by more than two standard errors.
func (s *study) best(l line) bool {
	return !slices.ContainsFunc(s.lines, func(o line) bool {
		return o.task.name == l.task.name && o.given == l.given && o.Cannot == "" && o.rmse+2*(o.se+l.se) < l.rmse
	})
}

func (s *study) costTable(b *bytes.Buffer, large int) {
	fmt.Fprintf(b, "## Time and memory\n\nOne release at %s from CSV. *Start* is a table of ten rows; *a row* is what a table of %d takes "+
		"more, over its rows.\n\n"+
		"|task|tool|start: processor, s|wall, s|memory, MB|a row: processor, µs|wall, µs|memory of the large table, MB|\n"+
		"|---|---|---:|---:|---:|---:|---:|---:|\n", guarantees[3], large)
	for _, c := range s.costs {
		if c.cannot != "" || c.rows == 0 {
			continue
		}
		row := func(large, start time.Duration) float64 {
			return float64((large - start).Nanoseconds()) / float64(c.rows) / 1e3
		}
		fmt.Fprintf(b, "|%s|%s|%.2f|%.2f|%d|%.2f|%.2f|%d|\n", c.task.title, c.tool, c.start.cpu.Seconds(),
			c.start.wall.Seconds(), c.start.memory>>20, row(c.large.cpu, c.start.cpu), row(c.large.wall, c.start.wall), c.large.memory>>20)
	}
	b.WriteString("\n")
}

func (s *study) chargeTable(b *bytes.Buffer) {
	names := []string{"dprelease", "dp_accounting, PLD", "dp_accounting, RDP", "autodp", "jax-privacy, PLD", "jax-privacy, RDP"}
	b.WriteString("## What the same noise is charged\n\nε, and the seconds that the answer took. A dash is an expression that a tool does " +
		"not have. jax-privacy composes the draws of a fixed size in each direction by itself, which is too little: a person who " +
		"moves between two of three cells loses 0.49 where it says 0.34 (`TestOneDirectionIsTooLittle`). dprelease takes the worse " +
		"direction at each step.\n\n| |")
	for _, n := range names {
		fmt.Fprintf(b, " %s |", n)
	}
	b.WriteString(" no less than |\n|---|" + strings.Repeat("---:|", len(names)+1) + "\n")
	var cannot []string
	for _, c := range s.charged {
		fmt.Fprintf(b, "|%s, δ %g|", c.title, c.Delta)
		for _, n := range names {
			answer, answered := c.by[n]
			if tool, _, _ := strings.Cut(n, ","); !answered { // the whole tool failed
				answer = c.by[tool]
			}
			fmt.Fprintf(b, "%s|", answer)
			if why := answer.Cannot; why != "" {
				message, _, _ := strings.Cut(strings.ReplaceAll(why, "|", "\\|"), "(")
				if text := fmt.Sprintf("- %s: %s", n, message); !slices.Contains(cannot, text) {
					cannot = append(cannot, text)
				}
			}
		}
		lower := "–"
		if c.lower > 0 {
			lower = fmt.Sprintf("%.4g", c.lower)
		}
		fmt.Fprintf(b, "%s|\n", lower)
	}
	b.WriteString("\n" + strings.Join(cannot, "\n") + "\n")
}
