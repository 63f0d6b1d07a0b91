package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
)

// shownAccount is an account for people and programs.
type shownAccount struct {
	Dataset  string        `json:"dataset"`
	Unit     string        `json:"unit"`
	Relation string        `json:"relation"`
	Filter   string        `json:"filter"`
	Epsilon  string        `json:"limit_epsilon"`
	Delta    string        `json:"limit_delta"`
	Amounts  []shownAmount `json:"amounts"`
	Debits   int64         `json:"debits"`
	// Keeps are the columns in which all neighbours agree that the account protects (P27).
	Keeps   []string       `json:"keeps,omitempty"`
	Spends  []ledger.Spend `json:"spends,omitempty"`
	Samples []shownSample  `json:"samples,omitempty"`
}

type shownAmount struct {
	Unit  string `json:"unit"`
	Limit string `json:"limit"` // exact, as all three are
	Spent string `json:"spent"`
	Left  string `json:"left"`

	limit, spent, left *big.Rat
}

func showAccount(a *ledger.Account) shownAccount {
	s := shownAccount{Dataset: a.Dataset, Unit: a.Unit, Relation: a.Relation.String(), Filter: a.Filter,
		Epsilon: job.FormatAmount(a.Limit.Epsilon), Delta: job.FormatAmount(a.Limit.Delta), Debits: a.Debits}
	for _, m := range a.Amounts(a.Limit) {
		s.Amounts = append(s.Amounts, shownAmount{m.Unit, job.FormatAmount(m.Limit), job.FormatAmount(m.Spent), job.FormatAmount(m.Left), m.Limit, m.Spent, m.Left})
	}
	return s
}

// shownLedger is what ledger show prints.
type shownLedger struct {
	Ledger   string         `json:"ledger"`
	Address  string         `json:"address"`
	Clocks   []ledger.Turn  `json:"clocks,omitempty"` // that were accepted
	Accounts []shownAccount `json:"accounts"`
}

func (e *environment) ledgerShow() *cobra.Command {
	var dataset string
	var asCSV bool
	c := &cobra.Command{
		Use:   "show [LEDGER]",
		Short: "Print what is left, and who spent what when",
		Long:  "show prints every account of a ledger with its limit, what is spent and what is left, and every debit.\n" + whichLedger,
		Example: `  dprelease ledger show job.yaml
  dprelease ledger show --dataset ca-schools-2000 --csv > spends.csv`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return e.withLedger(c.Context(), args, ledger.Options{ReadOnly: true}, func(l *ledger.Ledger) error {
				s, err := readLedger(c.Context(), l, dataset)
				switch {
				case err != nil:
					return err
				case e.json:
					return e.printed(e.line(s))
				case asCSV:
					return e.printed(s.writeCSV(e.out))
				}
				return e.printed(e.people(e.out, s.writeText))
			})
		},
	}
	c.Flags().StringVar(&dataset, "dataset", "", "only the accounts of this data set")
	c.Flags().BoolVar(&asCSV, "csv", false, "print the debits as CSV")
	c.Flags().BoolVar(&e.json, "json", false, "print one JSON object")
	return c
}

func readLedger(ctx context.Context, l *ledger.Ledger, dataset string) (*shownLedger, error) {
	s := &shownLedger{Ledger: l.ID(), Address: l.Address().String(), Accounts: []shownAccount{}}
	accounts, err := l.Accounts(ctx)
	if err != nil {
		return nil, err
	}
	if s.Clocks, err = l.Turns(ctx); err != nil {
		return nil, err
	}
	for _, a := range accounts {
		if dataset != "" && a.Dataset != dataset {
			continue
		}
		shown := showAccount(a)
		if shown.Keeps, err = l.Keeps(ctx, a.ID); err != nil {
			return nil, err
		}
		if shown.Spends, err = l.Spends(ctx, a.ID); err != nil {
			return nil, err
		}
		samples, err := l.Samples(ctx, a.ID)
		if err != nil {
			return nil, err
		}
		for _, k := range samples {
			shown.Samples = append(shown.Samples, showSample(k))
		}
		s.Accounts = append(s.Accounts, shown)
	}
	return s, nil
}

func (s *shownLedger) writeText(w io.Writer) error {
	fmt.Fprintf(w, "ledger %s at %s\n", s.Ledger, s.Address)
	writeTurns(w, s.Clocks)
	for _, a := range s.Accounts {
		fmt.Fprintf(w, "\n%s: per %s, %s, filter %s, limit ε %s, δ %s\n", a.Dataset, a.Unit, a.Relation, a.Filter, a.Epsilon, a.Delta)
		if len(a.Keeps) > 0 {
			fmt.Fprintf(w, "  neighbours keep %s: what is added up says nothing of a change there\n", strings.Join(a.Keeps, ", "))
		}
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "  \tspent\tleft\tlimit")
		for _, m := range a.Amounts {
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", m.Unit, ledger.Up(m.spent), ledger.Down(m.left), ledger.Down(m.limit))
		}
		if err := t.Flush(); err != nil {
			return err
		}
		if len(a.Spends) == 0 {
			continue
		}
		fmt.Fprintln(w)
		fmt.Fprintln(t, "  record\ttime\tjob, releases\tstate\tcharged")
		unfinished := false
		for _, d := range a.Spends {
			fmt.Fprintf(t, "  %d\t%s\t%s\t%s\tε %s, δ %s\n", d.Release, moment(d.At), d.Job, d.State, rise(d.Epsilon), rise(d.Delta))
			for _, r := range d.Charges {
				fmt.Fprintf(t, "  \t\t  %s\t\tε %s, δ %s on its own\n", r.Name, rise(r.Epsilon), rise(r.Delta))
			}
			unfinished = unfinished || d.State == ledger.Debited || d.State == ledger.Abandoned
		}
		if err := t.Flush(); err != nil {
			return err
		}
		if unfinished {
			fmt.Fprintln(w, "  debited: at work now, or cut off before its releases were stored; abandoned: cut off, and run again since. Both stay spent.")
		}
		if err := writeSamples(w, a.Samples); err != nil {
			return err
		}
	}
	return nil
}

// moment is a time of the chain without the parts of a second.
func moment(at string) string {
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return at
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// rise prints a charged figure, rounded up (P17).
func rise(x float64) string {
	if r := new(big.Rat).SetFloat64(x); r != nil {
		return ledger.Up(r)
	}
	return strconv.FormatFloat(math.Inf(1), 'g', -1, 64)
}

// writeCSV prints one line for each release of each debit, and for the debit.
func (s *shownLedger) writeCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	lines := [][]string{{"record", "time", "dataset", "unit", "relation", "job", "digest", "state", "release", "epsilon", "delta"}}
	for _, a := range s.Accounts {
		for _, d := range a.Spends {
			head := []string{strconv.FormatInt(d.Release, 10), d.At, a.Dataset, a.Unit, a.Relation, d.Job, d.Digest, d.State}
			line := func(name string, eps, delta float64) []string {
				return append(append([]string(nil), head...), name, number(eps), number(delta))
			}
			lines = append(lines, line("", d.Epsilon, d.Delta))
			for _, r := range d.Charges {
				lines = append(lines, line(r.Name, r.Epsilon, r.Delta))
			}
		}
	}
	return c.WriteAll(lines)
}
