package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/pipeline"
	"github.com/dprelease/dprelease/privacy"
)

// ledgerVariable names the ledger that the commands use when none is named.
const ledgerVariable = "DPRELEASE_LEDGER"

const whichLedger = `
LEDGER is sqlite:PATH, postgres://…, the path of a ledger's file, or a job file
(.yaml), which stands for the ledger of the job. Without one it is $` + ledgerVariable + `, or
dprelease.db in this folder.`

func (e *environment) ledger() *cobra.Command {
	c := &cobra.Command{
		Use:   "ledger",
		Short: "Look after the budget: show, verify, init, raise, lower, keep, separate, export, clock",
		Args:  unknownCommand,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("a command is missing: show, verify, init, raise, lower, keep, separate, export or clock")
		},
	}
	c.AddCommand(e.ledgerShow(), e.ledgerVerify(), e.ledgerInit(), e.ledgerLimit("raise"), e.ledgerLimit("lower"), e.ledgerKeep(), e.ledgerSeparate(), e.ledgerExport(), e.ledgerClock())
	return c
}

// ledgerAddress finds out which ledger is meant.
func (e *environment) ledgerAddress(ctx context.Context, args []string) (ledger.Address, error) {
	text := ""
	if len(args) > 0 {
		text = args[0]
	} else if v, ok := e.getenv(ledgerVariable); ok {
		text = v
	}
	switch ext := filepath.Ext(text); {
	case ext == ".yaml" || ext == ".yml":
		j, err := e.jobs.load(text, e.getenv)
		if err != nil {
			return ledger.Address{}, err
		}
		return pipeline.LedgerOf(ctx, j)
	case text != "" && !strings.Contains(text, ":"):
		text = "sqlite:" + text
	}
	return ledger.ParseAddress(text, ".")
}

// withLedger opens a ledger for one command.
func (e *environment) withLedger(ctx context.Context, args []string, o ledger.Options, f func(*ledger.Ledger) error) error {
	a, err := e.ledgerAddress(ctx, args)
	if err == nil {
		var l *ledger.Ledger
		if l, err = ledger.Open(ctx, a, o); err == nil {
			defer l.Close()
			err = f(l)
		}
	}
	var done failed
	var known *ledger.Error
	switch {
	case err == nil || errors.As(err, &done):
		return err
	case errors.As(err, &known):
		return e.fail(ctx, &pipeline.Failure{Exit: pipeline.ExitLedger, Code: known.Code, Message: known.Message})
	}
	return e.fail(ctx, err)
}

// accountFlags are the flags that name an account.
type accountFlags struct{ dataset, unit, relation string }

func (a *accountFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&a.dataset, "dataset", "", "the id of the data set")
	c.Flags().StringVar(&a.unit, "unit", job.UnitRow, "the unit of privacy")
	c.Flags().StringVar(&a.relation, "relation", "", "add-remove or replace-one")
}

func (a *accountFlags) key() (ledger.Key, error) {
	rel, err := privacy.ParseRelation(a.relation)
	switch {
	case a.dataset == "":
		return ledger.Key{}, errors.New("--dataset is missing")
	case err != nil:
		known := []string{privacy.AddRemove.String(), privacy.ReplaceOne.String()}
		return ledger.Key{}, fmt.Errorf("--relation: %w%s", err, didYouMean("", a.relation, known))
	}
	return ledger.Key{Dataset: a.dataset, Unit: a.unit, Relation: rel}, nil
}

// limitFlags are the flags that give a limit.
type limitFlags struct{ epsilon, delta string }

func (l *limitFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&l.epsilon, "epsilon", "", "the limit's ε, an exact decimal")
	c.Flags().StringVar(&l.delta, "delta", "0", "the limit's δ, an exact decimal")
}

func (l *limitFlags) limit() (ledger.Limit, error) {
	eps, err := job.ParseAmount(l.epsilon)
	if err != nil {
		return ledger.Limit{}, fmt.Errorf("--epsilon %w", err)
	}
	delta, err := job.ParseAmount(l.delta)
	if err != nil {
		return ledger.Limit{}, fmt.Errorf("--delta %w", err)
	}
	return ledger.Limit{Epsilon: eps, Delta: delta}, nil
}

func (e *environment) ledgerInit() *cobra.Command {
	var k accountFlags
	var l limitFlags
	var filter string
	var orders []float64
	var keeps []string
	c := &cobra.Command{
		Use:   "init [LEDGER]",
		Short: "Make a ledger, and open an account in it",
		Long: `init makes a ledger where there is none and, with --dataset, opens an account: one
for each data set, unit of privacy and relation. The filter says how the costs of
jobs are added up, and never changes: basic adds ε and δ, zcdp adds ρ (Gaussian
noise costs far less there), rdp adds Rényi divergences at fixed orders. A job on a
data set without an account opens a basic one with its own limit.

An account protects neighbours that agree in the columns of --keeps, which may be empty
(--keeps ""). Without --keeps the first job decides: see ledger keep.
` + whichLedger,
		Example: `  dprelease ledger init sqlite:/srv/budget.db
  dprelease ledger init --dataset ca-schools-2000 --relation replace-one --epsilon 3 --delta 1e-6 --filter zcdp`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var key ledger.Key
			var limit ledger.Limit
			err := oneOf("--filter", filter, []string{ledger.Basic, ledger.ZCDP, ledger.RDP})
			if err != nil {
				return err
			}
			if k.dataset != "" {
				if key, err = k.key(); err != nil {
					return err
				}
				if limit, err = l.limit(); err != nil {
					return err
				}
			}
			if filter == ledger.RDP && len(orders) == 0 {
				orders = ledger.DefaultOrders()
			}
			return e.withLedger(c.Context(), args, ledger.Options{Create: true}, func(led *ledger.Ledger) error {
				if k.dataset != "" {
					if _, err := led.OpenAccount(c.Context(), key, ledger.Opening{Filter: filter, Orders: orders, Limit: limit, Keeps: said(c, keeps)}); err != nil {
						return err
					}
				}
				return e.say(map[string]any{"event": "done", "exit": exitDone, "ledger": led.ID(), "address": led.Address().String()},
					"ledger %s at %s\n", led.ID(), led.Address())
			})
		},
	}
	k.add(c)
	l.add(c)
	c.Flags().StringVar(&filter, "filter", ledger.Basic, "basic, zcdp or rdp")
	c.Flags().Float64SliceVar(&orders, "orders", nil, "the orders of an rdp account")
	c.Flags().StringSliceVar(&keeps, "keeps", nil, "the columns in which all neighbours agree, separated by commas")
	e.outputFlags(c, "print one JSON object")
	return c
}

// said are the columns of --keeps, nil where it is not given.
func said(c *cobra.Command, keeps []string) []string {
	if !c.Flags().Changed("keeps") {
		return nil
	}
	return append([]string{}, keeps...)
}

// ledgerLimit is raise or lower.
func (e *environment) ledgerLimit(verb string) *cobra.Command {
	var k accountFlags
	var l limitFlags
	var reason string
	c := &cobra.Command{
		Use:   verb + " [LEDGER] --dataset ID --relation R --epsilon E [--delta D] --reason TEXT",
		Short: strings.ToUpper(verb[:1]) + verb[1:] + " the limit of an account, for a reason that is recorded",
		Long:  verb + " sets a new limit on an account. The reason becomes a part of the chain.\n" + whichLedger,
		Example: "  dprelease ledger " + verb + ` --dataset ca-schools-2000 --relation replace-one --epsilon 4 --delta 1e-6 \
    --reason "board decision of 12 May"`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			key, err := k.key()
			if err != nil {
				return err
			}
			limit, err := l.limit()
			if err != nil {
				return err
			}
			if strings.TrimSpace(reason) == "" {
				return errors.New("--reason is missing; it is recorded")
			}
			return e.withLedger(c.Context(), args, ledger.Options{}, func(led *ledger.Ledger) error {
				a, err := led.SetLimit(c.Context(), key, limit, verb == "raise", reason)
				if err != nil {
					return err
				}
				return e.say(showAccount(a), "%s: the limit is now %s\n", key, a.Limit)
			})
		},
	}
	k.add(c)
	l.add(c)
	c.Flags().StringVar(&reason, "reason", "", "why; it is recorded")
	e.outputFlags(c, "print one JSON object")
	return c
}
