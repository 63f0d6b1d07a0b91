package command

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dprelease/dprelease/internal/job"
)

// Words returns the words that a shell offers for a flag: names of the job that the command
// line names, or fixed words.
type Words func(*job.Job) []string

// Fixed offers the same words for every job.
func Fixed(all ...string) Words { return func(*job.Job) []string { return all } }

// VariableNames offers the variables of the job.
func VariableNames(j *job.Job) (out []string) {
	for _, v := range j.Variables {
		out = append(out, v.Name+"=")
	}
	return out
}

// Complete lets every command offer what it can be given: offered holds the words for each flag.
func (e *Environment) Complete(c *cobra.Command, offered map[string]Words) {
	for _, sub := range c.Commands() {
		e.Complete(sub, offered)
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
			_ = c.RegisterFlagCompletionFunc(f.Name, JobFiles)
		}
	})
}

// offer gives the words for a flag. A job with problems still has names.
func (e *Environment) offer(c *cobra.Command, args []string, names Words) []string {
	if f := c.Flags().Lookup("job"); f != nil && f.Value.String() != "" {
		args = append([]string{f.Value.String()}, args...)
	}
	for _, path := range args {
		if ext := filepath.Ext(path); ext != ".yaml" && ext != ".yml" {
			continue
		}
		if j, _ := e.Load(path, e.Getenv, nil); j != nil {
			return names(j)
		}
	}
	return slices.DeleteFunc(names(&job.Job{}), func(s string) bool { return s == "" })
}
