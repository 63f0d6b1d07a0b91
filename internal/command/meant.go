package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dprelease/dprelease/internal/say/problem"
)

// meant is the known word that was probably meant: the nearest one, or the first
// that begins in the same way.
func meant(word string, known []string) string {
	if near := problem.NearestWord(word, known); near != "" {
		return near
	}
	for _, k := range known {
		if len(word) > 1 && strings.HasPrefix(k, strings.ToLower(word)) {
			return k
		}
	}
	return ""
}

// DidYouMean ends an error about a word that is not known, with mark in front of
// the word that is.
func DidYouMean(mark, word string, known []string) string {
	if near := meant(word, known); near != "" {
		return " (did you mean " + mark + near + "?)"
	}
	return ""
}

// OneOf refuses a value that is none of the known ones.
func OneOf(what, word string, known []string) error {
	if slices.Contains(known, word) {
		return nil
	}
	return fmt.Errorf("%s: must be %s, not %q%s", what, Enumerated(known), word, DidYouMean("", word, known))
}

// Enumerated is "a, b or c".
func Enumerated(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// wrongFlag explains what a flag takes, or names the one that was probably meant.
func wrongFlag(c *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &invalid):
		return fmt.Errorf("--%s: must be %s, not %q", invalid.GetFlag().Name, takes(invalid.GetFlag()), invalid.GetValue())
	case !errors.As(err, &unknown):
		return err
	}
	if c.HasSubCommands() && c.Flags().NArg() > 0 {
		return UnknownCommand(c, c.Flags().Args()) // whose flags nobody knows
	}
	word := unknown.GetSpecifiedName()
	if letters := unknown.GetSpecifiedShortnames(); letters != "" {
		if len(letters) == 1 {
			return err
		}
		word = letters // -json
	}
	var known []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	return fmt.Errorf("%w%s", err, DidYouMean("--", word, known))
}

// takes describes the values that a flag takes.
func takes(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "bool":
		return "true or false"
	case "int", "int64":
		return "a whole number"
	case "uint64":
		return "a whole number of at least 0"
	case "float64":
		return "a number"
	case "float64Slice":
		return "numbers with commas between them"
	case "duration":
		return "a time such as 90s, 10m or 2h"
	}
	return "of type " + f.Value.Type()
}

// CommandMissing refuses a command that needs another one below it.
func CommandMissing(c *cobra.Command, _ []string) error {
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "completion" && sub.Name() != "help" {
			names = append(names, sub.Name())
		}
	}
	return errors.New("a command is missing: " + Enumerated(names))
}

// UnknownCommand refuses the arguments of a command that only has commands below it.
func UnknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	of, hint := "", ""
	if c.HasParent() {
		of = " of " + c.Name()
	}
	c.SuggestionsMinimumDistance = 2 // as where cobra itself suggests
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		hint = " (did you mean " + Enumerated(near) + "?)"
	}
	return fmt.Errorf("unknown command %q%s%s", args[0], of, hint)
}
