package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dprelease/dprelease/lab/measure"
)

// The tables stand in the page between these lines.
const (
	beginErrors = "<!-- begin errors: make calibration -->\n"
	beginRaking = "<!-- begin raking: make calibration -->\n"
	end         = "<!-- end -->"
)

func main() {
	data := flag.String("data", "examples/data", "folder of the examples' tables")
	runs := flag.Int("runs", 1000, "samples of each line of the table of errors")
	out := flag.String("out", "", "folder of calibration.md; without it the tables are printed")
	flag.Parse()
	if err := run(*data, *out, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "calibration:", err)
		os.Exit(1)
	}
}

func run(data, out string, runs int) error {
	p, err := readPersons(filepath.Join(data, "eusilc.csv"))
	if err != nil {
		return err
	}
	errors, raking := p.table(runs), rakingTable()
	if out == "" {
		fmt.Print(errors, "\n", raking)
		return nil
	}
	page := filepath.Join(out, "calibration.md")
	if err := measure.Rewrite(page, beginErrors, end, "\n"+errors); err != nil {
		return err
	}
	return measure.Rewrite(page, beginRaking, end, "\n"+raking)
}
