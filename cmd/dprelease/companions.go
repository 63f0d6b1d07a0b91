package main

import (
	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/command"
)

var (
	// designer serves people before a run. It reads headers of tables, so it stands beside this program only.
	designer = command.Companion{Name: "dprelease-design"}
	// publisher reads published files. It is handed no row, so it may stand anywhere on the PATH.
	publisher = command.Companion{Name: "dprelease-publish", Public: true, Bare: true}
)

// companions are the commands that other programs carry out.
func (e *environment) companions() []*cobra.Command {
	return []*cobra.Command{
		e.Handed(designer, &cobra.Command{Use: "account [EXPR]", Short: "Ask the accountant what an event costs, without a job"}),
		e.Handed(designer, &cobra.Command{Use: "design [TABLE | JOB]", Short: "Design a job on a page in the browser"}),
		e.Handed(designer, &cobra.Command{Use: "init TABLE", Short: "Write a first job for a table, from its schema"}),
		e.Handed(designer, &cobra.Command{Use: "plugin COMMAND", Short: "Write, check and list mechanisms"}),
		e.Handed(publisher, &cobra.Command{
			Use:   "publish DIR | COMMAND",
			Short: "Write tables as offices publish them, and what registries ask",
			Long: `publish runs the program dprelease-publish beside dprelease or on the PATH. ` +
				`With an output folder it writes the released tables as offices publish them:
rounded, marked where they are not reliable, as workbooks and CSV files with metadata.
registry writes an entry for the public registry of deployments, nist the hazards of NIST
SP 800-226, attest a statement to be signed; compare says what differs between two runs, and
what both cost. They touch neither the private table nor the ledger, and spend nothing.`,
		}),
	}
}
