package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Man writes the manual pages of all commands, those of the companion p among them; nil stands for the
// companion itself, which leaves out the page of the program. It is hidden: packages and docs/commands.md are
// made with it.
func (e *Environment) Man(p *Companion) *cobra.Command {
	var markdown bool
	c := &cobra.Command{
		Use:     "man DIR",
		Short:   "Write a manual page for each command",
		Long:    "man writes a manual page for each command into a folder, or with --markdown one page in Markdown to standard output.",
		Example: "  dprelease man /usr/local/share/man/man1",
		Hidden:  true,
		RunE: func(c *cobra.Command, args []string) error {
			all := available(c.Root())
			switch {
			case markdown:
				return e.Printed(e.commandPage(c.Context(), all, p))
			case len(args) != 1:
				return errors.New("name the folder for the manual pages")
			case p == nil:
				return manualPages(all[1:], args[0])
			}
			own := slices.DeleteFunc(all, func(c *cobra.Command) bool { return c.Annotations[handedTo] == p.Name })
			if err := manualPages(own, args[0]); err != nil {
				return err
			}
			return e.HandOver(c.Context(), *p, e.args)
		},
	}
	c.Flags().BoolVar(&markdown, "markdown", false, "write one page in Markdown")
	return c
}

// manualPages writes a page for each of these commands.
func manualPages(all []*cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, c := range all {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-")
		if err := os.WriteFile(filepath.Join(dir, name+".1"), []byte(manualPage(c, name)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// manualPage writes the page of a command as troff reads it.
func manualPage(c *cobra.Command, name string) string {
	var b strings.Builder
	section := func(title, text string) {
		if text = strings.Trim(text, "\n"); text == "" {
			return
		}
		text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
		fmt.Fprintf(&b, ".SH %s\n", title)
		for line := range strings.SplitSeq(text, "\n") {
			switch {
			case line == "":
				line = ".PP"
			case strings.HasPrefix(line, " "):
				line = ".br\n" + line // a line of its own
			case strings.HasPrefix(line, "."), strings.HasPrefix(line, "'"):
				line = `\&` + line // no request
			}
			b.WriteString(line + "\n")
		}
	}
	fmt.Fprintf(&b, ".TH %q 1 \"\" dprelease\n", strings.ToUpper(name))
	section("NAME", name+" - "+c.Short)
	section("SYNOPSIS", c.UseLine())
	section("DESCRIPTION", c.Long)
	section("OPTIONS", c.LocalFlags().FlagUsages())
	section("EXAMPLES", c.Example)
	var see []string
	if c.HasParent() {
		see = append(see, strings.ReplaceAll(c.Parent().CommandPath(), " ", "-")+"(1)")
	}
	for _, sub := range available(c)[1:] {
		if sub.Parent() == c {
			see = append(see, strings.ReplaceAll(sub.CommandPath(), " ", "-")+"(1)")
		}
	}
	section("SEE ALSO", strings.Join(see, ", "))
	return b.String()
}

// commandPage writes all commands as one page, a line each. A companion writes the lines of its own commands,
// without a head.
func (e *Environment) commandPage(ctx context.Context, commands []*cobra.Command, p *Companion) error {
	var lines []string
	for _, c := range commands[1:] {
		if p == nil || c.Annotations[handedTo] != p.Name {
			lines = append(lines, line(c))
		}
	}
	if p == nil {
		_, err := io.WriteString(e.Out, strings.Join(lines, ""))
		return err
	}
	theirs := e.asked(ctx, *p, e.args...)
	if theirs == "" {
		return errors.New("the companion has no page")
	}
	lines = slices.Sorted(strings.Lines(strings.Join(lines, "") + theirs))
	_, err := io.WriteString(e.Out, pageHead+strings.Join(lines, ""))
	return err
}

const pageHead = `# Commands

Each line shows how a command is called, what it does, and its other flags. ` +
	"Run it with `--help`" + ` to read what the flags mean, to see
examples, and for the flags that many commands have (` + "`--json`, `--quiet`, `--set`, `--by`, `--unit`, `--slices-by`" + `).
` + "`dprelease man DIR`" + ` writes the same as manual pages. ` + "`make generate`" + ` writes this page.

LEDGER is the address of a ledger, the path of its file, or a job file (.yaml), which stands for the ledger of the job.
Without one it is $DPRELEASE_LEDGER, or dprelease.db in this folder.

`

// line writes one command: how it is called, what it is for, and the flags that neither the call nor the head of the page shows.
func line(c *cobra.Command) string {
	call := strings.TrimSuffix(c.UseLine(), " [flags]")
	text := fmt.Sprintf("- `%s`: %s%s", call, strings.ToLower(c.Short[:1]), strings.TrimSuffix(c.Short[1:], "."))
	apart := ";"
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		name := "--" + f.Name
		if f.Name != "help" && !f.Hidden && !strings.Contains(call, name) && !strings.Contains(pageHead, "`"+name+"`") {
			text += apart + " `" + name + "`"
			apart = ""
		}
	})
	return text + "\n"
}

// available lists a command and all below it.
func available(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if sub.Name() != "completion" && sub.IsAvailableCommand() {
			all = append(all, available(sub)...)
		}
	}
	return all
}
