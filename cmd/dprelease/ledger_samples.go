package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy/rational"
)

// shownSample is a kept sample for people and programs: never its rows (P19).
type shownSample struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Record   int64           `json:"record"` // of the debit of the job that drew it
	Stored   bool            `json:"stored"`
	Jobs     int64           `json:"jobs"`
	Event    json.RawMessage `json:"event"` // the design; its inner event does not matter
	Spent    shownPoint      `json:"spent_on_sample"`
	Charged  shownPoint      `json:"charged"`
	snapshot *ledger.Node
}

type shownPoint struct {
	Epsilon string `json:"epsilon"` // exact
	Delta   string `json:"delta"`
}

func showSample(s *ledger.Node) shownSample {
	show := func(l ledger.Limit) shownPoint {
		return shownPoint{rational.Format(l.Epsilon), rational.Format(l.Delta)}
	}
	return shownSample{ID: s.ID, Name: s.Name, Record: s.Debit, Stored: s.Open, Jobs: s.Uses, Event: json.RawMessage(s.Event),
		Spent: show(s.Spent), Charged: show(s.Charged), snapshot: s}
}

// writeSamples prints the kept samples of an account.
func writeSamples(w io.Writer, all []shownSample) error {
	if len(all) == 0 {
		return nil
	}
	for _, s := range all {
		if k := s.snapshot; k.Kind == ledger.KindPanel {
			end := ""
			if !s.Stored {
				end = "; it is closed"
			}
			fmt.Fprintf(w, "\n  panel %s: waves %s were released or tried; record %d paid ε %s, δ %s for all waves%s\n",
				cmp.Or(k.Name, "without a name"), strings.Trim(fmt.Sprint(k.Done), "[]"), s.Record, ledger.Up(k.Charged.Epsilon),
				ledger.Up(k.Charged.Delta), end)
		}
	}
	all = slices.DeleteFunc(slices.Clone(all), func(s shownSample) bool { return s.snapshot.Kind == ledger.KindPanel })
	if len(all) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\n  kept sample\tname\tdrawn by\tjobs\tspent on the sample\tcharged for it in all\t")
	for _, s := range all {
		note := ""
		if !s.Stored {
			note = "never stored"
		}
		point := func(l ledger.Limit) string { return "ε " + ledger.Up(l.Epsilon) + ", δ " + ledger.Up(l.Delta) }
		fmt.Fprintf(t, "  %s\t%s\trecord %d\t%d\t%s\t%s\t%s\n", s.ID, s.Name, s.Record, s.Jobs, point(s.snapshot.Spent),
			point(s.snapshot.Charged), note)
	}
	return t.Flush()
}
