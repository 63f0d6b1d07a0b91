package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"
)

func main() {
	draws := flag.Int("draws", 1000, "draws of each design from each table")
	data := flag.String("data", "examples/data", "folder of the examples' tables")
	out := flag.String("out", "", "folder of coverage.md; without it the table is printed")
	only := flag.String("only", "", "one table, or table/design")
	flag.Parse()
	if err := run(*draws, *data, *out, *only); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const level = 0.95

func quantile(p float64) float64 { return distuv.UnitNormal.Quantile(p) }

func run(draws int, data, out, only string) error {
	all, err := populations(data)
	if err != nil {
		return err
	}
	type line struct {
		p      *population
		design string
		f      []*figure
	}
	var lines []line
	figures := 0
	for _, p := range all {
		for _, design := range designs {
			if !strings.HasPrefix(p.name+"/"+design, only) {
				continue
			}
			f, err := p.study(context.Background(), design, draws, nil)
			if err != nil {
				return err
			}
			lines, figures = append(lines, line{p, design, f}), figures+len(f)
		}
	}
	var b strings.Builder
	allowed := luck(level, draws, figures)
	lowest, highest := 1.0, 0.0
	for _, l := range lines {
		for _, f := range l.f {
			lowest, highest = math.Min(lowest, f.share()), math.Max(highest, f.share())
		}
	}
	fmt.Fprintf(&b, head, draws, figures, 100*allowed, 100*(level-allowed), 100*lowest, 100*highest)
	name := ""
	for _, l := range lines {
		if l.p.name != name {
			name = l.p.name
			fmt.Fprintf(&b, "\n## %s\n\n%s: %d rows. ε = %s a release.\n\n| design | statistic | values | held, %% | lowest | highest | simulation error | width ÷ 3.92 standard errors |\n|---|---|---|---|---|---|---|---|\n",
				name, l.p.about, l.p.table.Rows, l.p.epsilon)
		}
		for i := 0; i < len(l.f); {
			k := i
			for k < len(l.f) && l.f[k].release == l.f[i].release {
				k++
			}
			row(&b, l.design, l.f[i:k])
			i = k
		}
	}
	if out == "" {
		fmt.Print(b.String())
	} else if err := os.WriteFile(filepath.Join(out, "coverage.md"), []byte(b.String()), 0o644); err != nil {
		return err
	}
	if lowest < level-allowed {
		return fmt.Errorf("an interval held the value in %.1f %% of the draws: below %.1f %%", 100*lowest, 100*(level-allowed))
	}
	return nil
}

// row is the coverage of the values of one release.
func row(b *strings.Builder, design string, f []*figure) {
	low, high, held, ratio := 1.0, 0.0, 0.0, 0.0
	for _, x := range f {
		low, high = math.Min(low, x.share()), math.Max(high, x.share())
		held += x.share() / float64(len(f))
		n := float64(x.drawn)
		ratio += x.width / (n - float64(x.unbounded)) / (3.92 * math.Sqrt(x.spread/n)) / float64(len(f))
	}
	r := f[0].release
	fmt.Fprintf(b, "| %s | `%s` %s | %d | %.1f | %.1f | %.1f | %.1f | %.2f |\n", design, r.mechanism, strings.Trim(r.params, "{}"), len(f),
		100*held, 100*low, 100*high, 100*math.Sqrt(level*(1-level)/float64(f[0].drawn)), ratio)
}

const head = `# How often intervals hold the value

<!-- make coverage writes this page -->

A release with ` + "`interval: 95`" + ` promises that its interval holds the population's value in 95 of 100 runs: over the draw of the sample and the noise together (P30). This
page measures that, with the real plans, samplers, mechanisms and noise: %d draws of each design from each table, %d released values.

A share of that many draws is off by luck. The worst of all values may lie %.1f points below 95 %% by luck alone (in 95 of 100 such studies), that is at %.1f %%. The lowest
share here is %.1f %%, the highest %.1f %%. *Simulation error* is the standard error of one share, in points. The last column compares the mean width with that of an interval of ±1.96 true standard errors, which nobody knows.

Designs: *table* is the whole table, so there is noise alone; *srswor* and *poisson* draw rows; *strata* takes a fixed number in each stratum, *rates* draws each stratum at its own
rate (under add-remove; the others are under replace-one); *collected* is a table that is itself a simple random sample, from which totals have no interval; *survey* draws rows one by one with unequal chances, and they carry weights.
`
