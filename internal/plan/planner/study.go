package planner

import (
	"context"
	"fmt"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/say/problem"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/report"
)

// Pricer plans a job without data.
type Pricer func(ctx context.Context, j *job.Job) (report.Report, error)

// Settings are the inputs of a study beside the job.
type Settings struct {
	Price Pricer
	// Mechanisms can be simulated; others only where their noise is public.
	Mechanisms map[string]sdk.Mechanism
	// Release is the name of the release to study; "" the first one from a sample,
	// else the first.
	Release string
	// Repetitions of each simulation; 0 stands for 400.
	Repetitions int
	// Seed of the simulations.
	Seed uint64
	// Progress is told how many of how many steps are done; may be nil.
	Progress func(done, total int)

	_ struct{}
}

// Study begins each answer of the planner.
type Study struct {
	Version     int      `json:"version"`
	Kind        string   `json:"kind"` // "sweep", "solution" or "comparison"
	Job         string   `json:"job"`
	Release     string   `json:"release"`
	Mechanism   string   `json:"mechanism"`
	Assumptions []string `json:"assumptions"`
	Simulated   int      `json:"repetitions,omitempty"`
}

func (u *subject) study(kind string) Study {
	return Study{Version: 1, Kind: kind, Job: u.job.Name, Release: u.release.Name,
		Mechanism: u.release.Mechanism, Assumptions: u.assumptions()}
}

// begin reports that a step of the study begins. A simulation in the step reports its
// populations.
func (u *subject) begin(step, steps int) {
	u.step, u.steps = step, steps
	u.simulated(0)
}

// simulated reports how many populations of a step are done. A step may simulate twice,
// once for the full table; only the first time moves the count.
func (u *subject) simulated(population int) {
	if done := u.step*populations + population; u.s.Progress != nil && u.steps > 0 && done >= u.told {
		u.told = done
		u.s.Progress(done, u.steps*populations)
	}
}

// Axis names the quantity that a sweep varies. The zero value is invalid.
type Axis string

const (
	// Rate is the sampling rate.
	Rate Axis = "rate"
	// Size is the size of the sample, at the same population.
	Size Axis = "n"
	// Epsilon is the target on the population, Rho the same in ρ.
	Epsilon Axis = "epsilon"
	Rho     Axis = "rho"
	// Budget is the ε, or ρ, of budget.spend.
	Budget Axis = "budget"
)

// ParseAxis reads the name of an axis.
func ParseAxis(s string) (Axis, error) {
	switch a := Axis(s); a {
	case Rate, Size, Epsilon:
		return a, nil
	}
	return "", fmt.Errorf("sweep: must be rate, epsilon or n, not %q%s", s, meant(s, string(Rate), string(Epsilon), string(Size)))
}

// meant ends an error with the word that was probably meant, if there is one.
func meant(word string, known ...string) string {
	if near := problem.NearestWord(word, known); near != "" {
		return " (did you mean " + near + "?)"
	}
	return ""
}

// Accuracy is the error to expect, in the units of the released value. A part that
// is not known is 0 and named in Unknown.
type Accuracy struct {
	NoiseSD float64 `json:"noise_sd,omitempty"`
	// Noise95 is half of an interval that holds the noise alone in 95 of 100 cases.
	Noise95    float64 `json:"noise_95,omitempty"`
	SamplingSD float64 `json:"sampling_sd,omitempty"`
	// Total is the root of the mean squared error.
	Total float64 `json:"total_error,omitempty"`
	// Relative is Total over the assumed mean, or over the simulated true value.
	Relative float64 `json:"relative_error,omitempty"`
	// Margin is the margin of error: half of an interval for the population's value that
	// holds in 95 of 100 cases.
	Margin float64 `json:"margin_95,omitempty"`
	// MonteCarlo is the standard error of Total, where it was simulated.
	MonteCarlo float64 `json:"monte_carlo_se,omitempty"`
	Unknown    string  `json:"unknown,omitempty"`

	each []float64 // mean squared error of each simulated population
}

// Point is one plan.
type Point struct {
	X      float64       `json:"x,omitempty"` // on the axis
	Design string        `json:"design"`
	Rate   float64       `json:"rate,omitempty"`
	Size   int64         `json:"n,omitempty"`
	Target privacy.Point `json:"target"`
	// Sample is the budget of the release on the sample.
	Sample     privacy.Point `json:"sample_budget"`
	Efficiency float64       `json:"efficiency,omitempty"`
	Accuracy
	// HalfKept is the number of units with which a key is kept one time in two.
	HalfKept int64 `json:"half_kept,omitempty"`
	// Full is the accuracy of the whole table at the same target.
	Full Accuracy `json:"full_table,omitzero"`
	// Refused says why there is no such plan.
	Refused string `json:"refused,omitempty"`
}

// Verdict says whether sampling helps.
type Verdict struct {
	// Kind is "gain", "loss", "never", "undecided" or "unknown".
	Kind   string `json:"kind"`
	Reason string `json:"reason"`
}

// Sweep is a row of plans.
type Sweep struct {
	Study
	Axis   Axis    `json:"axis"`
	Points []Point `json:"points"`
	// Best is the index of the point with the smallest error, -1 where no error is
	// known.
	Best    int     `json:"best"`
	Verdict Verdict `json:"verdict"`
}
