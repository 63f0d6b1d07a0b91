package planned

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/samplers"
)

// FrameError is a fault of the public frame.
type FrameError struct{ Path, Message, Hint string }

// Error is the message.
func (e FrameError) Error() string { return e.Message }

// newFramed makes a multistage or stratified design over the job's frame. The
// frame is public (P5): reading it reads no private data.
func newFramed(j *job.Job, s job.Sample) (samplers.Design, error) {
	switch {
	case s.Method == job.Multistage:
		return newMultistage(j, s)
	case len(s.Rates) > 0:
		return newStrataRates(s)
	case s.BySize != nil:
		return newRatesBySize(j, s)
	case s.Method == job.Stratified:
		f, err := readFrame(j, []string{s.Strata})
		if err != nil {
			return nil, err
		}
		return newTakes(f, s.Takes)
	}
	return nil, fmt.Errorf("method: %s is not a sampling method", s.Method)
}

func newMultistage(j *job.Job, s job.Sample) (samplers.Design, error) {
	var columns []string
	stages := make([]samplers.Stage, len(s.Stages))
	for i, st := range s.Stages {
		stages[i] = samplers.Stage{Unit: st.Unit, Take: st.Take.Count, All: st.Take.All, AtMost: st.IfFewer == job.FewerAll}
		if st.Unit != "" {
			columns = append(columns, st.Unit)
		}
	}
	f, err := readFrame(j, columns)
	if err != nil {
		return nil, err
	}
	return samplers.NewMultistage(f, stages)
}

// newStrataRates needs no sizes: the strata are those that have a rate.
func newStrataRates(s job.Sample) (samplers.Design, error) {
	units := make([]samplers.Unit, len(s.Rates))
	rates := make([]samplers.Rate, len(s.Rates))
	for i, r := range s.Rates {
		units[i] = samplers.Unit{Key: []string{r.Name}}
		var err error
		if rates[i], err = samplers.ParseRate(r.Value.RatString()); err != nil {
			return nil, fmt.Errorf("rates: %s: %w", r.Name, err)
		}
	}
	f, err := samplers.NewFrame([]string{s.Strata}, units)
	if err != nil {
		return nil, err
	}
	return samplers.NewStratifiedPoisson(f, rates)
}

// rateSteps is the number of steps between 0 and 1. Rates by size are rounded to these steps.
const rateSteps = 1 << 32

// newRatesBySize gives each unit of the frame a rate in proportion to its public size, rounded
// to a public step: every unit is a stratum of its own, and the largest rate is charged (P3).
// A row in no unit is never drawn.
func newRatesBySize(j *job.Job, s job.Sample) (samplers.Design, error) {
	sized, err := readFrame(j, []string{s.Strata})
	if err != nil {
		return nil, err
	}
	total := sized.Records()
	if total < 1 {
		return nil, FrameError{Message: "its units have no size"}
	}
	each := new(big.Rat).Quo(s.BySize.Expected, new(big.Rat).SetInt64(total))
	units, rates := make([]samplers.Unit, sized.Len()), make([]samplers.Rate, sized.Len())
	for i := range units {
		u := sized.Unit(int32(i))
		if u.Records < 1 {
			text := strings.Join(u.Key, " ") + " has no size, so its rows would never be drawn, and no weight could make up for that"
			return nil, FrameError{Message: text, Hint: "leave it out of the frame, or give it a size of at least 1"}
		}
		units[i] = samplers.Unit{Key: u.Key}
		rate := new(big.Rat).Mul(each, new(big.Rat).SetInt64(u.Records))
		if rate.Cmp(s.BySize.Most) > 0 {
			rate = s.BySize.Most
		}
		steps := new(big.Rat).Mul(rate, big.NewRat(rateSteps, 1))
		whole := max(1, new(big.Int).Quo(steps.Num(), steps.Denom()).Int64())
		if rates[i], err = samplers.ParseRate(big.NewRat(whole, rateSteps).RatString()); err != nil {
			return nil, err
		}
	}
	f, err := samplers.NewFrame([]string{s.Strata}, units)
	if err != nil {
		return nil, err
	}
	return samplers.NewStratifiedPoisson(f, rates)
}

// newTakes draws a number of each stratum of a frame.
func newTakes(f *samplers.Frame, all []job.Named[job.Take]) (samplers.Design, error) {
	takes := make([]int64, f.Len())
	for _, t := range all {
		u := f.UnitOf(t.Name)
		if u < 0 {
			return nil, fmt.Errorf("take: stratum %q is not in the frame", t.Name)
		}
		takes[u] = t.Value.Count
		if t.Value.All {
			takes[u] = f.Unit(u).Records
		}
	}
	return samplers.NewStratifiedTake(f, takes)
}

func readFrame(j *job.Job, columns []string) (*samplers.Frame, error) {
	d := j.Dataset
	if d.Frame == nil {
		return nil, fmt.Errorf("needs dataset.frame, the public list of units")
	}
	f, err := file.Bounded(d.Frame.Path, samplers.MaxFrame)
	if err != nil {
		return nil, FrameError{Path: ".path", Message: "cannot be read: " + failure.Reason(err)}
	}
	defer f.Close()
	frame, err := samplers.ReadFrame(f, columns, d.Frame.Records)
	if err != nil {
		return nil, FrameError{Message: strings.TrimPrefix(err.Error(), "frame: ")}
	}
	if d.Size > 0 && frame.Records() != d.Size && d.Collected == nil {
		return nil, FrameError{Message: fmt.Sprintf("the records of its units do not add up to dataset.size, %d", d.Size)}
	}
	return frame, nil
}
