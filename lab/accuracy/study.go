package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
	"github.com/dprelease/dprelease/lab/measure"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/plugins/sgd"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
)

// study is one job's regression.
type study struct {
	title   string
	request sdk.PlanRequest
	table   sdktest.Table
	model   model
	free    float64 // loss of the fit without privacy
	null    float64 // loss of the best model without features
	points  []point
	reads   int64 // the number of records that all steps take, if that is fixed
}

// point holds the measurements at one epsilon.
type point struct {
	epsilon, multiplier float64
	low, median, high   float64 // loss: a tenth of the releases lie below low, a tenth above high
}

// params holds the mechanism's parameters that the study uses.
type params struct {
	Model, Target string
	Features, Log []string
}

// newStudy makes a study of the first release of a job, or of the one that is named after
// a # in the path.
func newStudy(name string) (*study, error) {
	path, release, _ := strings.Cut(name, "#")
	j, err := language.Read(path, language.Options{})
	if err != nil {
		return nil, err
	}
	at := 0
	if release != "" {
		if at = slices.IndexFunc(j.Releases, func(r job.Release) bool { return r.Name == release }); at < 0 {
			return nil, fmt.Errorf("%s has no release %s", path, release)
		}
	}
	r := j.Releases[at]
	s := &study{title: r.Name, request: sdk.PlanRequest{
		Params: r.Params,
		Public: measure.Full(j.Dataset.Relation, j.Dataset.Size),
		Target: privacy.Point{Delta: rational.Down(r.Guarantee.Delta)},
	}}
	for _, c := range j.Dataset.Columns {
		col := measure.Category(c.Name, c.Domain...)
		if c.Type == job.Number {
			col = measure.Number(c.Name, rational.Up(c.Lower), rational.Down(c.Upper))
		}
		s.request.Public.Columns = append(s.request.Public.Columns, col)
	}
	source := strings.TrimSuffix(j.Dataset.Source.Path, ".parquet") + ".csv"
	if s.table, err = measure.ReadCSV(source, s.request.Public.Columns); err != nil {
		return nil, err
	}
	var p params
	if err := json.Unmarshal(r.Params, &p); err != nil {
		return nil, err
	}
	if s.model, err = newModel(p, s.request.Public, s.table); err != nil {
		return nil, err
	}
	w, err := s.model.fit()
	if err != nil {
		return nil, err
	}
	s.free, s.null = s.model.loss(w), s.model.nullLoss()
	return s, nil
}

// reads returns the number of records that all steps of a last iterate take, and 0 for other events.
func reads(e privacy.Event) int64 {
	l, ok := e.(privacy.LastIterate)
	if !ok {
		return 0
	}
	return l.N * l.Calls() / l.Batches()
}

// measure releases the model many times at one epsilon.
func (s *study) measure(eps float64, runs int) error {
	req := s.request
	req.Target.Epsilon = eps
	plan, err := sgd.Mechanism{}.Plan(req)
	if err != nil {
		return err
	}
	s.reads = reads(plan.Event)
	losses := make([]float64, runs)
	p := point{epsilon: eps}
	for i := range losses {
		out, err := sdktest.InProcess(sgd.Mechanism{}).Release(context.Background(), req, plan, s.table, newSimulated(uint64(i), s.table.Rows))
		if err != nil {
			return err
		}
		w := make([]float64, 0, len(s.model.names))
		for k, name := range out.Result.Columns[1].Texts {
			switch v := out.Result.Columns[2].Float64[k]; {
			case out.Result.Columns[0].Texts[k] == "coefficient":
				w = append(w, v)
			case name == "noise_multiplier", name == "noise_sd":
				p.multiplier = v
			}
		}
		losses[i] = s.model.loss(w)
	}
	slices.Sort(losses)
	p.low, p.median, p.high = losses[runs/10], losses[runs/2], losses[runs-1-runs/10]
	s.points = append(s.points, p)
	return nil
}
