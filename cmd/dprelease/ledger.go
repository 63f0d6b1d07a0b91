package main

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dprelease/dprelease/internal/failure"
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
		Short: "Look after the budget: show, init, raise, approve, lower, two-person, keep, separate, charge, verify, export, clock",
		Args:  unknownCommand,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("a command is missing: show, init, raise, approve, lower, two-person, keep, separate, charge, verify, export or clock")
		},
	}
	c.AddCommand(e.ledgerShow(), e.ledgerVerify(), e.ledgerInit(), e.ledgerLimit("raise"), e.ledgerLimit("lower"), e.ledgerApprove(), e.ledgerTwoPerson(), e.ledgerKeep(), e.ledgerSeparate(), e.ledgerCharge(), e.ledgerExport(), e.ledgerClock())
	e.lockWaitFlag(c.PersistentFlags())
	return c
}

// lockWaitFlag says for how long a command waits for a ledger that others keep locked.
func (e *environment) lockWaitFlag(f *pflag.FlagSet) {
	f.DurationVar(&e.lockWait, "lock-wait", ledger.DefaultLockWait, "how long to wait while others keep the ledger locked")
}

var errNoWait = errors.New("--lock-wait must be above 0")

// byFlag says who acts.
func (e *environment) byFlag(c *cobra.Command) {
	c.Flags().StringVar(&e.by, "by", "", "who does this; it is recorded (default: your login name and this machine)")
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
		// Nothing but the address is wanted: a variable that the table's path needs, or
		// anything else that is wrong with the job, is no reason to hide the balance.
		j, err := pipeline.Load(text, e.getenv)
		if problems := problemsOf(err); j == nil || err != nil && problems == nil || slices.ContainsFunc(problems, aboutBudget) {
			return ledger.Address{}, err
		}
		return pipeline.LedgerOf(ctx, j)
	case text != "" && !strings.Contains(text, ":"):
		text = "sqlite:" + text
	}
	return ledger.ParseAddress(text, ".")
}

// aboutBudget says that a problem keeps a job's ledger from being known.
func aboutBudget(p job.Problem) bool {
	return p.Path == "" || p.Path == "budget" || strings.HasPrefix(p.Path, "budget.ledger")
}

// withLedger opens a ledger for one command.
func (e *environment) withLedger(ctx context.Context, args []string, o ledger.Options, f func(*ledger.Ledger) error) error {
	if e.lockWait <= 0 {
		return errNoWait
	}
	o.By, o.LockWait = e.by, e.lockWait
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
		err = failure.OfLedger(ctx, known)
	}
	return e.fail(ctx, err)
}

// accountFlags are the flags that name an account.
type accountFlags struct{ dataset, unit, relation, slices string }

func (a *accountFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&a.dataset, "dataset", "", "the id of the data set")
	c.Flags().StringVar(&a.unit, "unit", job.UnitRow, "the unit of privacy")
	c.Flags().StringVar(&a.relation, "relation", "", "add-remove or replace-one")
	c.Flags().StringVar(&a.slices, "slices-by", "", "the column of dataset.slice, where the account has slices")
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
	return ledger.Key{Dataset: a.dataset, Unit: a.unit, Relation: rel, Slice: ledger.Slice{Column: a.slices}}, nil
}

// limitFlags are the flags that give a limit.
type limitFlags struct{ epsilon, delta, rho string }

func (l *limitFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&l.epsilon, "epsilon", "", "the limit's ε, an exact decimal")
	c.Flags().StringVar(&l.delta, "delta", "", "the limit's δ, an exact decimal")
	c.Flags().StringVar(&l.rho, "rho", "", "the limit's ρ, an exact decimal, in place of ε and δ: for an account with the filter zcdp")
}

// change is what the flags say; what is not given is nil.
func (l *limitFlags) change() (c ledger.Change, err error) {
	for _, f := range []struct {
		name, text string
		to         **big.Rat
	}{{"--epsilon", l.epsilon, &c.Epsilon}, {"--delta", l.delta, &c.Delta}, {"--rho", l.rho, &c.Rho}} {
		if f.text == "" {
			continue
		}
		if *f.to, err = job.ParseAmount(f.text); err != nil {
			return c, fmt.Errorf("%s %w", f.name, err)
		}
	}
	if c.Rho != nil && (c.Epsilon != nil || c.Delta != nil) {
		return c, errors.New("--rho stands in place of --epsilon and --delta")
	}
	return c, nil
}

// whole is the limit of a change that says all of it.
func (l *limitFlags) whole() (ledger.Limit, error) {
	c, err := l.change()
	switch {
	case err != nil:
		return ledger.Limit{}, err
	case c.Rho != nil:
		return ledger.Limit{Rho: c.Rho}, nil
	case c.Epsilon == nil:
		return ledger.Limit{}, errors.New("--epsilon is missing")
	case c.Delta == nil:
		c.Delta = new(big.Rat)
	}
	return ledger.Limit{Epsilon: c.Epsilon, Delta: c.Delta}, nil
}

func (e *environment) ledgerInit() *cobra.Command {
	var k accountFlags
	var l, life limitFlags
	var o ledger.Opening
	var keeps []string
	c := &cobra.Command{
		Use:   "init [LEDGER]",
		Short: "Make a ledger, and open an account in it",
		Long: `init makes a ledger where there is none, brings one of an earlier version up to
date, and, with --dataset, opens an account: one for each data set, unit of privacy
and relation. It makes no folder. The filter says how the costs of jobs are added
up, and never changes: basic adds ε and δ, zcdp adds ρ (Gaussian noise costs far
less there), rdp adds Rényi divergences at fixed orders. A limit in ρ (--rho)
opens a zcdp account. A job on a data set without an account opens one with its own
limit: a basic one, or a zcdp one where its limit is a ρ.

With --slices-by the account has slices: one for each value of that column, such as a
month. The limit is then that of each slice. --lifetime-epsilon, --lifetime-delta or
--lifetime-rho limit all slices together, for a unit that is in each of them.

With --two-person the limit of the account is raised by one person (ledger raise)
and approved by another (ledger approve).

An account protects neighbours that agree in the columns of --keeps, which may be empty
(--keeps ""). Without --keeps the first job decides: see ledger keep.
` + whichLedger,
		Example: `  dprelease ledger init sqlite:/srv/budget.db
  dprelease ledger init --dataset ca-schools-2000 --relation replace-one --epsilon 3 --delta 1e-6 --filter zcdp
  dprelease ledger init --dataset trips --relation add-remove --slices-by month --rho 0.5 --lifetime-rho 6`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var key ledger.Key
			err := oneOf("--filter", o.Filter, []string{ledger.Basic, ledger.ZCDP, ledger.RDP})
			if err != nil {
				return err
			}
			if k.dataset != "" {
				if key, err = k.key(); err != nil {
					return err
				}
				if o.Limit, err = l.whole(); err != nil {
					return err
				}
				if o.Limit.Rho != nil && !c.Flags().Changed("filter") {
					o.Filter = ledger.ZCDP
				}
				if life != (limitFlags{}) {
					all, err := life.whole()
					if err != nil {
						return errors.New(strings.Replace(err.Error(), "--", "--lifetime-", 1))
					}
					o.Lifetime = &all
				}
			}
			if o.Filter == ledger.RDP && len(o.Orders) == 0 {
				o.Orders = ledger.DefaultOrders()
			}
			return e.withLedger(c.Context(), args, ledger.Options{Create: true}, func(led *ledger.Ledger) error {
				if k.dataset != "" {
					o.Keeps = said(c, keeps)
					if _, err := led.OpenAccount(c.Context(), key, o); err != nil {
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
	c.Flags().StringVar(&life.epsilon, "lifetime-epsilon", "", "the ε of the limit over all slices")
	c.Flags().StringVar(&life.delta, "lifetime-delta", "", "the δ of the limit over all slices")
	c.Flags().StringVar(&life.rho, "lifetime-rho", "", "the ρ of the limit over all slices")
	e.byFlag(c)
	c.Flags().StringVar(&o.Filter, "filter", ledger.Basic, "basic, zcdp or rdp")
	c.Flags().Float64SliceVar(&o.Orders, "orders", nil, "the orders of an rdp account")
	c.Flags().BoolVar(&o.TwoPersons, "two-person", false, "a raised limit needs a second person")
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

// act makes of c a command that changes an account.
func (e *environment) act(c *cobra.Command, do func(context.Context, *ledger.Ledger, ledger.Key) (*ledger.Account, error)) {
	var k accountFlags
	c.Long += "\n" + whichLedger
	c.Args = cobra.MaximumNArgs(1)
	c.RunE = func(c *cobra.Command, args []string) error {
		key, err := k.key()
		if err != nil {
			return err
		}
		return e.withLedger(c.Context(), args, ledger.Options{}, func(l *ledger.Ledger) error {
			a, err := do(c.Context(), l, key)
			if err != nil {
				return err
			}
			return e.say(showAccount(a), "%s: the limit is %s%s\n", a.Key, limitsOf(a), waiting(a))
		})
	}
	k.add(c)
	e.byFlag(c)
	e.outputFlags(c, "print one JSON object")
}

// limitsOf are an account's limits.
func limitsOf(a *ledger.Account) string {
	text := a.Limit.String()
	if a.Slice.Column != "" {
		text += " for each slice"
	}
	if a.Lifetime != nil {
		text += ", and " + a.Lifetime.String() + " for all slices together"
	}
	return text
}

// waiting says what of an account waits for a second person.
func waiting(a *ledger.Account) string {
	text := ""
	if a.TwoPersons {
		text = "; two persons raise it"
	}
	switch p := a.Pending; {
	case p == nil:
		return text
	case p.EndRule:
		return fmt.Sprintf("%s; %s asks to let one person raise it: another person approves with dprelease ledger approve --proposal %d", text, p.By, p.Record)
	default:
		return fmt.Sprintf("%s; %s asks for %s: another person approves with dprelease ledger approve --proposal %d", text, p.By, proposed(p), p.Record)
	}
}

func proposed(p *ledger.Proposal) string {
	if p.Life {
		return p.LimitText.String() + " for all slices together"
	}
	return p.LimitText.String()
}

// ledgerLimit is raise or lower.
func (e *environment) ledgerLimit(verb string) *cobra.Command {
	var l limitFlags
	var reason string
	var life bool
	c := &cobra.Command{
		Use:   verb + " [LEDGER] --dataset ID --relation R [--epsilon E] [--delta D] [--rho P] --reason TEXT",
		Short: strings.ToUpper(verb[:1]) + verb[1:] + " the limit of an account, for a reason that is recorded",
		Long: verb + ` sets a new limit on an account; what is not given stays. Who did it and the reason
become a part of the chain. In an account with slices it is the limit of each slice,
and with --lifetime that of all slices together.`,
		Example: "  dprelease ledger " + verb + ` --dataset ca-schools-2000 --relation replace-one --epsilon 4 \
    --reason "board decision of 12 May"`,
	}
	if verb == "raise" {
		c.Long += `
Where the account asks for two persons, the limit stays until another person
approves (ledger approve).`
	}
	e.act(c, func(ctx context.Context, led *ledger.Ledger, key ledger.Key) (*ledger.Account, error) {
		change, err := l.change()
		if err != nil {
			return nil, err
		}
		change.Raise, change.Reason, change.Life = verb == "raise", oneLine(reason), life
		return led.SetLimit(ctx, key, change)
	})
	c.PreRunE = func(*cobra.Command, []string) error {
		switch change, err := l.change(); {
		case err != nil:
			return err
		case change.Epsilon == nil && change.Delta == nil && change.Rho == nil:
			return errors.New("--epsilon, --delta or --rho is missing")
		case oneLine(reason) == "":
			return errors.New("--reason is missing; it is recorded")
		}
		return nil
	}
	l.add(c)
	c.Flags().BoolVar(&life, "lifetime", false, "the limit of all slices together")
	c.Flags().StringVar(&reason, "reason", "", "why; it is recorded")
	return c
}

func (e *environment) ledgerApprove() *cobra.Command {
	var proposal int64
	c := &cobra.Command{
		Use:   "approve [LEDGER] --dataset ID --relation R --proposal RECORD",
		Short: "Approve what another person asked for: a raised limit, or the end of that rule",
		Long: `approve carries out what waits for a second person on an account. ledger show says
what that is and which record asked for it. Who asked cannot approve. The ledger
records names and cannot prove them: whoever can write to it can give any name.`,
		Example: `  dprelease ledger approve --dataset ca-schools-2000 --relation replace-one --proposal 17`,
	}
	e.act(c, func(ctx context.Context, l *ledger.Ledger, key ledger.Key) (*ledger.Account, error) {
		return l.Approve(ctx, key, proposal)
	})
	c.Flags().Int64Var(&proposal, "proposal", 0, "the record that asked for it")
	return c
}

func (e *environment) ledgerTwoPerson() *cobra.Command {
	var on, off bool
	var reason string
	c := &cobra.Command{
		Use:   "two-person [LEDGER] --dataset ID --relation R --on|--off --reason TEXT",
		Short: "Make it a rule of an account that two persons raise its limit, or end the rule",
		Long: `two-person --on makes it a rule of an account that one person raises the limit and
another approves. --off asks to end the rule; a second person approves that, too.`,
		Example: `  dprelease ledger two-person --on --dataset ca-schools-2000 --relation replace-one --reason "board decision of 12 May"`,
	}
	e.act(c, func(ctx context.Context, l *ledger.Ledger, key ledger.Key) (*ledger.Account, error) {
		return l.SetTwoPersons(ctx, key, on, oneLine(reason))
	})
	c.PreRunE = func(*cobra.Command, []string) error {
		switch {
		case on == off:
			return errors.New("give one of --on and --off")
		case oneLine(reason) == "":
			return errors.New("--reason is missing; it is recorded")
		}
		return nil
	}
	c.Flags().BoolVar(&on, "on", false, "two persons from now on")
	c.Flags().BoolVar(&off, "off", false, "ask to let one person raise the limit again")
	c.Flags().StringVar(&reason, "reason", "", "why; it is recorded")
	return c
}
