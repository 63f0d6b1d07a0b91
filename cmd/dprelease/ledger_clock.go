package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/dprelease/dprelease/ledger"
)

func (e *environment) ledgerClock() *cobra.Command {
	var accept bool
	var reason string
	c := &cobra.Command{
		Use:   "clock [LEDGER] [--accept --reason TEXT]",
		Short: "Compare the clock with the records, and accept one that is behind them",
		Long: `clock compares the clock (that of the machine, or of the PostgreSQL server) with the
time of the newest record. After a record that was written while a clock was ahead, none can
be written before its time. Once the clock is right, --accept passes over such times; the
chain records who accepted it and why.
` + whichLedger,
		Example: `  dprelease ledger clock job.yaml
  dprelease ledger clock job.yaml --accept --reason "the time server was a year ahead, ticket 4711"`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if !accept && (c.Flags().Changed("reason") || c.Flags().Changed("by")) {
				return errors.New("--reason and --by go with --accept")
			}
			if accept {
				if err := needReason(&reason); err != nil {
					return err
				}
			}
			return e.withLedger(c.Context(), args, ledger.Options{ReadOnly: !accept}, func(l *ledger.Ledger) error {
				if !accept {
					return e.clock(c.Context(), l)
				}
				act, err := l.AcceptClock(c.Context(), reason)
				if err != nil {
					return err
				}
				return e.Say(act, "%s\n", actText(act))
			})
		},
	}
	c.Flags().BoolVar(&accept, "accept", false, "record that the clock is right, and that times after it are passed over")
	c.Flags().StringVar(&reason, "reason", "", "why; it is recorded")
	e.byFlag(c)
	e.OutputFlags(c, "print JSON")
	return c
}

// shownClock is the answer of ledger clock.
type shownClock struct {
	Ledger string       `json:"ledger"`
	Now    string       `json:"now"`
	Newest string       `json:"newest"`
	Record int64        `json:"record"`
	Kind   string       `json:"kind"`
	Ahead  int64        `json:"ahead"` // the first record with a time after now, 0 for none
	Behind float64      `json:"behind_seconds"`
	Acts   []ledger.Act `json:"acts"` // by which clocks were accepted

	address ledger.Address
}

func (e *environment) clock(ctx context.Context, l *ledger.Ledger) error {
	k, err := l.Clock(ctx)
	if err != nil {
		return err
	}
	acts, err := l.Acts(ctx)
	if err != nil {
		return err
	}
	acts = slices.DeleteFunc(acts, func(a ledger.Act) bool { return a.What != "clock" })
	return e.Print(&shownClock{Ledger: l.ID(), Now: k.Now.Format(time.RFC3339Nano), Newest: k.Newest.Format(time.RFC3339Nano),
		Record: k.Record, Kind: k.Kind, Ahead: k.Ahead, Behind: k.Behind().Seconds(), Acts: append([]ledger.Act{}, acts...),
		address: l.Address()})
}

// WriteText prints the clock, and what to do where it is behind.
func (s *shownClock) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "ledger %s at %s\n", s.Ledger, s.address)
	fmt.Fprintf(w, "newest record  %d (%s), of %s\n", s.Record, s.Kind, moment(s.Newest))
	fmt.Fprintf(w, "clock          %s\n", moment(s.Now))
	writeActs(w, "", s.Acts)
	if s.Behind == 0 {
		fmt.Fprintln(w, "the clock is not behind the newest record: there is nothing to accept")
		return nil
	}
	which := fmt.Sprintf("records %d to %d have times", s.Ahead, s.Record)
	if s.Ahead == s.Record {
		which = fmt.Sprintf("record %d has a time", s.Record)
	}
	fmt.Fprintf(w, "%s after that of the clock: nothing can be spent before %s\n", which, moment(s.Newest))
	fmt.Fprintln(w, "if the clock is wrong, set it right; if it is right by now, give this command again with --accept --reason TEXT")
	return nil
}
