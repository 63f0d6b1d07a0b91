package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

//go:generate go run . man --markdown ../../docs/commands.md

// man writes the manual pages of all commands. It is hidden: packages and docs/commands.md are
// made with it.
func (e *environment) man() *cobra.Command {
	var markdown bool
	c := &cobra.Command{
		Use:     "man DIR",
		Short:   "Write a manual page for each command",
		Long:    "man writes a manual page for each command into a folder, or one page in Markdown.",
		Example: "  dprelease man /usr/local/share/man/man1",
		Hidden:  true,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			root := c.Root()
			root.DisableAutoGenTag = true
			if markdown {
				return commandPage(root, args[0])
			}
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			for _, c := range available(root) {
				name := strings.ReplaceAll(c.CommandPath(), " ", "-")
				if err := os.WriteFile(filepath.Join(args[0], name+".1"), []byte(manualPage(c, name)), 0o644); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&markdown, "markdown", false, "write one page in Markdown to this file")
	return c
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

// commandPage writes all commands as one page: what each is for, how to call it, and
// its own flags. A flag that three or more commands explain in the same words is explained once,
// and so is a last paragraph that several have.
func commandPage(root *cobra.Command, path string) error {
	commands := available(root)
	flags, paragraphs := map[string]int{}, map[string]int{}
	for _, c := range commands {
		for _, f := range flagsOf(c) {
			flags[line(f)]++
		}
		paragraphs[lastParagraph(c)]++
	}
	var b bytes.Buffer
	fmt.Fprint(&b, "# Commands\n\n`go generate ./cmd/dprelease` writes this page from the program; `dprelease man DIR` writes manual pages. `--help` of a command shows examples, too.\n\n")
	for _, text := range slices.Sorted(maps.Keys(paragraphs)) {
		if paragraphs[text] > 1 && text != "" {
			b.WriteString(text + "\n\n")
		}
	}
	b.WriteString("Flags that several commands have:\n\n```text\n")
	for _, text := range slices.Sorted(maps.Keys(flags)) {
		if flags[text] > 2 {
			b.WriteString(text + "\n")
		}
	}
	b.WriteString("```\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n", c.CommandPath(), strings.TrimSuffix(c.Short, "."))
		long := strings.TrimSpace(c.Long)
		if last := lastParagraph(c); paragraphs[last] > 1 {
			long = strings.TrimSpace(strings.TrimSuffix(long, last))
		}
		if long != "" {
			fmt.Fprintf(&b, "\n%s\n", long)
		}
		writeCall(&b, c, flags)
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

// writeCall writes how a command is called: its arguments and flags.
func writeCall(b *bytes.Buffer, c *cobra.Command, known map[string]int) {
	call := strings.TrimSuffix(c.UseLine(), " [flags]")
	var shared, own []string
	for _, f := range flagsOf(c) {
		if text := line(f); known[text] > 2 {
			shared = append(shared, "--"+f.Name)
		} else {
			own = append(own, text)
		}
	}
	if len(own) > 0 {
		call += "\n\n" + strings.Join(own, "\n")
	}
	if call != c.CommandPath() {
		fmt.Fprintf(b, "\n```text\n%s\n```\n", call)
	}
	if len(shared) > 0 {
		fmt.Fprintf(b, "\nAlso `%s`.\n", strings.Join(shared, "`, `"))
	}
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
