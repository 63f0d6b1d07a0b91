package main

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

// publisher is the companion that reads published files. It is handed no row, so it may stand anywhere on the PATH.
const publisher = "dprelease-publish"

func (e *environment) publish() *cobra.Command {
	return &cobra.Command{
		Use:   "publish DIR | COMMAND",
		Short: "Write tables as offices publish them, and what registries ask",
		Long: `publish runs the program dprelease-publish, which lies in the folder of dprelease or on
the PATH. With an output folder it writes the released tables as offices publish them:
rounded, marked where they are not reliable, as workbooks and CSV files with metadata.
registry writes an entry for the public registry of deployments, nist the hazards of NIST
SP 800-226, attest a statement to be signed; compare says what differs between two runs, and
what both cost. They touch neither the private table nor the ledger, and spend nothing.`,
		Example: `  dprelease publish --help
  dprelease publish out
  dprelease publish out --flag 0.15 --blank 0.3 -o website
  dprelease publish registry out --words job.yaml
  dprelease publish nist out
  dprelease publish attest out
  dprelease publish compare out-2025 out-2026 --html compared.html --csv compared.csv`,
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			path := companion.Public(e.self, publisher)
			switch {
			case path != "":
				return exited(e.hand(c.Context(), path, args, e.out))
			case slices.Contains(args, "--help") || slices.Contains(args, "-h"):
				return c.Help()
			}
			return fmt.Errorf("the program %s is missing: it belongs in the folder of dprelease, or on the PATH", publisher)
		},
		ValidArgsFunction: func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			return e.publishable(c.Context(), append(slices.Clone(args), begun))
		},
	}
}

// hand runs a companion in the place of this program, and returns its exit code.
func (e *environment) hand(ctx context.Context, path string, args []string, out io.Writer) int {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.in, out, e.errw
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	var ended *exec.ExitError
	var by interrupted
	switch {
	case err == nil:
		return exitDone
	case errors.As(context.Cause(ctx), &by):
		return by.exit()
	case errors.As(err, &ended) && ended.ExitCode() >= 0:
		return ended.ExitCode()
	case errors.As(err, &ended):
		return exitInterrupted
	}
	e.tell(e.errw, "dprelease: %s cannot be started\n", path)
	fmt.Fprintln(e.errw, unspent(exitUsage, "USAGE", "").last())
	return exitUsage
}

// publishable asks the companion which words may come next.
func (e *environment) publishable(ctx context.Context, args []string) ([]string, cobra.ShellCompDirective) {
	path := companion.Public(e.self, publisher)
	if path == "" {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out strings.Builder
	quiet := *e
	quiet.errw = io.Discard
	if quiet.hand(ctx, path, append([]string{cobra.ShellCompRequestCmd}, args...), &out) != exitDone {
		return nil, cobra.ShellCompDirectiveError
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	last := lines[len(lines)-1]
	directive, err := strconv.Atoi(strings.TrimPrefix(last, ":"))
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return lines[:len(lines)-1], cobra.ShellCompDirective(directive)
}
