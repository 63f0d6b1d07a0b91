package run

import (
	"context"
	"math"
	"slices"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/rows/units"
	"github.com/dprelease/dprelease/privacy/rational"
)

// folding makes one row of the rows of each unit. View 0 has all rows, and each of the others those that pass a condition.
type folding struct {
	conditions []job.Expression // of the views from 1 on
	wants      []job.Column     // what is folded
	folds      []units.Fold
	of         []int // of each fold the place in wants, -1 where it counts rows
}

// view returns the view of the rows that pass a condition.
func (f *folding) view(e job.Expression) int {
	if !e.Said() {
		return 0
	}
	at := slices.IndexFunc(f.conditions, func(o job.Expression) bool { return o.Text == e.Text })
	if at < 0 {
		at = len(f.conditions)
		f.conditions = append(f.conditions, e)
	}
	return at + 1
}

// add folds a column, nil for the rows themselves, to one that has bounds of its own.
func (f *folding) add(fold units.Fold, of, to *job.Column) {
	at := -1
	if fold.Number, fold.Upper = true, mostWhole; of != nil {
		if at = slices.IndexFunc(f.wants, func(o job.Column) bool { return o.Name == of.Name }); at < 0 {
			at = len(f.wants)
			f.wants = append(f.wants, *of)
		}
		fold.Number, fold.Domain, fold.Upper = of.Type != job.Category, of.Domain, 0
		if fold.Number && to.Lower != nil { // a column without bounds has no sum
			fold.Lower, fold.Upper = rational.Up(to.Lower), rational.Down(to.Upper)
		}
	}
	f.folds, f.of = append(f.folds, fold), append(f.of, at)
}

// folded folds some rows of the table.
//
// # Contract
//
// The folded row of a unit is a function of the rows of that unit. Proof: tables.proof.md.
func (v *tableView) folded(ctx context.Context, from rowSource, f *folding) (*units.FoldedUnits, error) { // P22, P32
	in, err := newReading(v.job, v.table.lookups, f.wants, f.conditions, false)
	if err != nil {
		return nil, err
	}
	folder, err := units.NewFolder(units.FoldSpec{Units: v.population, Rows: from.Rows(), Columns: f.folds, Views: 1 + len(f.conditions),
		Memory: v.table.memory})
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	preparers, ones, numbers := in.preparers(false), []float64(nil), []int32(nil)
	held := make([]bool, len(preparers))
	for i, p := range preparers {
		held[i] = v.holds(p)
	}
	err = newPass(from, v.table.Content, in).run(ctx, func(b table.Batch) error {
		values, err := in.unfolded(preparers, b.Rows, held)
		if err != nil {
			return err
		}
		for len(ones) < b.Rows {
			ones = append(ones, 1)
		}
		columns := make([]table.Values, len(f.folds))
		for i, at := range f.of {
			if columns[i] = (table.Values{Kind: table.Float, Float64: ones[:b.Rows]}); at >= 0 {
				columns[i] = values[at]
			}
		}
		if numbers, err = numbersOf(v.index, b, numbers); err != nil {
			return err
		}
		return folder.Add(numbers[:b.Rows], columns, append([][]byte{nil}, in.masks...))
	})
	if err != nil {
		return nil, err
	}
	return folder.Finish()
}

// holds reports whether the bounds of a column of numbers, and its rule for missing values, hold before its rows are folded: by
// this table or by another one. Those of a count are of the count alone. Rows that are added up are held to the bounds and 0, so
// that no row is raised to what is the least of the sum; and what stands for a missing value stands for the folded one.
func (v *tableView) holds(p *Preparer) bool {
	d, c := &v.job.Dataset, &p.Column
	by := d.FoldOf(c.Name)
	if c.Type != job.Number || c.Lower == nil || c.Bounds != nil || c.Derived != nil && c.Derived.AfterFold || by == job.FoldCount {
		return false
	}
	if by == job.FoldSum {
		p.Lower, p.Upper = math.Min(p.Lower, 0), math.Max(p.Upper, 0)
	}
	if by != "" && !d.OneRow && c.Missing.Rule == job.Impute {
		c.Missing.Rule = job.Drop
	}
	return true
}

// unfolded are the values of a block as a fold takes them: numbers, which are held to bounds where these hold for rows, and codes.
func (r *reading) unfolded(numbers []*Preparer, n int, held []bool) ([]table.Values, error) {
	out := make([]table.Values, len(r.wants))
	for i, c := range r.wants {
		v := r.values[i]
		switch {
		case held[i]:
			ready, err := numbers[i].Prepare(v, n)
			if err != nil {
				return nil, err
			}
			out[i] = table.Values{Kind: table.Float, Float64: ready.Float64, Valid: ready.Valid}
		case c.Type != job.Category:
			x, err := numbers[i].AsFloats(v, n)
			if err != nil {
				return nil, err
			}
			out[i] = table.Values{Kind: table.Float, Float64: x, Valid: v.Valid}
		case r.from[i] >= 0 && r.codes[r.from[i]] != nil:
			out[i] = v
		default:
			ready, err := numbers[i].Prepare(v, n)
			if err != nil {
				return nil, err
			}
			out[i] = table.Values{Kind: table.String, Codes: ready.Codes, Dict: c.Domain}
		}
	}
	return out, nil
}

// foldBy returns how values become one. Where a unit has one row, its category is the last one, which needs no counts.
func (v *tableView) foldBy(by job.FoldBy) string {
	if v.job.Dataset.OneRow && by == job.FoldMode {
		by = job.FoldMax
	}
	return string(by)
}
