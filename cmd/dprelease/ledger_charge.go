package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
)

// ledgerCharge adds what other programs spent.
func (e *environment) ledgerCharge() *cobra.Command {
	var cost limitFlags
	var is, file string
	var elsewhere ledger.Elsewhere
	c := &cobra.Command{
		Use:   "charge [LEDGER] --dataset ID --relation R (--epsilon E [--delta D] | --rho P | --from FILE) --reason TEXT",
		Short: "Add what releases cost that another program or another ledger made from the same data",
		Long: `charge adds a cost to an open account, in its units. What does not fit under the limit
is refused. In an account with slices --slice names the slice, or --from a CSV file with the
header slice,epsilon,delta or slice,rho: all its lines are charged, or none.`,
		Example: `  dprelease ledger charge --dataset ca-schools-2000 --relation replace-one --epsilon 0.5 --reason "the tables of 2024"
  dprelease ledger charge --dataset trips --relation add-remove --slices-by month --from spent.csv --reason "the old tool"`,
	}
	cost.add(c, "that was spent")
	c.Flags().StringVar(&is, "slice", "", "the slice that it was spent on")
	c.Flags().StringVar(&file, "from", "", "a CSV file with what each slice has spent")
	c.Flags().StringSliceVar(&elsewhere.Keeps, "keeps", nil, "the columns in which the protected neighbours agree, separated by commas")
	return e.act(c, &elsewhere.Reason, func(key ledger.Key) error {
		switch {
		case (file == "") != cost.given():
			return errors.New("give a cost (--epsilon and --delta, or --rho), or --from FILE")
		case is != "" && (file != "" || key.Slice.Column == ""):
			return errors.New("--slice goes with --slices-by and a cost")
		}
		return nil
	}, func(ctx context.Context, l *ledger.Ledger, key ledger.Key) (any, string, error) {
		a, err := l.Account(ctx, key)
		if err == nil && a == nil {
			err = &ledger.Error{Code: ledger.CodeAccount, Message: fmt.Sprintf("there is no account of %s; open it with ledger init", key)}
		}
		if err != nil {
			return nil, "", err
		}
		if elsewhere.Costs, err = readCosts(a, cost, is, file); err != nil {
			return nil, "", e.FailWith(command.Unspent(command.ExitUsage, "USAGE", err.Error()), nil)
		}
		if a, err = l.Charge(ctx, key, elsewhere); err != nil {
			return nil, "", err
		}
		what := ""
		if key.Slice.Column != "" {
			what = fmt.Sprintf(" (%d)", len(elsewhere.Costs))
		}
		return showAccount(a), fmt.Sprintf("%s: charged%s", a.Key, what), nil
	})
}

// maxCharges bounds the file of --from, in bytes.
const maxCharges = 16 << 20

// readCosts are the costs that the flags or the file say, in the units of an account.
func readCosts(a *ledger.Account, flags limitFlags, is, from string) ([]ledger.SliceCost, error) {
	if from != "" {
		f, err := file.Bounded(from, maxCharges)
		if err != nil {
			return nil, fmt.Errorf("--from: %s cannot be read: %s", from, failure.Reason(err))
		}
		defer f.Close()
		costs, err := ledger.ReadCharges(f, a.Units())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
		return costs, nil
	}
	given := map[string]string{"epsilon": flags.epsilon, "delta": flags.delta, "rho": flags.rho}
	if given["delta"] == "" && given["rho"] == "" {
		given["delta"] = "0"
	}
	var cost privacy.Cost
	for _, unit := range a.Units() {
		text := given[unit]
		delete(given, unit)
		if text == "" {
			return nil, fmt.Errorf("the account of %s adds up with the filter %s: its costs need %s", a.Key, a.Filter, unit)
		}
		amount, err := language.ParseAmount(text)
		if err != nil {
			return nil, fmt.Errorf("--%s %w", unit, err)
		}
		cost = append(cost, amount)
	}
	return []ledger.SliceCost{{Is: is, Cost: cost}}, nil
}
