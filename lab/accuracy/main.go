package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dprelease/dprelease/lab/measure"
)

// epsilons are the epsilons of the table; the jobs give delta.
var epsilons = []float64{0.1, 0.5, 1, 3, 8}

func main() {
	runs := flag.Int("runs", 51, "releases at each epsilon")
	side := flag.Bool("side", false, "the releases are of one model: one table for all, side by side, and no plot")
	out := flag.String("out", "", "folder for sgd-accuracy.md and its plot; without it the table is printed")
	flag.Parse()
	if err := run(flag.Args(), *runs, *out, *side); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run measures the first or the named release of each job.
func run(jobs []string, runs int, out string, side bool) error {
	var all []study
	for _, name := range jobs {
		s, err := newStudy(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, eps := range epsilons {
			if err := s.measure(eps, runs); err != nil {
				return fmt.Errorf("%s at epsilon %g: %w", name, eps, err)
			}
		}
		all = append(all, *s)
	}
	text := tables(all)
	if side {
		text = together(all)
	}
	if out == "" {
		fmt.Print(text)
		return nil
	}
	if side {
		return measure.Rewrite(filepath.Join(out, "sgd-accuracy.md"), sideMark, end, "\n"+text+"\n")
	}
	if err := os.WriteFile(filepath.Join(out, "sgd-accuracy.svg"), loss(all).SVG(), 0o644); err != nil {
		return err
	}
	return measure.Rewrite(filepath.Join(out, "sgd-accuracy.md"), begin, end, "\n"+text+"\n")
}

// The tables stand in the page between these marks.
const (
	begin    = "<!-- begin generated table: make sgd-accuracy -->\n"
	sideMark = "<!-- begin generated table of last iterates: make sgd-accuracy -->\n"
	end      = "<!-- end generated table -->\n"
)
