package planned

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/dprelease/dprelease/internal/calculus/series"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/periods"
)

// Series is a release as part of a series: a matrix of whole numbers, and the noise that each run adds to
// each noise call of the mechanism.
//
// # Contract
//
// Run t releases Σ C_ts·x_s and fresh noise, x_s the vectors of the mechanism for slice s. The noise is discrete
// Gaussian, and prices are in ρ; or it is discrete Laplace noise, and prices are in ε. The prices are those at which the
// ledger debits the series: each is computed from the whole numbers of the matrix and from the parameters of the noise that is
// drawn. Proof: series.proof.md. // P31
type Series struct {
	*periods.Prices
	Spec     *job.Series
	Matrix   series.Matrix
	Calls    []privacy.Event // what a run draws
	Question series.Question
	Capped   bool // no unit counts in more periods than the job says
}

// Bill writes the release down as the ledger prices it.
func (s *Series) Bill() periods.Series {
	u := s.Question.Units
	out := periods.Series{Calls: s.Calls, AtMost: u.AtMost, Apart: u.Apart, Revised: u.Revised, Capped: s.Capped}
	for t := range s.Matrix.Periods() {
		out.Matrix = append(out.Matrix, s.Matrix.Run(t))
	}
	return out
}

// UnitsIn are the units that the guarantee of a series covers.
func UnitsIn(s *job.Series) series.Units {
	u := series.Units{AtMost: 1, Apart: 1, Revised: s.Revised == job.RevisedAccept}
	if s.Unit != nil {
		u.AtMost, u.Apart = int(s.Unit.AtMost), int(s.Unit.Apart)
	}
	return u
}

// Step is one step of all releases of a job, which share their periods.
type Step struct {
	At      int
	Periods []string
	Plans   []string // of the steps, as the ledger names them
	Alike   bool     // slices may hold the same rows: a unit that is in several of them is paid for in all in which it counts
}

// StepOf returns the step of a job's series: nil where the job has none.
func StepOf(j *job.Job) *Step {
	at, ok := j.Step()
	if !ok {
		return nil
	}
	s := &Step{At: at, Periods: j.Series[0].Periods.All()}
	for _, p := range s.Periods {
		sum := sha256.Sum256([]byte("dprelease series step 1\n" + j.SeriesDigest() + "\n" + p))
		s.Plans = append(s.Plans, hex.EncodeToString(sum[:]))
	}
	u := UnitsIn(&j.Series[0])
	s.Alike = j.CapsPeriods() || u.AtMost >= len(s.Periods) && u.Apart == 1
	return s
}

// Parts are the slices of the series, in the words of the ledger.
func (s *Step) Parts() (out []ledger.Part) {
	for i, period := range s.Periods {
		out = append(out, ledger.Part{Is: period, Plan: s.Plans[i]})
	}
	return out
}

// RowOf is a published row in the terms of the matrix.
func RowOf(s job.SeriesStretch, weight float64) series.Row {
	r := series.Row{Kind: s.Row.String(), Period: s.Last, Weight: weight}
	if s.Less >= 0 {
		r.Terms = append(r.Terms, series.Term{Period: s.Less, Factor: -1})
	}
	for p := s.First; p <= s.Last; p++ {
		r.Terms = append(r.Terms, series.Term{Period: p, Factor: 1})
	}
	return r
}

// Stretches are all published rows of a series, kind by kind.
func (s *Series) Stretches() (out []job.SeriesStretch) {
	for _, r := range s.Spec.Publish {
		out = append(out, s.Spec.Periods.Stretches(r)...)
	}
	return out
}

// The columns of a release of a series that every mechanism has.
const (
	PeriodField = "period"
	KindField   = "kind"
)

// Replaced reports whether value, sd, low and high stand in the place of a mechanism's column, or it looks at the figures of one
// period alone.
func Replaced(column string) bool {
	return slices.Contains([]string{"estimate", "noise_sd", "interval_low", "interval_high", "consistent", "noise_low", "noise_high"}, column)
}
