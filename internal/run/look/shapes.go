package look

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/rows/units"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// UnitFacts count what is wrong with the unit column of a table in which each unit has one row. They are private (P19).
type UnitFacts struct {
	Missing  int64 `json:"rows_without_unit"`
	Repeated int64 `json:"rows_of_a_unit_that_has_another"`
}

// shapes looks at the units, groups, caps and frames that a run makes of the tables.
func (l *Look) shapes(ctx context.Context, viewers []*viewer, p *planned.Plan) error {
	var tables []*table.Table
	of := l // where frames are: a unit lies where the table of its population says
	for _, v := range viewers {
		if tables = append(tables, v.table); !v.plan.Job.Dataset.MayVanish() {
			of = v.look
		}
	}
	shaped, err := run.NewLook(p, tables)
	if err == nil {
		defer shaped.Close()
		err = shaped.Settle(ctx)
	}
	var known job.Problems
	switch m := p.Job.Dataset.Key.Members; {
	case ctx.Err() != nil:
	case errors.As(err, &known): // keys that cannot be compared
		l.fails("INVALID_JOB", "%s", known.Error())
		return nil
	case errors.Is(err, run.ErrMember):
		l.fails("DATA_UNIT", "table %s: column %s: a member has two rows, and tables that name members do not say whose their rows are",
			m.Table, m.Column)
		return nil
	case errors.Is(err, units.ErrNullKey):
		l.fails("DATA_UNIT", "a row names a member that table %s does not have, or none; say unit.missing: drop in its table to leave it out",
			m.Table)
		return nil
	}
	for i, v := range viewers {
		if err == nil {
			err = v.computed(ctx, shaped, i)
		}
		if err == nil {
			err = v.units(ctx, shaped, i)
		}
		if err == nil {
			err = v.releases(ctx, shaped, i)
		}
	}
	for _, d := range p.Draws {
		if design, ok := d.Design.(samplers.Framed); ok && design.Frame() != nil && err == nil {
			var counts map[int32]int64
			if counts, err = shaped.Strata(ctx, d); err == nil {
				of.frame(d, design.Frame(), counts)
			}
		}
	}
	if err == nil && len(l.Tables) > 0 {
		var without map[string]map[string]int64
		without, err = shaped.Without()
		for i := range l.Tables {
			l.Tables[i].Without = without[l.Tables[i].Name]
		}
	}
	return err
}

// units looks at how many rows a unit has, and at what a cap leaves out (P22).
func (v *viewer) units(ctx context.Context, shaped *run.Look, i int) error {
	f, err := shaped.Units(i)
	d, l := &v.plan.Job.Dataset, v.look
	if err != nil || f == nil {
		return err
	}
	column, repeated := d.Key.Column, f.Rows-f.Units
	if d.Key.Missing != job.NoUnitOwn { // else a row that names none is a unit
		repeated -= f.NullRows
	}
	if !d.Folds() && d.Cap == nil && !d.OneRow {
		l.Units = &UnitFacts{Missing: f.NullRows, Repeated: repeated}
		if f.NullRows+repeated > 0 {
			l.fails("DATA_UNIT",
				"column %s: %d rows name no unit, and %d rows name a unit that has another row; "+
					"say dataset.fold or dataset.cap where a unit has several rows, and dataset.unit.missing where rows name none",
				column, f.NullRows, repeated)
		}
		return nil
	}
	if l.UnitRows = f; d.OneRow && repeated > 0 {
		l.fails("DATA_UNIT", "column %s: %d rows name a unit that has another row, and unit.rows is 1; fold or cap the table where a unit "+
			"has several rows", column, repeated)
	}
	if d.Key.Missing == job.NoUnitRefuse && f.NullRows > 0 {
		l.fails("DATA_UNIT", "column %s: %d rows name no unit; say dataset.unit.missing: drop or own", column, f.NullRows)
	}
	if d.Relation == privacy.ReplaceOne && d.Slice == nil && !d.MayVanish() && f.Units != d.Size {
		l.fails("SAMPLE_SIZE_MISMATCH", "dataset.size is %d, and the table has %d units", d.Size, f.Units)
	}
	l.Dropped, err = shaped.CapDrops(ctx, i)
	return err
}

// releases looks at what each release reads of the table, and how many of its groups the table holds.
func (v *viewer) releases(ctx context.Context, shaped *run.Look, i int) error {
	all, err := shaped.Releases(ctx, i)
	for _, g := range all {
		out := LookRelease{Release: g.Release.Job.Name, Rows: g.Rows, Filtered: g.Filtered, Left: g.Left, Clipped: g.Clipped, Units: g.Units}
		if len(g.By) > 0 {
			out.Groups = &LookGroups{Possible: 1, Held: int64(len(g.Counts))}
			for _, c := range g.By {
				out.Groups.By = append(out.Groups.By, c.Name)
				out.Groups.Possible *= int64(len(c.Domain))
			}
			for _, n := range g.Counts {
				if out.Groups.Smallest == 0 || n < out.Groups.Smallest {
					out.Groups.Smallest = n
				}
			}
		}
		v.look.Releases = append(v.look.Releases, out)
	}
	return err
}

// frame compares where the units of a draw lie with its public frame.
func (l *Look) frame(d *planned.Draw, frame *samplers.Frame, counts map[int32]int64) {
	out := LookDraw{Name: d.Name, Outside: counts[run.NoUnit], Units: frame.Len()}
	differ, have := 0, make([]int64, frame.Len())
	table, collected := d.Design.(*samplers.Gathered)
	for u := range have {
		unit, n := frame.Unit(int32(u)), counts[int32(u)]
		have[u] = n
		key := strings.Join(unit.Key, "/")
		switch public := frame.Records() > 0 && !collected; {
		case public && n != unit.Records:
			if differ++; differ <= maxForeign {
				out.Differ = append(out.Differ, fmt.Sprintf("%s: %d rows, the frame says %d", key, n, unit.Records))
			}
		case len(out.Strata) < maxForeign && (!public || d.Design.Kind() == "stratified"):
			out.Strata = append(out.Strata, fmt.Sprintf("%s: %d rows", key, n))
		}
	}
	l.Draws = append(l.Draws, out)
	switch {
	case collected && (!table.Fits(have) || frame.Records() > 0 && out.Outside > 0):
		l.fails("SAMPLE_FRAME_MISMATCH",
			"the table is not what dataset.collected says: its strata, or the units that were drawn, have other numbers of rows, "+
				"or %d rows lie in none", out.Outside)
	case !collected && frame.Records() > 0 && (differ > 0 || out.Outside > 0):
		l.fails("INVALID_JOB",
			"the frame of %s does not match the table: %d of %d units have another number of rows, and %d rows lie in no unit",
			out.Name, differ, out.Units, out.Outside)
	}
}
