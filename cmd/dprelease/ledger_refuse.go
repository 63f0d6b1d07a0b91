package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/ledger"
)

// ledgerRefuse refuses a ledger for good, and lifts that.
func (e *environment) ledgerRefuse() *cobra.Command {
	var lift bool
	var reason string
	c := &cobra.Command{
		Use:   "refuse [LEDGER] --reason TEXT [--lift]",
		Short: "Refuse every spend from a ledger, such as an old copy, or lift that",
		Long: `refuse keeps everybody from spending from a ledger, such as an old copy, until somebody
lifts that.
` + whichLedger,
		Example: `  dprelease ledger refuse old.db --reason "replaced by the server's ledger"
  dprelease ledger refuse old.db --lift --reason "the server is gone"`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := needReason(&reason); err != nil {
				return err
			}
			return e.withLedger(c.Context(), args, ledger.Options{}, func(l *ledger.Ledger) error {
				act, err := l.Refuse(c.Context(), lift, reason)
				if err != nil {
					return err
				}
				return e.Say(act, "%s\n", actText(act))
			})
		},
	}
	c.Flags().BoolVar(&lift, "lift", false, "let the ledger be used again")
	c.Flags().StringVar(&reason, "reason", "", "why; it is recorded")
	e.byFlag(c)
	e.OutputFlags(c, "print JSON")
	return c
}

// besideOutput returns the releases at and beside the output of the job that stands for a ledger, none
// where the ledger is named in another way.
func (e *environment) besideOutput(args []string, l *ledger.Ledger) []ledger.Seen {
	if len(args) == 0 || filepath.Ext(args[0]) != ".yaml" && filepath.Ext(args[0]) != ".yml" {
		return nil
	}
	j, _ := pipeline.Load(args[0], e.Getenv)
	if j == nil {
		return nil
	}
	return pipeline.Witnesses(j, l.ID())
}
