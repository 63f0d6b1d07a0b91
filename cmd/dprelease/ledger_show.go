package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/internal/pipeline"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/report"
)

// shownAccount is an account for people and programs.
type shownAccount struct {
	Dataset  string           `json:"dataset"`
	Unit     string           `json:"unit"`
	Relation string           `json:"relation"`
	SlicesBy string           `json:"slices_by,omitempty"`
	Filter   string           `json:"filter"`
	Limit    ledger.Limit     `json:"limit"` // in fractions
	Two      bool             `json:"two_persons,omitempty"`
	Pending  *ledger.Proposal `json:"pending,omitempty"`
	// Amounts are about a unit of the account; where it has slices, about a unit in one
	// slice, the largest one. Life is then about a unit that is in all slices (P26).
	Amounts  []shownAmount  `json:"amounts"`
	Life     []shownAmount  `json:"life,omitempty"`
	Lifetime *ledger.Limit  `json:"lifetime,omitempty"`
	Debits   int64          `json:"debits"`
	Slices   []shownSlice   `json:"slices,omitempty"`
	Acts     []ledger.Act   `json:"acts,omitempty"` // everything but spending
	Spends   []ledger.Spend `json:"spends,omitempty"`
	Samples  []shownSample  `json:"samples,omitempty"`
	Series   []string       `json:"series,omitempty"` // what each cost, in words
	// Keeps are the columns in which all neighbours agree that the account protects (P27).
	Keeps []string `json:"keeps,omitempty"`

	tallies []ledger.Tally
	account *ledger.Account
}

// shownAmount is in decimals: what is spent is rounded up, the rest down.
type shownAmount struct {
	Unit  string `json:"unit"`
	Limit string `json:"limit,omitempty"`
	Spent string `json:"spent"`
	Left  string `json:"left,omitempty"`
	Exact string `json:"spent_exact"` // a fraction
}

// shownSlice holds the exact spend of one slice.
type shownSlice struct {
	Is     string   `json:"is"`
	Debits int64    `json:"debits"`
	Exact  []string `json:"spent_exact"` // fractions, in the account's units
}

func (m shownAmount) symbol() string { return report.Amount{Unit: m.Unit}.Symbol() }

// rest formats the amount that is left, for people.
func (m shownAmount) rest() string {
	if m.Left == "0" && m.Limit != "0" {
		return "spent"
	}
	return m.Left
}

func showAccount(a *ledger.Account) shownAccount {
	s := shownAccount{Dataset: a.Dataset, Unit: a.Unit, Relation: a.Relation.String(), SlicesBy: a.Slice.Column, Filter: a.Filter,
		Limit: a.Limit, Lifetime: a.Lifetime, Debits: a.Debits,
		Two: a.TwoPersons, Pending: a.Pending, Keeps: a.Keeps, account: a}
	s.Amounts = showAmounts(a.Amounts())
	if a.Slice.Column != "" {
		s.Life = showAmounts(a.Life())
	}
	return s
}

func showAmounts(all []ledger.Amount) (out []shownAmount) {
	for _, m := range all {
		one := shownAmount{Unit: m.Unit, Spent: ledger.Up(m.Spent), Exact: m.Spent.RatString()}
		if m.Limit != nil {
			one.Limit, one.Left = ledger.Down(m.Limit), ledger.Down(m.Rest())
		}
		out = append(out, one)
	}
	return out
}

// shownLedger is the answer of ledger show.
type shownLedger struct {
	Ledger  string       `json:"ledger"`
	Address string       `json:"address"`
	Acts    []ledger.Act `json:"acts,omitempty"`    // clocks that were accepted, and who refused the ledger
	Warning string       `json:"warning,omitempty"` // why a run of the job is refused now
	// Answers are the refusals that told a job that its data are those of other releases (P40).
	Answers  []ledger.Act   `json:"answers,omitempty"`
	Accounts []shownAccount `json:"accounts"`
}

func (e *environment) ledgerShow() *cobra.Command {
	var dataset string
	var asCSV bool
	c := &cobra.Command{
		Use:   "show [LEDGER]",
		Short: "Print what is left, and who spent what when",
		Long: `show prints the accounts of a ledger: limits, what is spent, what is left, and the newest
debits. --json has all slices and records. Of an account with slices it prints what the
largest slice has spent, the guarantee for a unit in one slice, and what all slices have
spent together, for a unit that is in each of them. All of this is private.
` + whichLedger,
		Example: `  dprelease ledger show job.yaml
  dprelease ledger show --dataset ca-schools-2000 --csv > spends.csv`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return e.withLedger(c.Context(), args, ledger.Options{ReadOnly: true}, func(l *ledger.Ledger) error {
				s, err := readLedger(c.Context(), l, dataset)
				if err == nil {
					s.Warning, err = warningOf(l.Witness(c.Context(), e.besideOutput(args, l)...))
				}
				switch {
				case err != nil:
					return err
				case e.JSON:
					return e.Printed(e.Line(s))
				case asCSV:
					return e.Printed(s.writeCSV(e.Out))
				}
				return e.Printed(e.People(e.Out, s.writeText))
			})
		},
	}
	c.Flags().StringVar(&dataset, "dataset", "", "the id of the data set")
	c.Flags().BoolVar(&asCSV, "csv", false, "print the debits as CSV")
	c.Flags().BoolVar(&e.JSON, "json", false, "print JSON")
	return c
}

func readLedger(ctx context.Context, l *ledger.Ledger, dataset string) (*shownLedger, error) {
	s := &shownLedger{Ledger: l.ID(), Address: l.Address().String(), Accounts: []shownAccount{}}
	accounts, err := l.Accounts(ctx)
	if err != nil {
		return nil, err
	}
	acts, err := l.Acts(ctx)
	if err != nil {
		return nil, err
	}
	of := map[int64][]ledger.Act{} // by account
	for _, a := range acts {
		switch {
		case a.What == "answer":
			s.Answers = append(s.Answers, a)
		case a.Account == 0:
			s.Acts = append(s.Acts, a)
		default:
			of[a.Account] = append(of[a.Account], a)
		}
	}
	for _, a := range accounts {
		if dataset != "" && a.Dataset != dataset {
			continue
		}
		shown := showAccount(a)
		if a.Slice.Column != "" {
			if shown.tallies, err = l.Tallies(ctx, a.Key); err != nil {
				return nil, err
			}
			for _, t := range shown.tallies {
				shown.Slices = append(shown.Slices, showSlice(t))
			}
		}
		shown.Acts = of[a.ID]
		if shown.Spends, err = l.Spends(ctx, a.ID); err != nil {
			return nil, err
		}
		if shown.Series, err = pipeline.SeriesTexts(ctx, l, a); err != nil {
			return nil, err
		}
		nodes, err := l.Nodes(ctx, a.ID)
		if err != nil {
			return nil, err
		}
		for _, n := range nodes {
			if n.Kind != ledger.KindSeries {
				shown.Samples = append(shown.Samples, showSample(n))
			}
		}
		s.Accounts = append(s.Accounts, shown)
	}
	return s, nil
}

func (s *shownLedger) writeText(w io.Writer) error {
	fmt.Fprintf(w, "ledger %s at %s\n", s.Ledger, s.Address)
	writeActs(w, "", s.Acts)
	writeActs(w, "", latest(w, "", "records of answers", s.Answers))
	if s.Warning != "" {
		fmt.Fprintf(w, "a run is refused now: %s\n", s.Warning)
	}
	for _, a := range s.Accounts {
		fmt.Fprintf(w, "\n%s: per %s%s, %s, filter %s, limit %s%s\n", a.Dataset, a.Unit, a.inSlice(), a.Relation, a.Filter,
			limitsOf(a.account), waiting(a.account))
		if len(a.Keeps) > 0 {
			fmt.Fprintf(w, "  neighbours keep %s: the account does not protect a change there\n", strings.Join(a.Keeps, ", "))
		}
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		if err := a.writeAmounts(t); err != nil {
			return err
		}
		fmt.Fprintln(w, "  plan and report say it of one job alone, by its exact noise, so it may be smaller there")
		if err := a.writeSlices(w); err != nil {
			return err
		}
		for _, text := range a.Series {
			fmt.Fprintf(w, "\n  %s\n", text)
		}
		if err := a.writeRecords(w); err != nil {
			return err
		}
		if err := writeSamples(w, a.Samples); err != nil {
			return err
		}
	}
	s.writeTogether(w)
	return nil
}

// mostRecords is the number of records of a kind that people are shown: an account takes one screen.
const mostRecords = 8

// latest returns the newest of all records. It prints how many stand before them.
func latest[T any](w io.Writer, indent, what string, all []T) []T {
	if more := len(all) - mostRecords; more > 0 {
		fmt.Fprintf(w, "%s%d earlier %s: see --json\n", indent, more, what)
		return all[more:]
	}
	return all
}

// writeRecords prints what was done to an account, and the newest debits. Steps of a series that
// cost nothing stand in one line.
func (a *shownAccount) writeRecords(w io.Writer) error {
	if len(a.Acts) > 0 {
		fmt.Fprintln(w)
	}
	writeActs(w, "  ", latest(w, "  ", "acts", a.Acts))
	if len(a.Spends) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	lines := latest(w, "  ", "debits", foldSteps(a.Spends))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  record\ttime\tby\tjob, releases\tstate\tcharged\t"+a.SlicesBy)
	for _, steps := range lines {
		first, d := steps[0], steps[len(steps)-1]
		record, slice := fmt.Sprint(d.Release), d.Slice
		if len(steps) > 1 {
			record = fmt.Sprintf("%d–%d", first.Release, d.Release)
			slice = fmt.Sprintf("%s to %s (%d)", first.Slice, d.Slice, len(steps))
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\tε %s, δ %s\t%s\n", record, moment(d.At), d.By, d.Job, d.State, rise(d.Epsilon),
			rise(d.Delta), slice)
		for i, r := range d.Charges {
			if i == mostRecords {
				fmt.Fprintf(t, "  \t\t\t  and %d more\t\t\t\n", len(d.Charges)-i)
				break
			}
			fmt.Fprintf(t, "  \t\t\t  %s\t\tε %s, δ %s on its own\t\n", r.Name, rise(r.Epsilon), rise(r.Delta))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if slices.ContainsFunc(a.Spends, func(d ledger.Spend) bool { return d.State == ledger.Debited || d.State == ledger.Abandoned }) {
		fmt.Fprintln(w, "  debited: at work now, or cut off before its releases were stored; abandoned: cut off, and run again since. "+
			"Both stay spent.")
	}
	return nil
}

// foldSteps puts debits of nothing that follow one another in one group, where job, person and state
// are the same. Every other debit is a group of its own.
func foldSteps(all []ledger.Spend) (groups [][]ledger.Spend) {
	free := func(d ledger.Spend) bool {
		return d.Epsilon == 0 && d.Delta == 0 && len(d.Charges) == 0 && d.Slice != ""
	}
	for i, d := range all {
		if i > 0 && free(d) && free(all[i-1]) && d.Job == all[i-1].Job && d.By == all[i-1].By && d.State == all[i-1].State {
			groups[len(groups)-1] = append(groups[len(groups)-1], d)
			continue
		}
		groups = append(groups, []ledger.Spend{d})
	}
	return groups
}

func writeActs(w io.Writer, indent string, acts []ledger.Act) {
	for _, a := range acts {
		fmt.Fprintf(w, "%s%s\n", indent, actText(a))
	}
}

// actText describes what somebody did, for people.
func actText(a ledger.Act) string {
	limit := a.Limit.String()
	if a.Life {
		limit += " for all slices together"
	}
	text := ""
	switch a.What {
	case "account":
		text = "opened the account with the limit " + limit
		if a.Lifetime != nil {
			text += ", and " + a.Lifetime.String() + " for all slices together"
		}
		if a.Two {
			text += ", which two persons raise"
		}
	case "limit":
		text = "lowered the limit to " + limit
		if a.Raised {
			text = "raised the limit to " + limit
		}
	case "propose":
		text = "asked a second person for the limit " + limit
		if a.EndRule {
			text = "asked a second person to let one person raise the limit"
		}
	case "approve":
		text = fmt.Sprintf("approved what record %d asks for", a.Proposal)
	case "rule":
		text = "made it a rule that two persons raise the limit"
	case "charge":
		text = "charged what was spent elsewhere, " + chargedText(a.Charged)
	case "close":
		text = "closed a panel"
	case "keeps":
		text = "let the account protect only neighbours that agree in " + strings.Join(a.Columns, ", ")
		if len(a.Columns) == 0 {
			text = "let the account protect all neighbours"
		}
	case "clock":
		text = "accepted the clock, and passed over times up to " + moment(a.Was)
	case "refuse":
		text = "refused the ledger for good"
		if a.Lifted {
			text = "let the ledger be used again"
		}
	case "answer":
		text = "asked whether data are the same, and was told so: job " + a.Job + ", data set " + a.Dataset
	}
	if a.Reason != "" {
		text += ": " + a.Reason
	}
	return fmt.Sprintf("record %d: at %s %s %s", a.Record, moment(a.At), a.By, text)
}

// chargedText lists the costs that a charge added, for people.
func chargedText(all []ledger.ActCharge) string {
	slices := 0
	for _, c := range all {
		slices += c.Slices
	}
	switch {
	case slices == 0 && len(all) == 1:
		return strings.Join(all[0].Cost, ", ")
	case len(all) == 1:
		return fmt.Sprintf("%s to each of %d slices", strings.Join(all[0].Cost, ", "), slices)
	}
	return fmt.Sprintf("to %d slices", slices)
}

// moment is a time of the chain without the parts of a second.
func moment(at string) string {
	if t := when(at); !t.IsZero() {
		return t.UTC().Format("2006-01-02 15:04:05Z")
	}
	return at
}

// rise prints a charged figure, rounded up (P17).
func rise(x float64) string {
	if r := new(big.Rat).SetFloat64(x); r != nil {
		return ledger.Up(r)
	}
	return strconv.FormatFloat(math.Inf(1), 'g', -1, 64)
}

// writeCSV prints one line for each debit, so that a column can be added up.
func (s *shownLedger) writeCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	lines := [][]string{{"record", "time", "by", "dataset", "unit", "relation", "job", "digest", "state", "releases", "epsilon",
		"delta", "slice"}}
	for _, a := range s.Accounts {
		for _, d := range a.Spends {
			var names []string
			for _, r := range d.Charges {
				names = append(names, r.Name)
			}
			line := []string{strconv.FormatInt(d.Release, 10), d.At, d.By, a.Dataset, a.Unit, a.Relation, d.Job, d.Digest, d.State,
				strings.Join(names, " "), number(d.Epsilon), number(d.Delta), d.Slice}
			for k, text := range line {
				line[k] = report.Cell(text)
			}
			lines = append(lines, line)
		}
	}
	return c.WriteAll(lines)
}

func when(at string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return time.Time{}
	}
	return t
}

// warningOf returns the text of a refusal by the ledger, and any other error as it is.
func warningOf(err error) (string, error) {
	var known *ledger.Error
	if errors.As(err, &known) && known.Code == ledger.CodeRolledBack {
		return known.Code + ": " + known.Message, nil
	}
	return "", err
}
