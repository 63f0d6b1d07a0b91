package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
)

// ledgerKeep weakens what an account promises: its neighbours keep more columns.
func (e *environment) ledgerKeep() *cobra.Command {
	var k accountFlags
	var columns []string
	var reason string
	c := &cobra.Command{
		Use:   "keep [LEDGER] --dataset ID --relation R --columns A,B --reason TEXT",
		Short: "Let an account protect only neighbours that agree in more columns, for a reason that is recorded",
		Long: `keep adds columns to those that an account keeps. An account adds up what is
learnt of units that differ in anything but these columns. A stratified or multistage
sample keeps the columns of its frame, and a release by an immutable column keeps that
column: such a job is refused where its account does not keep them. The change holds for
everything that the account was charged for, earlier releases included, and cannot be
taken back.
` + whichLedger,
		Example: `  dprelease ledger keep job.yaml --dataset ca-schools-2000 --relation replace-one --columns county \
    --reason "which county a school lies in is public"`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			key, err := k.key()
			switch {
			case err != nil:
				return err
			case len(columns) == 0:
				return errors.New("--columns is missing")
			case strings.TrimSpace(reason) == "":
				return errors.New("--reason is missing; it is recorded")
			}
			return e.withLedger(c.Context(), args, ledger.Options{}, func(l *ledger.Ledger) error {
				keeps, err := l.SetKeeps(c.Context(), key, columns, reason)
				if err != nil {
					return err
				}
				return e.say(map[string]any{"event": "done", "exit": exitDone, "keeps": keeps}, "the account of %s keeps %s\n", key, strings.Join(keeps, ", "))
			})
		},
	}
	k.add(c)
	c.Flags().StringSliceVar(&columns, "columns", nil, "the columns, separated by commas")
	c.Flags().StringVar(&reason, "reason", "", "why; it is recorded")
	e.byFlag(c)
	e.outputFlags(c, "print one JSON object")
	return c
}

// ledgerSeparate lets two accounts spend on the same data.
func (e *environment) ledgerSeparate() *cobra.Command {
	var one accountFlags
	var other accountFlags
	var reason string
	c := &cobra.Command{
		Use:   "separate [LEDGER] --dataset ID --relation R --from ID --from-relation R --reason TEXT",
		Short: "Let two accounts spend on the same data, for a reason that is recorded",
		Long: `separate lets two accounts spend on the same data, each with its own limit. A run
is refused where its account was not charged for a column before and another account
was: together the two tell more than either limit says. The reason becomes a part of
the chain.
` + whichLedger,
		Example: `  dprelease ledger separate job.yaml --dataset panel-2024 --relation add-remove --from panel-2024 --from-relation replace-one \
    --reason "the method comparison may spend a second budget, board decision of 12 May"`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			a, err := one.key()
			if err != nil {
				return err
			}
			b, err := other.key()
			switch {
			case other.dataset == "":
				return errors.New("--from is missing")
			case err != nil:
				return errors.New(strings.Replace(err.Error(), "--relation", "--from-relation", 1))
			case strings.TrimSpace(reason) == "":
				return errors.New("--reason is missing; it is recorded")
			}
			return e.withLedger(c.Context(), args, ledger.Options{}, func(l *ledger.Ledger) error {
				if err := l.Separate(c.Context(), a, b, reason); err != nil {
					return err
				}
				return e.say(map[string]any{"event": "done", "exit": exitDone}, "the accounts of %s and of %s may spend on the same data\n", a, b)
			})
		},
	}
	one.add(c)
	c.Flags().StringVar(&other.dataset, "from", "", "the id of the other account's data set")
	c.Flags().StringVar(&other.unit, "from-unit", job.UnitRow, "the other account's unit of privacy")
	c.Flags().StringVar(&other.slices, "from-slices-by", "", "the column of the other account's slices, where it has slices")
	c.Flags().StringVar(&other.relation, "from-relation", "", strings.Join([]string{privacy.AddRemove.String(), privacy.ReplaceOne.String()}, " or "))
	c.Flags().StringVar(&reason, "reason", "", "why; it is recorded")
	e.byFlag(c)
	e.outputFlags(c, "print one JSON object")
	return c
}
