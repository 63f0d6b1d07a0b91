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

	"github.com/dprelease/dprelease/internal/command"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/ledger"
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
		Use: "ledger",
		Short: "Look after the budget: show, init, raise, approve, lower, two-person, keep, close, separate, charge, verify, " +
			"export, clock, refuse",
		Args: command.UnknownCommand,
		RunE: command.CommandMissing,
	}
	c.AddCommand(e.ledgerShow(), e.ledgerVerify(), e.ledgerInit(), e.ledgerLimit("raise"), e.ledgerLimit("lower"), e.ledgerApprove(),
		e.ledgerTwoPerson(), e.ledgerKeep(), e.ledgerClose(), e.ledgerSeparate(), e.ledgerCharge(), e.ledgerExport(), e.ledgerClock(),
		e.ledgerRefuse())
	e.lockWaitFlag(c.PersistentFlags())
	return c
}

// lockWaitFlag says for how long a command waits for a ledger that others keep locked.
func (e *environment) lockWaitFlag(f *pflag.FlagSet) {
	f.DurationVar(&e.lockWait, "lock-wait", ledger.DefaultLockWait, "how long to wait while others keep the ledger locked")
}

var errNoWait = errors.New("--lock-wait must be above 0")

// byFlag adds the flag that names who acts.
func (e *environment) byFlag(c *cobra.Command) {
	c.Flags().StringVar(&e.By, "by", "", "who does this; it is recorded (default: your login name and this machine)")
}

// ledgerAddress finds out which ledger is meant.
func (e *environment) ledgerAddress(args []string) (ledger.Address, error) {
	text := ""
	if len(args) > 0 {
		text = args[0]
	} else if v, ok := e.Getenv(ledgerVariable); ok {
		text = v
	}
	switch ext := filepath.Ext(text); {
	case ext == ".yaml" || ext == ".yml":
		// Nothing but the address is wanted: a variable that the table's path needs, or
		// anything else that is wrong with the job, is no reason to hide the balance.
		j, err := pipeline.Load(text, e.Getenv)
		if problems := command.ProblemsOf(err); j == nil || err != nil && problems == nil || slices.ContainsFunc(problems, aboutBudget) {
			return ledger.Address{}, err
		}
		return pipeline.LedgerOf(j)
	case text != "" && !strings.Contains(text, ":"):
		text = "sqlite:" + text
	}
	return ledger.ParseAddress(text, ".")
}

// aboutBudget reports whether a problem keeps a job's ledger from being known.
func aboutBudget(p job.Problem) bool {
	return p.Path == "" || p.Path == "budget" || strings.HasPrefix(p.Path, "budget.ledger")
}

// withLedger opens a ledger for one command.
func (e *environment) withLedger(ctx context.Context, args []string, o ledger.Options, f func(*ledger.Ledger) error) error {
	if e.lockWait <= 0 {
		return errNoWait
	}
	o.By, o.LockWait = e.By, e.lockWait
	a, err := e.ledgerAddress(args)
	if err == nil {
		var l *ledger.Ledger
		if l, err = ledger.Open(ctx, a, o); err == nil {
			defer l.Close()
			err = f(l)
		}
	}
	var done command.Failed
	var known *ledger.Error
	switch {
	case err == nil || errors.As(err, &done):
		return err
	case errors.As(err, &known):
		err = failure.OfLedger(ctx, known)
	}
	return e.Fail(ctx, err)
}

// accountFlags are the flags that name an account. Those of a second account have the prefix
// "from", and its data set is --from itself.
type accountFlags struct{ prefix, dataset, unit, relation, slices string }

func (a *accountFlags) name(flag string) string {
	switch {
	case a.prefix == "":
		return flag
	case flag == "dataset":
		return a.prefix
	}
	return a.prefix + "-" + flag
}

func (a *accountFlags) add(c *cobra.Command) {
	of := ""
	if a.prefix != "" {
		of = " of the other account"
	}
	c.Flags().StringVar(&a.dataset, a.name("dataset"), "", "the id of the data set"+of)
	c.Flags().StringVar(&a.unit, a.name("unit"), job.UnitRow, "the unit of privacy"+of)
	c.Flags().StringVar(&a.relation, a.name("relation"), "", "the relation"+of+": add-remove or replace-one")
	c.Flags().StringVar(&a.slices, a.name("slices-by"), "", "the column of dataset.slice"+of+", where it has slices")
}

func (a *accountFlags) key() (ledger.Key, error) {
	rel, err := privacy.ParseRelation(a.relation)
	switch {
	case a.dataset == "":
		return ledger.Key{}, fmt.Errorf("--%s is missing", a.name("dataset"))
	case err != nil:
		return ledger.Key{}, fmt.Errorf("--%s: %w%s", a.name("relation"), err, command.DidYouMean("", a.relation, relations))
	}
	return ledger.Key{Dataset: a.dataset, Unit: a.unit, Relation: rel, Slice: ledger.Slice{Column: a.slices}}, nil
}

// relations are the words for a relation.
var relations = []string{privacy.AddRemove.String(), privacy.ReplaceOne.String()}

// limitFlags are the flags that give a limit or a cost.
type limitFlags struct{ prefix, epsilon, delta, rho string }

func (l *limitFlags) add(c *cobra.Command, what string) {
	c.Flags().StringVar(&l.epsilon, l.prefix+"epsilon", "", "the ε "+what+", an exact decimal")
	c.Flags().StringVar(&l.delta, l.prefix+"delta", "", "the δ "+what+", an exact decimal")
	c.Flags().StringVar(&l.rho, l.prefix+"rho", "",
		"the ρ "+what+", an exact decimal, in place of ε and δ: for an account with the filter zcdp")
}

// given reports whether there is a limit.
func (l *limitFlags) given() bool { return l.epsilon != "" || l.delta != "" || l.rho != "" }

// change returns the limits that the flags give, and nil for each one that is not given.
func (l *limitFlags) change() (c ledger.Change, err error) {
	for _, f := range []struct {
		name, text string
		to         **big.Rat
	}{{"epsilon", l.epsilon, &c.Epsilon}, {"delta", l.delta, &c.Delta}, {"rho", l.rho, &c.Rho}} {
		if f.text == "" {
			continue
		}
		if *f.to, err = language.ParseAmount(f.text); err != nil {
			return c, fmt.Errorf("--%s%s %w", l.prefix, f.name, err)
		}
	}
	if c.Rho != nil && (c.Epsilon != nil || c.Delta != nil) {
		return c, fmt.Errorf("--%[1]srho stands in place of --%[1]sepsilon and --%[1]sdelta", l.prefix)
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
		return ledger.Limit{}, fmt.Errorf("--%sepsilon is missing", l.prefix)
	case c.Delta == nil:
		c.Delta = new(big.Rat)
	}
	return ledger.Limit{Epsilon: c.Epsilon, Delta: c.Delta}, nil
}

func (e *environment) ledgerInit() *cobra.Command {
	var k accountFlags
	var l limitFlags
	life := limitFlags{prefix: "lifetime-"}
	var o ledger.Opening
	var keeps []string
	c := &cobra.Command{
		Use:   "init [LEDGER]",
		Short: "Make a ledger, and open an account in it",
		Long: `init makes a ledger where there is none and, with --dataset, opens an account: one
for each data set, unit of privacy and relation. It makes no folder. The filter never
changes: basic adds ε and δ, zcdp adds ρ (Gaussian noise costs far less there), rdp adds
Rényi divergences at fixed orders. A limit in ρ (--rho) opens a zcdp account. The first job
on a data set without an account opens one with its own limit.

With --slices-by the limit is that of each slice, such as a month, and --lifetime-… limits
all slices together. An account protects neighbours that agree in the columns of --keeps,
which may be empty (--keeps ""); without it the first job decides (see ledger keep).
` + whichLedger,
		Example: `  dprelease ledger init sqlite:/srv/budget.db
  dprelease ledger init --dataset ca-schools-2000 --relation replace-one --epsilon 3 --delta 1e-6 --filter zcdp
  dprelease ledger init --dataset trips --relation add-remove --slices-by month --rho 0.5 --lifetime-rho 6`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var key ledger.Key
			err := command.OneOf("--filter", o.Filter, []string{ledger.Basic, ledger.ZCDP, ledger.RDP})
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
				if life.given() {
					all, err := life.whole()
					if err != nil {
						return err
					}
					o.Lifetime = &all
				}
			}
			if o.Filter == ledger.RDP && len(o.Orders) == 0 {
				o.Orders = ledger.DefaultOrders()
			}
			return e.withLedger(c.Context(), args, ledger.Options{Create: true}, func(led *ledger.Ledger) error {
				if k.dataset != "" {
					if c.Flags().Changed("keeps") {
						o.Keeps = append([]string{}, keeps...)
					}
					if _, err := led.OpenAccount(c.Context(), key, o); err != nil {
						return err
					}
				}
				return e.Say(map[string]any{"event": "done", "exit": command.ExitDone, "ledger": led.ID(), "address": led.Address().String()},
					"ledger %s at %s\n", led.ID(), led.Address())
			})
		},
	}
	k.add(c)
	l.add(c, "of the limit")
	life.add(c, "of the limit over all slices")
	e.byFlag(c)
	c.Flags().StringVar(&o.Filter, "filter", ledger.Basic, "basic, zcdp or rdp")
	c.Flags().Float64SliceVar(&o.Orders, "orders", nil, "the orders of an rdp account")
	c.Flags().BoolVar(&o.TwoPersons, "two-person", false, "a raised limit needs a second person")
	c.Flags().StringSliceVar(&keeps, "keeps", nil, "the columns in which all neighbours agree, separated by commas")
	e.OutputFlags(c, "print JSON")
	return c
}

// act completes a command about an account. It adds the flags that name the account, who acts
// and, where reason is not nil, why. check refuses wrong flags; do acts and says what came of it.
func (e *environment) act(c *cobra.Command, reason *string, check func(ledger.Key) error,
	do func(context.Context, *ledger.Ledger, ledger.Key) (object any, text string, err error)) *cobra.Command {
	var k accountFlags
	c.Long += "\n" + whichLedger
	c.Args = cobra.MaximumNArgs(1)
	c.RunE = func(c *cobra.Command, args []string) error {
		key, err := k.key()
		if err == nil {
			err = check(key)
		}
		if err == nil && reason != nil {
			err = needReason(reason)
		}
		if err != nil {
			return err
		}
		return e.withLedger(c.Context(), args, ledger.Options{}, func(l *ledger.Ledger) error {
			object, text, err := do(c.Context(), l, key)
			if err != nil {
				return err
			}
			return e.Say(object, "%s\n", text)
		})
	}
	k.add(c)
	if reason != nil {
		c.Flags().StringVar(reason, "reason", "", "why; it is recorded")
	}
	e.byFlag(c)
	e.OutputFlags(c, "print JSON")
	return c
}

// needReason refuses to act without a reason, and puts it on one line.
func needReason(reason *string) error {
	if *reason = command.OneLine(*reason); *reason == "" {
		return errors.New("--reason is missing; it is recorded")
	}
	return nil
}

// changed shows the limits that an account has now.
func changed(a *ledger.Account, err error) (object any, text string, _ error) {
	if err != nil {
		return nil, "", err
	}
	return showAccount(a), fmt.Sprintf("%s: the limit is %s%s", a.Key, limitsOf(a), waiting(a)), nil
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

// waiting names what waits for a second person in an account.
func waiting(a *ledger.Account) string {
	text := ""
	if a.TwoPersons {
		text = "; two persons raise it"
	}
	switch p := a.Pending; {
	case p == nil:
		return text
	case p.EndRule:
		return fmt.Sprintf("%s; %s asks to let one person raise it: another person approves with dprelease ledger approve --proposal %d",
			text, p.By, p.Record)
	default:
		return fmt.Sprintf("%s; %s asks for %s: another person approves with dprelease ledger approve --proposal %d", text, p.By,
			proposed(p), p.Record)
	}
}

func proposed(p *ledger.Proposal) string {
	if p.Life {
		return p.Limit.String() + " for all slices together"
	}
	return p.Limit.String()
}

// ledgerLimit is raise or lower.
func (e *environment) ledgerLimit(verb string) *cobra.Command {
	var l limitFlags
	var change ledger.Change
	c := &cobra.Command{
		Use:   verb + " [LEDGER] --dataset ID --relation R [--epsilon E] [--delta D] [--rho P] --reason TEXT",
		Short: strings.ToUpper(verb[:1]) + verb[1:] + " the limit of an account",
		Long:  "lower sets a new limit on an account, as ledger raise does.",
		Example: "  dprelease ledger " + verb + ` --dataset ca-schools-2000 --relation replace-one --epsilon 4 \
    --reason "board decision of 12 May"`,
	}
	if verb == "raise" {
		c.Long = `raise sets a new limit on an account. A part of the limit that is not given stays. In an
account with slices it is the limit of each, and with --lifetime that of all together. Where
the account asks for two persons, the limit stays until another person approves.`
	}
	l.add(c, "of the limit")
	c.Flags().BoolVar(&change.Life, "lifetime", false, "the limit of all slices together")
	return e.act(c, &change.Reason, func(ledger.Key) error {
		given, err := l.change()
		if err == nil && !l.given() {
			err = errors.New("--epsilon, --delta or --rho is missing")
		}
		change.Epsilon, change.Delta, change.Rho, change.Raise = given.Epsilon, given.Delta, given.Rho, verb == "raise"
		return err
	}, func(ctx context.Context, led *ledger.Ledger, key ledger.Key) (any, string, error) {
		return changed(led.SetLimit(ctx, key, change))
	})
}

func (e *environment) ledgerApprove() *cobra.Command {
	var proposal int64
	c := &cobra.Command{
		Use:   "approve [LEDGER] --dataset ID --relation R --proposal RECORD",
		Short: "Approve what another person asked for: a raised limit, or the end of that rule",
		Long: `approve carries out what waits for a second person on an account. ledger show says
which record asked for what. The person who asked cannot approve. Names are recorded and
not proved.`,
		Example: `  dprelease ledger approve --dataset ca-schools-2000 --relation replace-one --proposal 17`,
	}
	c.Flags().Int64Var(&proposal, "proposal", 0, "the record that asked for it")
	return e.act(c, nil, nothingToCheck, func(ctx context.Context, l *ledger.Ledger, key ledger.Key) (any, string, error) {
		return changed(l.Approve(ctx, key, proposal))
	})
}

func nothingToCheck(ledger.Key) error { return nil }

func (e *environment) ledgerTwoPerson() *cobra.Command {
	var off bool
	var reason string
	c := &cobra.Command{
		Use:   "two-person [LEDGER] --dataset ID --relation R [--off] --reason TEXT",
		Short: "Make it a rule of an account that two persons raise its limit, or end the rule",
		Long: `two-person makes it a rule of an account that one person raises the limit and
another approves. A second person approves the end of the rule, too.`,
		Example: `  dprelease ledger two-person --dataset ca-schools-2000 --relation replace-one --reason "board decision of 12 May"`,
	}
	c.Flags().BoolVar(&off, "off", false, "ask to let one person raise the limit again")
	return e.act(c, &reason, nothingToCheck, func(ctx context.Context, l *ledger.Ledger, key ledger.Key) (any, string, error) {
		return changed(l.SetTwoPersons(ctx, key, !off, reason))
	})
}

// ledgerKeep weakens what an account promises: its neighbours keep more columns.
func (e *environment) ledgerKeep() *cobra.Command {
	var columns []string
	var reason string
	c := &cobra.Command{
		Use:   "keep [LEDGER] --dataset ID --relation R --columns A,B --reason TEXT",
		Short: "Let an account protect only neighbours that agree in more columns",
		Long: `keep adds columns to those that an account keeps: a change in them is not protected. A
stratified or multistage sample keeps the columns of its frame, and a release by an immutable
column keeps that column; such a job is refused where its account does not. The change holds
for earlier releases too, and cannot be taken back.`,
		Example: `  dprelease ledger keep job.yaml --dataset ca-schools-2000 --relation replace-one --columns county \
    --reason "which county a school lies in is public"`,
	}
	c.Flags().StringSliceVar(&columns, "columns", nil, "the columns, separated by commas")
	return e.act(c, &reason, func(ledger.Key) error {
		if len(columns) == 0 {
			return errors.New("--columns is missing")
		}
		return nil
	}, func(ctx context.Context, l *ledger.Ledger, key ledger.Key) (any, string, error) {
		keeps, err := l.SetKeeps(ctx, key, columns, reason)
		return map[string]any{"event": "done", "exit": command.ExitDone, "keeps": keeps},
			fmt.Sprintf("the account of %s keeps %s", key, strings.Join(keeps, ", ")), err
	})
}

// ledgerSeparate lets two accounts, or the slices of one, spend on the same data.
func (e *environment) ledgerSeparate() *cobra.Command {
	other := accountFlags{prefix: "from"}
	var from ledger.Key
	var reason string
	c := &cobra.Command{
		Use:   "separate [LEDGER] --dataset ID --relation R [--from ID --from-relation R] [--slices-by COLUMN] --reason TEXT",
		Short: "Let two accounts, or slices or panels of one, spend on the same data",
		Long: `separate lets two accounts spend on the same data, each with its own limit. Without
--from it lets slices of one account hold the same rows, as in a panel whose people answer
the same each month, or panels that somebody else drew.`,
		Example: `  dprelease ledger separate job.yaml --dataset panel-2024 --relation add-remove --from panel-2024 --from-relation replace-one \
    --reason "the method comparison may spend a second budget, board decision of 12 May"
  dprelease ledger separate job.yaml --dataset panel-2024 --relation add-remove --slices-by month \
    --reason "the same people answer every month"`,
	}
	other.add(c)
	alike := func() bool { return other.dataset == "" }
	return e.act(c, &reason, func(ledger.Key) (err error) {
		if !alike() {
			from, err = other.key()
		}
		return err
	}, func(ctx context.Context, l *ledger.Ledger, key ledger.Key) (any, string, error) {
		done := map[string]any{"event": "done", "exit": command.ExitDone}
		if alike() {
			return done, fmt.Sprintf("slices or panels of the account of %s may hold the same rows", key), l.SeparateSlices(ctx, key, reason)
		}
		return done, fmt.Sprintf("the accounts of %s and of %s may spend on the same data", key, from), l.Separate(ctx, key, from, reason)
	})
}
