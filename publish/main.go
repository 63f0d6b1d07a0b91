package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/run/output/stored"
	"github.com/dprelease/dprelease/internal/say/prose"
)

func main() { os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr)) }

// The exit codes, as docs/exit-codes.md has them.
const (
	exitDone       = 0
	exitBug        = 1
	exitUsage      = 2
	exitInvalidJob = 3
)

// exits are the exit codes of what can go wrong besides the command line and the folder.
var exits = map[string]int{"REPORT": exitBug, "OUTPUT": exitBug, "INVALID_JOB": exitInvalidJob, "JOB_UNREADABLE": exitInvalidJob}

// execute runs one command line and returns the exit code.
func execute(args []string, out, errw io.Writer) int {
	c := commands()
	c.SetArgs(args)
	c.SetOut(out)
	c.SetErr(errw)
	ran, err := c.ExecuteC()
	var known *stored.Error
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &known):
		exit, ok := exits[known.Code]
		if !ok {
			exit = exitUsage
		}
		fmt.Fprintf(errw, "dprelease: %s\n", prose.Graphic(known.Message))
		last(errw, exit, known.Code)
		return exit
	}
	// Every other error is cobra's: the command line itself is wrong.
	fmt.Fprintf(errw, "dprelease: %v\nsee dprelease %s --help\n", err, ran.CommandPath())
	last(errw, exitUsage, "USAGE")
	return exitUsage
}

// retries say whether the same command may succeed when it is run again, where that is not "no". No command here spends.
var retries = map[string]string{"REPORT": "after a person looked", "OUTPUT": "yes"}

// last ends a failure with the line that scripts look for.
func last(w io.Writer, exit int, code string) {
	retry := "no"
	if r := retries[code]; r != "" {
		retry = r
	}
	fmt.Fprintf(w, "failed: code %s, exit %d; spent: none; retry: %s; %s\n", code, exit, retry, time.Now().UTC().Format(time.RFC3339))
}

func commands() *cobra.Command {
	root := &cobra.Command{
		Use:   "publish",
		Short: "Write what others ask of a publication",
		Long: `publish writes what others ask of a publication. It reads report.json and the released files of an
output folder, touches neither the private table nor the ledger, and spends nothing. A file whose
digest is not the one in report.json is refused.`,
		Example:       "  dprelease publish registry out --words job.yaml\n  dprelease publish nist out\n  dprelease publish attest out\n  dprelease publish compare out-2025 out-2026 --html compared.html",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q; the commands are registry, nist, attest and compare", args[0])
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			return errors.New("a command is missing: registry, nist, attest or compare")
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(&cobra.Command{Hidden: true})
	root.AddCommand(registry(), nist(), attest(), compare())
	return root
}
