package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// epsilons are those of the table; delta is the jobs'.
var epsilons = []float64{0.1, 0.5, 1, 3, 8}

func main() {
	runs := flag.Int("runs", 51, "releases at each epsilon")
	more := flag.String("params", "{}", "parameters of the mechanism that replace those of the jobs, as JSON; null takes one away")
	out := flag.String("out", "", "folder for sgd-accuracy.md and its plot; without it the table is printed")
	flag.Parse()
	if err := run(flag.Args(), *runs, *more, *out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run measures the first release of each job.
func run(jobs []string, runs int, more, out string) error {
	changed := map[string]any{}
	if err := json.Unmarshal([]byte(more), &changed); err != nil {
		return fmt.Errorf("params: %w", err)
	}
	var all []study
	for _, name := range jobs {
		s, err := newStudy(name, changed)
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
	if out == "" {
		fmt.Print(tables(all))
		return nil
	}
	picture, err := figure(all)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "sgd-accuracy.svg"), picture, 0o644); err != nil {
		return err
	}
	page := filepath.Join(out, "sgd-accuracy.md")
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	return os.WriteFile(page, insert(string(text), tables(all)), 0o644)
}

// The table stands in the page between these marks.
const (
	begin = "<!-- begin generated table: make sgd-accuracy -->\n"
	end   = "<!-- end generated table -->\n"
)

func insert(page, table string) []byte {
	before, rest, _ := strings.Cut(page, begin)
	_, after, _ := strings.Cut(rest, end)
	return []byte(before + begin + "\n" + table + "\n" + end + after)
}
