package plan

import (
	"fmt"
	"os"
	"strings"

	"github.com/dprelease/dprelease/internal/failure"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/samplers"
)

// frameError is something wrong with the public frame.
type frameError struct{ path, message, hint string }

func (e frameError) Error() string { return e.message }

// Framed is a design that draws units of a public frame.
type Framed interface {
	samplers.Design
	Frame() *samplers.Frame
}

// newFramed makes a multistage or stratified design over the job's frame. The
// frame is public (P5): reading it reads no private data.
func newFramed(j *job.Job, s job.Sample) (samplers.Design, error) {
	switch {
	case s.Method == job.Multistage:
		return newMultistage(j, s)
	case len(s.Rates) > 0:
		return newStrataRates(s)
	case s.Method == job.Stratified:
		return newStrataTakes(j, s)
	}
	return nil, fmt.Errorf("method: %s is not a sampling method", s.Method)
}

func newMultistage(j *job.Job, s job.Sample) (samplers.Design, error) {
	var columns []string
	stages := make([]samplers.Stage, len(s.Stages))
	for i, st := range s.Stages {
		stages[i] = samplers.Stage{Unit: st.Unit, Take: st.Take.Count, All: st.Take.All, AtMost: st.Short == job.ShortAll}
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
		units[i] = samplers.Unit{Key: []string{r.Stratum}}
		var err error
		if rates[i], err = samplers.ParseRate(r.Rate.RatString()); err != nil {
			return nil, fmt.Errorf("rates: %s: %w", r.Stratum, err)
		}
	}
	f, err := samplers.NewFrame([]string{s.Strata}, units)
	if err != nil {
		return nil, err
	}
	return samplers.NewStratifiedPoisson(f, rates)
}

func newStrataTakes(j *job.Job, s job.Sample) (samplers.Design, error) {
	f, err := readFrame(j, []string{s.Strata})
	if err != nil {
		return nil, err
	}
	takes := make([]int64, f.Len())
	for _, t := range s.Takes {
		u := f.UnitOf(t.Stratum)
		if u < 0 {
			return nil, fmt.Errorf("take: stratum %q is not in the frame", t.Stratum)
		}
		takes[u] = t.Take.Count
		if t.Take.All {
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
	f, err := os.Open(d.Frame.Path)
	if err != nil {
		return nil, frameError{path: ".path", message: "cannot be read: " + failure.Reason(err)}
	}
	defer f.Close()
	frame, err := samplers.ReadFrame(f, columns, d.Frame.Records)
	if err != nil {
		return nil, frameError{message: strings.TrimPrefix(err.Error(), "frame: ")}
	}
	if d.Size > 0 && frame.Records() != d.Size {
		return nil, frameError{message: fmt.Sprintf("its units have %d records together, and dataset.size is %d", frame.Records(), d.Size)}
	}
	return frame, nil
}
