package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/prose"
)

// help lays the help of a command out for a terminal: its paragraphs anew, and the
// words about flags beside them. Usage lines and examples are commands to be copied:
// they stay as they are.
func (e *environment) help(show func(*cobra.Command, []string)) func(*cobra.Command, []string) {
	return func(c *cobra.Command, args []string) {
		columns := e.columns(e.out)
		if columns == 0 {
			show(c, args)
			return
		}
		var b strings.Builder
		c.SetOut(&b)
		show(c, args)
		c.SetOut(e.out)
		about, usage, found := strings.Cut(b.String(), "\nUsage:\n")
		text := prose.Fill(about, columns)
		if found {
			text += "\nUsage:\n" + laidUsage(usage, columns)
		}
		_, _ = io.WriteString(e.out, text) // as cobra: help that nobody reads is no failure
	}
}

// laidUsage lays out the sections of a usage text that hold no commands.
func laidUsage(usage string, columns int) string {
	var out strings.Builder
	commands := true // the first section is the usage line
	for line := range strings.Lines(usage) {
		if name, ok := strings.CutSuffix(line, ":\n"); ok && !strings.HasPrefix(line, " ") {
			commands = name == "Examples" || name == "Aliases"
		}
		if !commands {
			line = prose.Wrap(line, columns)
		}
		out.WriteString(line)
	}
	return out.String()
}
