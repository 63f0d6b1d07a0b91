package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/dprelease/dprelease/lab/measure"
)

func main() {
	releases := flag.Int("releases", 200, "releases of each")
	data := flag.String("data", "examples/data", "folder of the examples' tables")
	page := flag.String("page", "", "the page whose table is written anew; nothing for standard output")
	clip := flag.Bool("bounds", false, "measure bounds that are found in private, in the place of quantiles")
	mid := flag.Bool("median", false, "compare the median by both mechanisms")
	flag.Parse()
	if *mid {
		all, err := columns(*data)
		if err == nil {
			if err = medianTable(os.Stdout, all, *releases); err == nil {
				return
			}
		}
		fmt.Fprintln(os.Stderr, "quantiles:", err)
		os.Exit(1)
	}
	if err := run(*data, *page, *releases, *clip); err != nil {
		fmt.Fprintln(os.Stderr, "quantiles:", err)
		os.Exit(1)
	}
}

func run(data, page string, releases int, clip bool) error {
	all, err := columns(data)
	if err != nil {
		return err
	}
	var text, begin string
	if clip {
		begin = beginBounds
		if text, err = boundsTable(all); err != nil {
			return err
		}
	} else {
		begin = beginQuantiles
		text = table(compare(all, []float64{0.1, 0.5, 1}, releases))
	}
	if page == "" {
		fmt.Print(text)
		return nil
	}
	return measure.Rewrite(page, begin, end, "\n"+text)
}

// The table stands between these lines of the page.
const (
	beginQuantiles = "<!-- table: bin/lab/quantiles -page lab/studies/quantiles.md -->"
	beginBounds    = "<!-- table: bin/lab/quantiles -bounds -page docs/mechanisms/bounds.md -->"
	end            = "<!-- end of table -->"
)

func table(entries []entry) string {
	var b strings.Builder
	b.WriteString("| column | ε | ranks | tree | EM | recursion | `quantiles` | beside the best |\n|---|---|---|---|---|---|---|---|\n")
	for _, e := range entries {
		b.WriteString(line(e) + "\n")
	}
	mean, worst := worth(entries)
	fmt.Fprintf(&b, "\nBeside the best of the three `quantiles` is off %.2f times as far in the mean over the table, and %.2f times in "+
		"the worst entry.\n", mean, worst)
	return b.String()
}
