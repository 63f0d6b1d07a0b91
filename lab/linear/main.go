package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/lab/measure"
	"github.com/dprelease/dprelease/plugins/columns"
)

func main() {
	rows := flag.Int("rows", 3_000_000, "flights to generate")
	runs := flag.Int("runs", 51, "releases by regression at each epsilon, and by sgd on small tables")
	few := flag.Int("few", 1, "releases by sgd at each epsilon on tables of more than 100,000 rows")
	data := flag.String("data", "examples/data", "folder of the examples' tables")
	write := flag.String("write", "", "write the generated table to this Parquet file, and compare nothing")
	out := flag.String("out", "", "folder of linear-models.md; without it the tables are printed")
	flag.Parse()
	if err := run(*rows, *runs, *few, *data, *write, *out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(rows, runs, few int, data, write, out string) error {
	f := flights(rows)
	if write != "" {
		return writeParquet(write, f)
	}
	incomes, err := incomes(filepath.Join(data, "eusilc.csv"))
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, s := range []*study{f, incomes} {
		if err := s.compare(&b, runs, few); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if out == "" {
		fmt.Print(b.String())
		return nil
	}
	return measure.Rewrite(filepath.Join(out, "linear-models.md"), begin, end, "\n"+b.String())
}

// The tables stand in the page between these marks.
const (
	begin = "<!-- begin generated tables: make linear-models -->\n"
	end   = "<!-- end generated tables -->\n"
)

func writeParquet(path string, s *study) error {
	var release table.Release
	for _, c := range s.columns {
		release.Columns = append(release.Columns, columns.Column{Name: c.Name, Float64: s.table.Columns[c.Name].Float64})
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := table.WriteParquet(f, release); err != nil {
		return err
	}
	return f.Close()
}
