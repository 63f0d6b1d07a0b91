package main

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
)

// offered are the words that a shell offers for a flag: names of the job that the command
// line names, or fixed words.
var offered = map[string]func(j *job.Job) []string{
	"release":        releaseNames,
	"dataset":        func(j *job.Job) []string { return []string{j.Dataset.ID} },
	"columns":        columnNames,
	"keeps":          columnNames,
	"slices-by":      columnNames,
	"from-slices-by": columnNames,
	"unit":           unitNames,
	"from-unit":      unitNames,
	"set":            variableNames,
	"relation":       fixed(relations...),
	"from-relation":  fixed(relations...),
	"sweep":          fixed("rate", "n", "epsilon"),
	"over":           fixed("epsilon", "rho", "n", "rate", "budget"),
	"solve":          fixed("rse<2%", "moe<1%", "se<5", "rmse<5", "noise<1", "half-kept<50"),
	"format":         fixed("parquet", "arrow", "csv"),
	"delimiter":      fixed(",", ";", "|", "tab"),
	"filter":         fixed(ledger.Basic, ledger.ZCDP, ledger.RDP),
	"builtin":        func(*job.Job) []string { return builtinNames() },
}

func fixed(all ...string) func(*job.Job) []string { return func(*job.Job) []string { return all } }

func releaseNames(j *job.Job) (out []string) {
	for _, r := range j.Releases {
		out = append(out, r.Name+"\t"+r.Mechanism+" from "+r.From)
	}
	return out
}

func columnNames(j *job.Job) (out []string) {
	for _, c := range j.Dataset.Columns {
		out = append(out, c.Name)
	}
	if s := j.Dataset.Slice; s != nil && !slices.Contains(out, s.Column) {
		out = append(out, s.Column)
	}
	return out
}

func unitNames(j *job.Job) []string { return []string{j.Dataset.Unit} }

func variableNames(j *job.Job) (out []string) {
	for _, v := range j.Variables {
		out = append(out, v.Name+"=")
	}
	return out
}

// complete lets every command offer what it can be given.
func (e *environment) complete(c *cobra.Command) {
	for _, sub := range c.Commands() {
		e.complete(sub)
	}
	if strings.Contains(c.Use, "[LEDGER]") && c.ValidArgsFunction == nil {
		c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"yaml", "yml", "db"}, cobra.ShellCompDirectiveFilterFileExt
		}
	}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		names, ok := offered[f.Name]
		switch {
		case ok && (f.Name != "release" || c.Name() == "plan"):
			// An error says only that the flag has words already.
			_ = c.RegisterFlagCompletionFunc(f.Name, func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
				return e.offer(c, args, names), cobra.ShellCompDirectiveNoFileComp
			})
		case f.Name == "job":
			_ = c.RegisterFlagCompletionFunc(f.Name, jobFiles)
		}
	})
}

// offer gives the words for a flag. A job with problems still has names.
func (e *environment) offer(c *cobra.Command, args []string, names func(*job.Job) []string) []string {
	if f := c.Flags().Lookup("job"); f != nil && f.Value.String() != "" {
		args = append([]string{f.Value.String()}, args...)
	}
	for _, path := range args {
		if ext := filepath.Ext(path); ext != ".yaml" && ext != ".yml" {
			continue
		}
		if j, _ := e.jobs.load(path, e.getenv, nil); j != nil {
			return names(j)
		}
	}
	return slices.DeleteFunc(names(&job.Job{}), func(s string) bool { return s == "" })
}
