package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/output/stored"
	"github.com/dprelease/dprelease/internal/say/publication"
	"github.com/dprelease/dprelease/publish/tables"
)

// tablesOptions are the flags of publish itself.
type tablesOptions struct {
	output string
	words  string // a file with the words of the publication, "" for those of the run
	rules  tables.Rules
}

func (o *tablesOptions) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVarP(&o.output, "output", "o", "", "the folder to write; without it the folder published of DIR")
	f.Float64Var(&o.rules.Flag, "flag", 0.15, "mark values whose relative error is larger with U; 0 marks none")
	f.Float64Var(&o.rules.Blank, "blank", 0, "leave values out whose relative error is larger; 0 leaves none out")
	f.StringVar(&o.words, "words", "", "take the words of publication from this YAML file, such as the job, not from the run")
	_ = c.MarkFlagFilename("words", "yaml", "yml")
	_ = c.MarkFlagDirname("output")
}

// publishTables writes the tables of a run as offices publish them.
func publishTables(dir string, o tablesOptions) (answer, error) {
	for name, x := range map[string]float64{"flag": o.rules.Flag, "blank": o.rules.Blank} {
		if !(x >= 0) || math.IsInf(x, 0) {
			return answer{}, fmt.Errorf("--%s: must be a share of the value, such as 0.3, or 0", name)
		}
	}
	if o.rules.Blank > 0 && o.rules.Flag >= o.rules.Blank {
		return answer{}, errors.New("--blank: must be larger than --flag: a value that is left out has no mark")
	}
	run, err := read(dir)
	if err != nil {
		return answer{}, err
	}
	if o.words != "" {
		if run.Report.Publication, err = publication.Read(o.words); err != nil {
			return answer{}, err
		}
	}
	files, left, err := tables.Make(&run.Report, run.Values, o.rules)
	if err != nil {
		return answer{}, &stored.Error{Code: "REPORT", Message: err.Error()}
	}
	if len(left) == len(run.Report.Releases) {
		return answer{},
			errors.New("the values are in Parquet or Arrow files alone, which publish does not read; take csv into output.formats " +
				"before the job is run")
	}
	if o.output == "" {
		o.output = filepath.Join(dir, "published")
	}
	if err := os.MkdirAll(o.output, 0o755); err != nil {
		return answer{}, &stored.Error{Code: "OUTPUT_UNWRITABLE", Message: o.output + " cannot be written"}
	}
	var text strings.Builder
	names := []string{}
	for _, f := range files {
		path := filepath.Join(o.output, f.Name)
		if err := write(path, f.Content); err != nil {
			return answer{}, err
		}
		names = append(names, f.Name)
		fmt.Fprintln(&text, path)
	}
	for _, name := range left {
		fmt.Fprintf(&text, "left out: the values of %s are in Parquet or Arrow files alone\n", name)
	}
	return answer{text.String(), done("folder", o.output, map[string]any{"files": names, "left_out": append([]string{}, left...)})}, nil
}
