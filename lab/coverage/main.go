package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"
)

func main() {
	draws := flag.Int("draws", 1000, "draws of each design from each table")
	data := flag.String("data", "examples/data", "folder of the examples' tables")
	out := flag.String("out", "", "folder of coverage.md; without it the table is printed")
	cells := flag.Bool("cells", false, "print the figures of each value, and write no page")
	only := flag.String("only", "", "one table, or table/design, or keys")
	flag.Parse()
	if err := run(*draws, *data, *out, *only, *cells); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const level = 0.95

func quantile(p float64) float64 { return distuv.UnitNormal.Quantile(p) }

func run(draws int, data, out, only string, cells bool) error {
	all, err := populations(data)
	if err != nil {
		return err
	}
	var lines []line
	for _, p := range all {
		own := p.designs
		if own == nil {
			own = designs
		}
		for _, design := range own {
			if !strings.HasPrefix(p.name+"/"+design, only) {
				continue
			}
			f, err := p.study(context.Background(), design, draws, nil)
			if err != nil {
				return err
			}
			lines = append(lines, line{p, design, f})
		}
	}
	if cells {
		writeCells(lines)
		return nil
	}
	var b strings.Builder
	v := judge(lines)
	fmt.Fprintf(&b, head, draws, v.figures, 100*math.Sqrt(level*(1-level)/float64(draws)), 100*v.lowest, 100*v.highest, v.units, 100*v.blank())
	of := func(kind func(*population) bool) (out []line) {
		for _, l := range lines {
			if kind(l.p) {
				out = append(out, l)
			}
		}
		return out
	}
	small, tails := of(func(p *population) bool { return p.tiny }), of(func(p *population) bool { return p.tail })
	for lines = of(func(p *population) bool { return !p.tiny && !p.tail }); len(lines) > 0; {
		n := 0
		for n < len(lines) && lines[n].p == lines[0].p {
			n++
		}
		writePopulation(&b, lines[:n])
		lines = lines[n:]
	}
	writeSmall(&b, small)
	writeTails(&b, tails)
	if only == "" || only == "keys" {
		if err := writeKeys(&b, draws); err != nil {
			return err
		}
	}
	if out == "" {
		fmt.Print(b.String())
	} else if err := os.WriteFile(filepath.Join(out, "coverage.md"), []byte(b.String()), 0o644); err != nil {
		return err
	}
	if only == "" && v.blank() > 0.1 {
		return fmt.Errorf("%.1f %% of the values with at least %d units drawn are blank", 100*v.blank(), enough)
	}
	return v.failed
}

// enough is from how many drawn units on a value should be shown.
const enough = 20

// verdict holds the judgement of all figures together. Those of small tables' extreme ranks and of capped rows do not
// count as blank: they are there to be blank.
type verdict struct {
	figures         int // values that are shown often enough to be judged
	lowest, highest float64
	units, blanks   int // values with enough units, and those of them that are blank
	failed          error
}

func (v verdict) blank() float64 { return float64(v.blanks) / float64(max(1, v.units)) }

// judge looks at each value given that it is shown: in at least 50 draws, and one in twenty.
func judge(lines []line) verdict {
	v := verdict{lowest: 1}
	judged := func(f *figure) bool { return f.drawn >= 50 && f.shown() >= 0.05 }
	for _, l := range lines {
		for _, f := range l.f {
			if judged(f) {
				v.figures++
				v.lowest, v.highest = math.Min(v.lowest, f.share()), math.Max(v.highest, f.share())
			}
			if f.units >= enough && !l.p.tail && l.p.persons == nil {
				if v.units++; f.blank() {
					v.blanks++
				}
			}
		}
	}
	for _, l := range lines {
		for _, f := range l.f {
			if least := level - luck(level, max(1, f.drawn), max(1, v.figures)); judged(f) && f.share() < least {
				v.failed = errors.Join(v.failed, fmt.Errorf("%s, %s, %s %s, value %d: held in %.1f %% of %d draws, below %.1f %%",
					l.p.name, l.design, f.release.mechanism, f.release.params, f.row, 100*f.share(), f.drawn, 100*least))
			}
		}
	}
	return v
}

// line holds the figures of one design on one population.
type line struct {
	p      *population
	design string
	f      []*figure
}

// writePopulation writes a table with a row for each release and a column for each design.
func writePopulation(b *strings.Builder, lines []line) {
	p := lines[0].p
	fmt.Fprintf(b, "\n## %s\n\n%s: %d rows. ε = %s a release.\n\n| statistic |", p.name, p.about, p.table.Rows, p.epsilon)
	var releases []string
	cells := map[string]map[string]string{}
	for _, l := range lines {
		fmt.Fprintf(b, " %s |", l.design)
		for i := 0; i < len(l.f); {
			k := i
			for k < len(l.f) && l.f[k].release == l.f[i].release {
				k++
			}
			name := fmt.Sprintf("`%s` %s", l.f[i].release.mechanism, strings.Trim(l.f[i].release.params, "{}"))
			if cells[name] == nil {
				releases, cells[name] = append(releases, name), map[string]string{}
			}
			cells[name][l.design] = cell(l.f[i:k])
			i = k
		}
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(lines)) + "\n")
	for _, name := range releases {
		fmt.Fprintf(b, "| %s |", name)
		for _, l := range lines {
			fmt.Fprintf(b, " %s |", cells[name][l.design])
		}
		b.WriteString("\n")
	}
}

// chances are the classes of values by how often they are shown, each up to a share of the draws.
var chances = []struct {
	upTo float64
	name string
}{{0.05, "up to 5 %"}, {0.2, "5 to 20 %"}, {0.9, "20 to 90 %"}, {1, "above 90 %"}}

// writeSmall writes a table with a row for each table and statistic, and a column for each class of values by how often they are shown.
func writeSmall(b *strings.Builder, lines []line) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## Small groups\n\nHow often intervals hold, given that the value is shown, by how often it is shown; "+
		"in brackets the lowest share of a value shown in 50 draws or more. Tables are made at random.\n\n")
	var about []string
	for _, l := range lines {
		name, _, _ := strings.Cut(l.p.name, "-")
		var each []string
		for _, o := range lines {
			if o.p.about == l.p.about && !slices.Contains(each, o.p.epsilon) {
				each = append(each, o.p.epsilon)
			}
		}
		epsilon := strings.Join(each, ", ")
		if line := fmt.Sprintf("- *%s*, ε = %s: %s.\n", name, epsilon,
			strings.TrimPrefix(l.p.about, "made at random: ")); !slices.Contains(about, line) {
			about = append(about, line)
			b.WriteString(line)
		}
	}
	b.WriteString("\n| table | design | statistic |")
	for _, c := range chances {
		fmt.Fprintf(b, " shown in %s |", c.name)
	}
	b.WriteString("\n|---|---|---|" + strings.Repeat("---|", len(chances)) + "\n")
	var names []string
	of := map[string][]*figure{}
	for _, l := range lines {
		table, _, _ := strings.Cut(l.p.name, "-") // of every ε
		for _, f := range l.f {
			name := fmt.Sprintf("| %s | %s | `%s` |", table, l.design, f.release.mechanism)
			if of[name] == nil {
				names = append(names, name)
			}
			of[name] = append(of[name], f)
		}
	}
	for _, name := range names {
		b.WriteString(name)
		from := 0.0
		for _, c := range chances {
			fmt.Fprintf(b, " %s |", pooled(of[name], from, c.upTo))
			from = c.upTo
		}
		b.WriteString("\n")
	}
}

// pooled is the coverage of all values together that are shown in more than a share of the draws and up to another.
func pooled(f []*figure, from, upTo float64) string {
	held, shown, lowest := 0, 0, math.Inf(1)
	for _, x := range f {
		if s := x.shown(); s <= from || s > upTo {
			continue
		}
		held, shown = held+x.held, shown+x.drawn
		if x.drawn >= 50 {
			lowest = math.Min(lowest, x.share())
		}
	}
	switch {
	case shown == 0:
		return "–"
	case math.IsInf(lowest, 1):
		return fmt.Sprintf("%.1f", 100*float64(held)/float64(shown))
	}
	return fmt.Sprintf("%.1f(%.1f)", 100*float64(held)/float64(shown), 100*lowest)
}

// writeCells prints the figures of each value on a line of its own.
func writeCells(lines []line) {
	for _, l := range lines {
		for _, f := range l.f {
			fmt.Printf("%s|%s|%s %s|%d|units %.1f|shown %.3f|held %.3f|w %.3f\n", l.p.name, l.design, f.release.mechanism, f.release.params, f.row,
				f.units, f.shown(), f.share(), f.width/float64(f.drawn)/(3.92*math.Sqrt(f.spread/float64(f.drawn))))
		}
	}
}

// writeTails writes a table with a row for each kind of values and design, and a column for each rank, over all sizes.
func writeTails(b *strings.Builder, lines []line) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## Quantiles of small tables\n\nMade at random, bounds 0 and 1000: the noise in rank reaches the part of the "+
		"bounds that holds no value. *table* is all rows, *srswor* a quarter of them. Cells are over 100–2,000 rows and ε of 0.25–1.\n\n")
	var names []string
	of := map[string][][]*figure{}
	for _, l := range lines {
		_, about, _ := strings.Cut(l.p.about, ": ")
		name := fmt.Sprintf("| %s | %s |", about, l.design)
		if of[name] == nil {
			names, of[name] = append(names, name), make([][]*figure, len(tailRanks))
		}
		for i, f := range l.f {
			of[name][i] = append(of[name][i], f)
		}
	}
	fmt.Fprintf(b, "| values | design | %s |\n|---|---|%s\n", strings.Join(tailRanks, " | "), strings.Repeat("---|", len(tailRanks)))
	for _, name := range names {
		b.WriteString(name)
		for _, f := range of[name] {
			fmt.Fprintf(b, " %s |", cell(f))
		}
		b.WriteString("\n")
	}
}

// cell is the coverage of the values of one release: the range, the width, and how many are blank.
func cell(f []*figure) string {
	all := len(f)
	if f = slices.DeleteFunc(slices.Clone(f), (*figure).blank); len(f) == 0 {
		return "blank"
	} else if len(f) < all {
		return fmt.Sprintf("%s(%d)", cell(f), all-len(f))
	}
	low, high, ratio := 1.0, 0.0, 0.0
	for _, x := range f {
		low, high = math.Min(low, x.share()), math.Max(high, x.share())
		n := float64(x.drawn)
		ratio += x.width / (n - float64(x.unbounded)) / (3.92 * math.Sqrt(x.spread/n)) / float64(len(f))
	}
	if len(f) == 1 {
		return fmt.Sprintf("%.1f×%.2f", 100*low, ratio)
	}
	return fmt.Sprintf("%.1f–%.1f×%.2f", 100*low, 100*high, ratio)
}

const head = `# How often intervals hold the value

<!-- make coverage writes this page -->

An interval of 95 %% holds the population's value in about 95 of 100 runs, over draw and noise together (P30): ` +
	`%d draws of each design from each table, %d released values, as the program plans, draws and adds noise.

The standard error of a share is %.1f points for a value that is always shown. The lowest share here is %.1f %%, the highest %.1f %%, ` +
	`given that a value is shown, of those shown in one draw of twenty or more. The study fails below what luck explains in 95 of 100 ` +
	`such studies.
A value that is blank in more than a tenth of the draws, for noise or an interval of everything, is called blank. ` +
	`Of the %d values of which at least 20 units are drawn, %.1f %% are blank (extreme ranks of small tables and capped rows left out). ` +
	`A cell holds the share in per cent, of several values the lowest and highest, × the mean width over that of ±1.96 true standard ` +
	`errors; in brackets how many values are blank.

*table* is the whole table (noise alone); *strata* takes fixed numbers, *rates* a rate for each stratum (under add-remove; ` +
	`the others are under replace-one); *collected* is itself a simple random sample, *gathered* a Poisson sample; ` +
	`*survey* draws rows with unequal chances, as weights; *stages* draws 250 districts and 4 schools in each, 600 households, ` +
	`60 of 200 shops and 30 customers in each, or 10 of 20 towns and 100 rows in each.
`
