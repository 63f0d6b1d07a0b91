package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/data/companion"
)

// Companion is a program beside this one that carries out some of its commands.
type Companion struct {
	Name   string
	Public bool // it reads published files alone, so that it may also stand on the PATH
	Bare   bool // it is given the arguments of its command without the command's name
}

// path returns the path of the program, or an error that says where it belongs.
func (p Companion) path(self string) (string, error) {
	find, also := companion.Trusted, ""
	if p.Public {
		find, also = companion.Public, ", or on the PATH"
	}
	if path := find(self, p.Name); path != "" {
		return path, nil
	}
	return "", fmt.Errorf("the program %s is missing: it belongs in the folder of dprelease%s; make build and the packages put it there",
		p.Name, also)
}

// arguments returns what the companion is started with for a command.
func (p Companion) arguments(command string, args []string) []string {
	if p.Bare {
		return args
	}
	return append([]string{command}, args...)
}

// handedTo marks the commands that a companion carries out.
const handedTo = "companion"

// Handed reports whether a companion carries out a command.
func Handed(c *cobra.Command) bool { return c.Annotations[handedTo] != "" }

// Handed lets a companion carry out c, with all that stands behind the command's name: flags, commands below it,
// its help, and what a shell may offer.
func (e *Environment) Handed(p Companion, c *cobra.Command) *cobra.Command {
	c.Annotations = map[string]string{handedTo: p.Name}
	c.DisableFlagParsing = true
	c.RunE = func(c *cobra.Command, args []string) error {
		err := e.HandOver(c.Context(), p, p.arguments(c.Name(), args))
		var ended Failed
		if err != nil && !errors.As(err, &ended) && (slices.Contains(args, "--help") || slices.Contains(args, "-h")) {
			return c.Help()
		}
		return err
	}
	c.ValidArgsFunction = func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		return e.offered(c.Context(), p, p.arguments(c.Name(), append(slices.Clone(args), begun)))
	}
	return c
}

// HandOver runs a companion in the place of this program. The error says with which code it failed, or that it is missing.
func (e *Environment) HandOver(ctx context.Context, p Companion, args []string) error {
	path, err := p.path(e.Self)
	if err != nil {
		return err
	}
	return Exited(e.start(ctx, path, args))
}

// start runs a program in the place of this one, and returns its exit code.
func (e *Environment) start(ctx context.Context, path string, args []string) int {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.In, e.Out, e.Errw
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second // it says first what it has found
	err := cmd.Run()
	var ended *exec.ExitError
	var by Interrupted
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &ended) && ended.ExitCode() >= 0:
		return ended.ExitCode()
	case errors.As(context.Cause(ctx), &by):
		return by.Exit()
	case errors.As(err, &ended):
		return ExitInterrupted
	}
	e.Tell(e.Errw, "dprelease: %s cannot be started\n", path)
	fmt.Fprintln(e.Errw, Unspent(ExitUsage, "USAGE", "").Last())
	return ExitUsage
}

// asked returns what a companion prints; "" where it is missing or fails.
func (e *Environment) asked(ctx context.Context, p Companion, args ...string) string {
	path, err := p.path(e.Self)
	if err != nil {
		return ""
	}
	var out strings.Builder
	quiet := *e
	quiet.Out, quiet.Errw = &out, io.Discard
	if quiet.start(ctx, path, args) != ExitDone {
		return ""
	}
	return out.String()
}

// offered asks a companion which words may come next.
func (e *Environment) offered(ctx context.Context, p Companion, args []string) ([]string, cobra.ShellCompDirective) {
	lines := strings.Split(strings.TrimSpace(e.asked(ctx, p, append([]string{cobra.ShellCompRequestCmd}, args...)...)), "\n")
	last := lines[len(lines)-1]
	directive, err := strconv.Atoi(strings.TrimPrefix(last, ":"))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return lines[:len(lines)-1], cobra.ShellCompDirective(directive)
}
