package finish

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/internal/rows/formula"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// Read reads the declared queries of a completed plan, and compares the noise of its event with what they need.
//
// # Contract
//
// The noise of call k is for the sensitivity of query k, as NewQueries finds it. Proof: query.proof.md. // P38, P39
func Read(plan sdk.Plan, params []byte, public sdk.Public) (*Queries, error) {
	by, _, err := sdk.PlanRequest{Params: params}.Ungrouped()
	if err != nil {
		return nil, err
	}
	q, err := NewQueries(plan, public, by, 1) // every lattice is chosen
	if err != nil {
		return nil, err
	}
	if !sdk.Chosen(plan.Event, q.Claims) || !slices.Equal(q.Columns, plan.Columns) {
		return nil, errOther
	}
	return q, nil
}

var errOther = errors.New("plan: its noise is not that of its queries")

// Complete makes the plan of a release out of the plan with queries that a mechanism made for one group: the columns
// that are read, the groups, the lattices, the noise, and the errors that follow. It sees no data.
func Complete(plan sdk.Plan, req sdk.PlanRequest) (sdk.Plan, error) {
	if plan.Event != nil || plan.Columns != nil {
		return plan, errors.New("plan: a plan with queries has neither columns nor an event: the host finds both")
	}
	by, _, err := req.Ungrouped()
	if err != nil {
		return plan, err
	}
	for k, n := range plan.Finish.Noise {
		size := int64(len(plan.Queries[k].Coordinates))
		for _, s := range plan.Queries[k].Cells {
			size *= max(s.Count, int64(len(s.Texts)))
		}
		if n.Length(plan.Rows) != size || n.Units != nil {
			return plan, fmt.Errorf("plan: query %d makes %d sums, and the columns of finish.noise take %d; units are the host's",
				k+1, size, n.Length(plan.Rows))
		}
	}
	q, err := NewQueries(plan, req.Public, by, req.Target.Epsilon)
	if err != nil {
		return plan, err
	}
	plan.Columns = q.Columns
	if plan.Event, err = sdk.ChooseNoise(plan.Noise, q.Claims, req); err != nil {
		return plan, err
	}
	if by != "" {
		if plan, err = grouped(plan, by, q.declared[0].Domain); err != nil {
			return plan, err
		}
	}
	if d := req.Public.Design; d.EqualWeights {
		q.units.scale = d.MaxWeight
	}
	finish := *plan.Finish
	plan.Queries, finish.Noise = q.chosen(plan)
	finish.Constants = append(slices.Clone(finish.Constants), deviations(plan.Event, &finish)...)
	plan.Finish = &finish
	plan.Errors = append(slices.Clone(plan.Errors), q.errors(plan)...)
	return plan, nil
}

// mostResult bounds the rows of a result, as the protocol does.
const mostResult = 10_000_000

// grouped repeats the result of a plan for each group, and puts the groups before it.
func grouped(plan sdk.Plan, by string, groups []string) (sdk.Plan, error) {
	if int64(len(groups)) > mostResult/max(1, plan.Rows) {
		return plan, &Refusal{"by: the groups make too many rows"}
	}
	f := &sdk.Finish{Noise: slices.Clone(plan.Finish.Noise)}
	name := "group"
	for slices.ContainsFunc(columnsOf(plan.Finish), func(c formula.Column) bool { return c.Name == name }) {
		name += "_"
	}
	labels := sdk.Constant{Name: name}
	for _, g := range groups {
		labels.Texts = append(labels.Texts, slices.Repeat([]string{g}, int(plan.Rows))...)
	}
	f.Constants = []sdk.Constant{labels}
	for _, c := range plan.Finish.Constants {
		if int64(max(len(c.Numbers), len(c.Texts))) == plan.Rows && plan.Rows > 1 {
			c.Numbers, c.Texts = slices.Repeat(c.Numbers, len(groups)), slices.Repeat(c.Texts, len(groups))
		}
		f.Constants = append(f.Constants, c)
	}
	if slices.ContainsFunc(plan.Output, func(o sdk.Field) bool { return o.Name == by }) {
		return plan, &Refusal{fmt.Sprintf("by: a column of the release is named %q too; rename the column of the table", by)}
	}
	plan.Output = append([]sdk.Field{{Name: by, Type: sdk.String, Doc: "group", Value: name, Texts: distinct(groups)}}, plan.Output...)
	plan.Rows, plan.Finish = plan.Rows*int64(len(groups)), f
	return plan, nil
}

// chosen are the queries of a plan with their lattices, and the columns of its finish with the units of the noisy sums.
func (q *Queries) chosen(plan sdk.Plan) (queries []sdk.Query, noise []sdk.NoiseColumns) {
	queries, noise = slices.Clone(plan.Queries), slices.Clone(plan.Finish.Noise)
	for k, own := range q.all {
		queries[k].Coordinates = slices.Clone(queries[k].Coordinates)
		for i, c := range own.coordinates {
			queries[k].Coordinates[i].Lattice = c.Lattice
			if noise[k].Quantiles == nil {
				noise[k].Units = append(noise[k].Units, c.Lattice*q.units.scale/float64(q.units.times))
			}
		}
	}
	return queries, noise
}

// deviations are further columns of a finish: of a noisy sum that is called n, n_sd is the standard deviation of its noise.
func deviations(e privacy.Event, f *sdk.Finish) (out []sdk.Constant) {
	columns := columnsOf(f)
	for k, call := range sdk.NoisesOf(e) {
		for i, unit := range f.Noise[k].Units {
			name := f.Noise[k].Columns[i] + "_sd"
			if !slices.ContainsFunc(columns, func(c formula.Column) bool { return c.Name == name }) {
				out = append(out, sdk.Constant{Name: name, Numbers: []float64{unit * sdk.NoiseDeviation(call)}})
			}
		}
	}
	return out
}

// errors are the expected errors of the output columns that are a noisy sum as it is.
func (q *Queries) errors(plan sdk.Plan) (out []sdk.ExpectedError) {
	calls, columns := sdk.NoisesOf(plan.Event), columnsOf(plan.Finish)
	for _, o := range plan.Output {
		f, err := expression(o, columns)
		said := slices.ContainsFunc(plan.Errors, func(e sdk.ExpectedError) bool { return e.Field == o.Name })
		if err != nil || f.Root.Op != formula.Read || said {
			continue // New says what is wrong
		}
		for k, n := range plan.Finish.Noise {
			at := slices.Index(n.Columns, f.Root.Column)
			if at < 0 || n.Units == nil {
				continue
			}
			c, unit := q.all[k].coordinates[at], n.Units[at]
			e := sdk.ExpectedError{Field: o.Name, NoiseSD: unit * sdk.NoiseDeviation(calls[k]), Half95: unit * sdk.NoiseTail(calls[k], 0.05)}
			if rows := float64(q.units.Rows); q.all[k].norm == nil && len(q.all[k].splits) == 0 {
				e.Linear = &sdk.Linear{Low: rows * math.Min(c.Low, 0), High: rows * math.Max(c.High, 0), Scale: q.units.scale}
			} else {
				e.SamplingNote = "sampling moves the sums of this mechanism by amounts that are not public"
			}
			out = append(out, e)
		}
	}
	return out
}
