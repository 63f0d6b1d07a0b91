package plan

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/periods"
)

// SeriesSetup is all that later steps of a series need to know of how it began. It is public. The ledger keeps it
// with the debit that paid for the series.
type SeriesSetup struct {
	Job      string        `json:"job"`
	Periods  []string      `json:"periods"`
	AtMost   int           `json:"at_most"`
	Apart    int           `json:"apart"`
	Revised  bool          `json:"revised,omitempty"`
	Held     Held          `json:"held,omitempty"`
	Releases []SeriesStart `json:"releases"`
	// Costs are the costs of a unit that is in one period, in AtMost periods, and in all; exact, or rounded up. They are in ε
	// where Pure, else in ρ.
	Costs [3]string `json:"costs"`
	Pure  bool      `json:"pure,omitempty"`
}

// Held names the reason why a unit stays within the periods that the guarantee of a series covers.
type Held string

// What holds a unit. The zero value is the job's word alone.
const (
	HeldByCap Held = "cap" // a run counts it in its first periods alone
	HeldByRow Held = "row" // it is a row, which is in one period
)

// heldBy returns what holds the units of a job with a series.
func heldBy(j *job.Job) Held {
	switch {
	case j.CapsPeriods():
		return HeldByCap
	case j.Dataset.Key.Column == "" && j.Dataset.Unit == job.UnitRow:
		return HeldByRow
	}
	return ""
}

// Text says in a sentence what a unit costs in one period, in as many as the guarantee covers, and in all, without its full stop.
func (s *SeriesSetup) Text() string {
	unit := symbolOf(s.Pure)
	text := fmt.Sprintf("the series of %s from %s to %s costs a unit that is in one period %s %s", s.Job, s.Periods[0],
		s.Periods[len(s.Periods)-1], unit, s.Costs[0])
	within := "one period"
	if s.AtMost > 1 {
		within = fmt.Sprintf("%d periods", s.AtMost)
		if s.Apart > 1 {
			within += fmt.Sprintf(" at least %d apart", s.Apart)
		}
	}
	all := len(s.Periods)
	switch {
	case s.Held == HeldByCap:
		text += fmt.Sprintf(", and in any number of them %s %s: it counts in its first %s, and its rows in others are left out", unit,
			s.Costs[1], strings.TrimPrefix(within, "one "))
	case s.AtMost > 1:
		text += fmt.Sprintf(", in up to %s %s %s, and in all %d of them %s %s", within, unit, s.Costs[1], all, unit, s.Costs[2])
	default:
		text += fmt.Sprintf(", and in all %d of them %s %s", all, unit, s.Costs[2])
	}
	text += "; its first step paid for every period"
	if s.Held == "" && s.AtMost < all {
		text += fmt.Sprintf("; nothing checks that a unit is in no more than %s", within)
	}
	if s.Revised {
		text += "; slices may change after they were measured: late and corrected rows count in part, from then on, " +
			"and the intervals leave that out"
	}
	return text
}

// ReadSeriesSetup reads what the ledger keeps of how a series began.
func ReadSeriesSetup(text []byte) (*SeriesSetup, error) {
	out := &SeriesSetup{}
	if err := json.Unmarshal(text, out); err != nil || len(out.Periods) == 0 {
		return nil, failure.New(failure.ExitLedger, ledger.CodeTampered, "what the ledger says of how the series began cannot be read")
	}
	return out, nil
}

// SeriesStart is the beginning of one release of a series.
type SeriesStart struct {
	Name   string          `json:"name"`
	Target privacy.Point   `json:"target"` // what its mechanism was asked to spend
	Event  json.RawMessage `json:"event"`  // what the mechanism planned for one period alone
	Method string          `json:"method"` // how the matrix was found

	matrix [][]int64 // row t: the factors of periods 0 to t in run t
	sizes  []float64 // of the noise of a run, for each noise call of the mechanism: σ, or the scale of Laplace noise
}

// begun returns the setup of a series that an earlier run began, nil where this run begins it. Matrices and noise are those that
// were debited. // P38
func begun(ctx context.Context, j *job.Job, past Past) (*SeriesSetup, error) {
	if len(j.Series) == 0 {
		return nil, nil
	}
	n, err := past.Node(ctx, j, planned.StepOf(j).Plans[0])
	if err != nil || n == nil {
		return nil, err
	}
	out, err := ReadSeriesSetup([]byte(n.Facts))
	if err != nil {
		return nil, err
	}
	measured, err := periods.Read(n.Event)
	if err != nil || len(measured) != len(out.Releases) {
		return nil, failure.New(failure.ExitLedger, ledger.CodeTampered, "what the ledger says that the series measures cannot be read")
	}
	for i, m := range measured {
		start := &out.Releases[i]
		start.matrix = m.Matrix
		for _, c := range m.Calls {
			start.sizes = append(start.sizes, planned.SizeOf(c))
		}
	}
	return out, nil
}
