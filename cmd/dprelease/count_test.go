package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dprelease/dprelease/internal/author"
	"github.com/dprelease/dprelease/internal/command"
)

// mostFlags is the largest number of flags, each counted once for every meaning that it has. One
// more needs a reason: that somebody can be named who needs it, that no default does, and that
// neither a key of the job nor another flag says it already.
const mostFlags = 91

// The commands of the program and of its companion have few flags.
func TestFewFlags(t *testing.T) {
	flags := map[string]bool{}
	var count func(c *cobra.Command)
	count = func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden { // one program says it to another
				return
			}
			set := pflag.NewFlagSet("", pflag.ContinueOnError)
			set.AddFlag(f)
			flags[strings.TrimSpace(set.FlagUsages())] = true
		})
		for _, sub := range c.Commands() {
			count(sub)
		}
	}
	e := &environment{Environment: &command.Environment{}, jobs: pipelineJobs{}}
	count(e.root())
	count(author.Commands(e.Environment))
	t.Logf("%d flags", len(flags))
	if len(flags) > mostFlags {
		t.Errorf("%d flags, at most %d: which one can go, or be a default?", len(flags), mostFlags)
	}
}
