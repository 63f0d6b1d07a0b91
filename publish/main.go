package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/output/stored"
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
	var o tablesOptions
	root := command("publish DIR", "Write the tables of a run as offices publish them",
		`publish DIR writes the released tables of an output folder into the folder published of it: one workbook for
Excel with a sheet for each table and notes below it, a CSV file for each table with
metadata by CSV on the Web, a DCAT record for a data portal, a list of the tables, and a dictionary of their
columns. Values are rounded to the digits that their noise leaves meaningful, and marked where their relative
error is large. The other commands write what registries, reviewers and signers ask for, or compare two runs.

All read report.json and the released files, touch neither the private table nor the ledger, and spend nothing.
A file whose digest is not the one in report.json is refused.`, 1,
		func(dirs []string) (answer, error) {
			if _, err := os.Stat(dirs[0]); errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(dirs[0], "/\\.") {
				return answer{}, fmt.Errorf("%q is neither a folder nor a command; the commands are registry, nist, attest and compare", dirs[0])
			}
			return publishTables(dirs[0], o)
		})
	o.add(root)
	root.Example = "  dprelease publish out\n  dprelease publish out --flag 0.15 --blank 0.3 -o website\n  dprelease publish out " +
		"--words job.yaml\n  dprelease publish registry out --words job.yaml\n  dprelease publish nist out\n" +
		"  dprelease publish attest out\n  dprelease publish compare out-2025 out-2026 --html compared.html"
	root.SilenceErrors, root.SilenceUsage = true, true
	root.Args = func(_ *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return errors.New("name the output folder of a run, or a command: registry, nist, attest or compare")
		case 1:
			return nil
		}
		return fmt.Errorf("publish takes one folder, not %d", len(args))
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(&cobra.Command{Hidden: true})
	root.AddCommand(registry(), nist(), attest(), compare())
	return root
}
