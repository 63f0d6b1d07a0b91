package run

import (
	"slices"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/rows"
	"github.com/dprelease/dprelease/internal/rows/formula"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// reading turns the columns that a source delivers into those that a job declares: it
// looks up, derives and judges conditions, block by block.
type reading struct {
	job     *job.Job
	sources []string // the columns that the source has to deliver
	wants   []job.Column
	values  []table.Values // of wants: numbers as they stand, categories as codes of their domain
	masks   [][]byte       // of the conditions

	from    []int             // where the values of wants come from: sources, or behind them what is computed
	program *rows.Evaluator   // nil where nothing is computed
	inputs  []int             // of the program, among the sources
	flags   []bool            // those that are true or false
	codes   map[int]*Preparer // of the sources that are categories in an expression
	buffers []table.Values
}

// newReading settles how columns and conditions are made, from the rows of the table or
// from the folded rows of units.
func newReading(j *job.Job, lookups []*rows.Lookup, wants []job.Column, conditions []job.Expression, folded bool) (*reading, error) {
	r := &reading{job: j, codes: map[int]*Preparer{}, wants: wants}
	var computed []string
	for _, c := range wants {
		if isComputed(&c, folded) {
			r.from = append(r.from, -1-appended(&computed, c.Name))
		} else {
			r.from = append(r.from, appended(&r.sources, c.Name))
		}
	}
	r.values = make([]table.Values, len(wants))
	if len(computed) == 0 && len(conditions) == 0 {
		return r, nil
	}
	program, err := compile(j, lookups, computed, conditions, folded)
	if err != nil {
		return nil, err
	}
	r.program = program.Evaluator()
	for _, name := range program.Needs() {
		at := appended(&r.sources, name)
		r.inputs = append(r.inputs, at)
		known, _ := program.Column(name)
		r.flags = append(r.flags, known.Type == formula.Bool)
		if c, _ := j.Dataset.Column(name); c.Type == job.Category && r.codes[at] == nil {
			r.codes[at] = NewPreparer(forFold(c, folded))
			r.codes[at].at = j.Path(r.codes[at].at)
		}
	}
	return r, nil
}

// isComputed reports whether a column is made here, and does not come from the source.
func isComputed(c *job.Column, folded bool) bool {
	if folded {
		return c.Derived != nil && c.Derived.AfterFold
	}
	return c.Derived != nil || c.Lookup != nil
}

// forFold is a column as it is after the fold: a unit without a value has a missing one.
func forFold(c job.Column, folded bool) job.Column {
	if folded && c.Missing.Rule == job.Refuse {
		c.Missing = job.Handling{Rule: job.Drop}
	}
	return c
}

// read computes the values of a block and its masks.
func (r *reading) read(b table.Batch) error {
	in := r.buffers[:0]
	for i := range r.sources {
		v := b.Columns[i]
		if p := r.codes[i]; p != nil {
			ready, err := p.Prepare(v, b.Rows)
			if err != nil {
				return err
			}
			v = table.Values{Kind: table.String, Codes: ready.Codes, Dict: p.Column.Domain}
		}
		in = append(in, v)
	}
	r.buffers = in
	var computed []table.Values
	if r.program != nil {
		args := make([]table.Values, len(r.inputs))
		for i, at := range r.inputs {
			if args[i] = in[at]; r.flags[i] && args[i].Codes != nil {
				args[i] = truths(args[i].Codes)
			}
		}
		out := r.program.Eval(args, b.Rows)
		computed, r.masks = out.Columns, out.Masks
	}
	for i, at := range r.from {
		if at >= 0 {
			r.values[i] = in[at]
		} else {
			r.values[i] = computed[-1-at]
		}
	}
	return nil
}

// block is the block that was read last, with its masks and without values.
func (r *reading) block(b table.Batch) block {
	return block{rows: b.Rows, first: b.Block.First, picked: b.Picked, masks: r.masks}
}

// preparers make the values of wants ready for mechanisms. present says that some units
// have no row that counts. Such a unit has no missing values.
func (r *reading) preparers(present bool) []*Preparer {
	out := make([]*Preparer, len(r.wants))
	for i, c := range r.wants {
		out[i] = NewPreparer(forFold(c, present))
		out[i].at = r.job.Path(out[i].at)
	}
	return out
}

// prepare makes the values that were read last ready for mechanisms.
func (r *reading) prepare(preparers []*Preparer, n int) ([]sdk.Values, error) {
	ready := make([]sdk.Values, len(preparers))
	for i, p := range preparers {
		if at := r.from[i]; at >= 0 && r.codes[at] != nil {
			ready[i] = sdk.Values{Codes: r.values[i].Codes} // its rules are applied
			continue
		}
		v := r.values[i]
		if v.Float64 != nil && r.twice(i) {
			v.Float64 = slices.Clone(v.Float64) // bounds are applied in place
		}
		var err error
		if ready[i], err = p.Prepare(v, n); err != nil {
			return nil, err
		}
	}
	return ready, nil
}

// twice reports whether a column is read with several bounds, as a number and as a weight.
func (r *reading) twice(i int) bool {
	return slices.ContainsFunc(r.wants[i+1:], func(c job.Column) bool { return c.Name == r.wants[i].Name })
}
