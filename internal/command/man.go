package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
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

// commandPage writes all commands as one page: what each is for in a line, how to call it, and
// its own flags. A flag that three or more commands explain in the same words is explained once,
// and so is a last paragraph that several have. A companion writes its own commands, without a head.
func (e *Environment) commandPage(ctx context.Context, commands []*cobra.Command, p *Companion) error {
	if p == nil {
		var sections []string
		for _, c := range commands[1:] {
			sections = append(sections, section(c))
		}
		_, err := io.WriteString(e.Out, strings.Join(sections, apart))
		return err
	}
	theirs := e.asked(ctx, *p, e.args...)
	if theirs == "" {
		return errors.New("the companion has no page")
	}
	paragraphs, flags := map[string]int{}, map[string]int{}
	for _, c := range commands {
		paragraphs[lastParagraph(c)]++
	}
	var sections []string
	for _, text := range strings.Split(theirs, apart) {
		sections = append(sections, strings.TrimSpace(text)+"\n")
	}
	for _, c := range commands {
		if c.Annotations[handedTo] != p.Name {
			sections = append(sections, section(c))
		}
	}
	slices.Sort(sections)
	for _, text := range sections {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "-") {
				flags[line]++
			}
		}
	}
	var b bytes.Buffer
	b.WriteString("# Commands\n\n`make generate` writes this page from the programs; `dprelease man DIR` writes manual pages. `--help` of a command says more, with all of its flags and examples.\n\n")
	for _, text := range slices.Sorted(maps.Keys(paragraphs)) {
		if paragraphs[text] > 1 && text != "" {
			b.WriteString(text + "\n\n")
		}
	}
	b.WriteString("Flags that several commands have:\n\n```text\n")
	for _, text := range slices.Sorted(maps.Keys(flags)) {
		if flags[text] > 2 {
			b.WriteString(text)
		}
	}
	b.WriteString("```\n")
	for _, text := range sections {
		b.WriteString("\n" + withoutShared(text, flags))
	}
	_, err := e.Out.Write(b.Bytes())
	return err
}

// apart stands between the sections that a companion prints.
const apart = "\n\n\n"

// section writes one command: what it is for, how it is called, and its flags. The rest stands in its help.
func section(c *cobra.Command) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "## %s\n\n%s.\n", c.CommandPath(), strings.TrimSuffix(c.Short, "."))
	call := strings.TrimSuffix(c.UseLine(), " [flags]") + "\n\n"
	for _, f := range flagsOf(c) {
		call += line(f) + "\n"
	}
	fmt.Fprintf(&b, "\n```text\n%s\n```\n", strings.TrimSpace(call))
	return b.String()
}

// withoutShared leaves out of a section the flags that the head of the page explains.
func withoutShared(text string, flags map[string]int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "-") || flags[line] <= 2 {
			b.WriteString(line)
		}
	}
	title, _, _ := strings.Cut(strings.TrimPrefix(text, "## "), "\n")
	return strings.Replace(strings.Replace(b.String(), "\n\n```\n", "\n```\n", 1), "\n```text\n"+title+"\n```\n", "", 1)
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

// flagsOf lists the flags of a command, without the one for help.
func flagsOf(c *cobra.Command) (flags []*pflag.Flag) {
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && !f.Hidden {
			flags = append(flags, f)
		}
	})
	return flags
}

// line explains a flag in one line.
func line(f *pflag.Flag) string {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.AddFlag(f)
	return strings.TrimRight(strings.TrimLeft(set.FlagUsages(), " "), "\n")
}

func lastParagraph(c *cobra.Command) string {
	long := strings.TrimSpace(c.Long)
	return strings.TrimSpace(long[strings.LastIndex(long, "\n\n")+1:])
}
