package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
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
			day := time.Unix(0, 0).UTC() // the same text on any day
			return doc.GenManTree(root, &doc.GenManHeader{Title: "DPRELEASE", Section: "1", Source: "dprelease", Date: &day}, args[0])
		},
	}
	c.Flags().BoolVar(&markdown, "markdown", false, "write one page in Markdown to this file")
	return c
}

// commandPage writes all commands as one page.
func commandPage(root *cobra.Command, path string) error {
	var b bytes.Buffer
	fmt.Fprint(&b, "# Commands\n\nGenerated from the program: `go generate ./cmd/dprelease`. `dprelease man DIR` writes the same as manual pages.\n\n")
	link := func(file string) string {
		return "#" + strings.ReplaceAll(strings.TrimSuffix(file, ".md"), "_", "-")
	}
	var write func(c *cobra.Command) error
	write = func(c *cobra.Command) error {
		if !c.IsAvailableCommand() && c != root {
			return nil
		}
		if err := doc.GenMarkdownCustom(c, &b, link); err != nil {
			return err
		}
		for _, sub := range c.Commands() {
			if sub.Name() != "completion" {
				if err := write(sub); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := write(root); err != nil {
		return err
	}
	page := strings.ReplaceAll(b.String(), "* [dprelease completion](#dprelease-completion)\t - Generate the autocompletion script for the specified shell\n", "")
	return os.WriteFile(path, []byte(strings.TrimRight(page, "\n")+"\n"), 0o644)
}
