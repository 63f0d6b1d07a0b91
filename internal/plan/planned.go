package plan

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/rows/keys"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// Planned is a draft with amounts: every draw, event and mechanism's plan. It was made
// without data. A run carries it out, and makes another one with what it finds.
type Planned struct {
	*Draft
	Job   *job.Job // with the shares of budget.spend as guarantees
	Draws []*PlannedDraw
	found Found
}

// Found holds the results that a run must have before it makes the releases that need them.
type Found struct {
	Keys   map[string][]string // selected values (P25), by the release that pays for the selection
	Bounds map[string]Bounds   // by table, "" where the data set is one
	Rows   map[string]int64    // of the caps that were chosen, by table
}

// Bounds are those that searches found, by column.
type Bounds map[string]float64

// plan divides the guarantees of a job, which may be those of a division of budget.spend, and
// has every mechanism plan its part.
func (f *Draft) plan(ctx context.Context, j *job.Job) (*Planned, error) {
	targets := make([]job.Guarantee, len(f.draws))
	for i, d := range f.draws {
		targets[i] = d.target(j)
	}
	whole := sum(targets...)
	budget := Point(whole)
	if f.table != nil {
		var err error
		if budget, err = f.table.onSample(j.Dataset.Relation,
			privacy.Point{Epsilon: budget.Epsilon * RoundingReserve, Delta: budget.Delta * RoundingReserve}); err != nil {
			return nil, job.Problems{j.Problem("dataset.collected", err.Error(), "")}
		}
	}
	p := &Planned{Draft: f, Job: j}
	var problems job.Problems
	var broken error
	for i, d := range f.draws {
		mine := Point(targets[i])
		if f.table != nil {
			mine = portion(budget, targets[i], whole)
		}
		planned, more, err := d.plan(ctx, j, f.inside, mine)
		p.Draws = append(p.Draws, planned)
		broken = cmp.Or(broken, err)
		problems = append(problems, more...)
	}
	if len(problems) > 0 {
		return nil, problems.Sort()
	}
	if broken != nil {
		return nil, broken
	}
	return p.choosable(ctx)
}

// With is the plan of the same job once a run found something. Its events are those that were
// charged: a mechanism that plans otherwise for what was found is refused.
func (p *Planned) With(ctx context.Context, f Found) (*Planned, error) {
	next := *p
	next.found = Found{Keys: joined(p.found.Keys, f.Keys), Bounds: joined(p.found.Bounds, nil)}
	for name, found := range f.Bounds {
		next.found.Bounds[name] = joined(next.found.Bounds[name], found)
	}
	next.found.Rows = joined(p.found.Rows, f.Rows)
	for table, rows := range f.Rows {
		next.Job = next.Job.WithCap(table, rows)
	}
	next.Draws = slices.Clone(p.Draws)
	for i, d := range p.Draws {
		one := *d
		one.Releases = slices.Clone(d.Releases)
		for n, r := range d.Releases {
			var err error
			if f.Rows[r.Job.Table] > 0 && !r.Job.CountsUnits() {
				if r, err = r.replanForCap(ctx, next.Job, d); err != nil {
					return nil, err
				}
			}
			if k := d.KeysOf(next.Job, r); k != nil && f.Keys[k.Job.Name] != nil {
				if r, err = r.chosen(ctx, next.Job, d, r.named(f.Keys[k.Job.Name])); err != nil {
					return nil, err
				}
			}
			bounded := *r
			bounded.found = next.found.Bounds[r.Job.Table]
			one.Releases[n] = &bounded
		}
		next.Draws[i] = &one
	}
	return &next, nil
}

// named are the selected values without one of the name that the job gives to all others.
func (r *PlannedRelease) named(values []string) []string {
	out := []string{}
	for _, v := range values {
		if r.Job.Other == "" || keys.Shown(v) != r.Job.Other {
			out = append(out, v)
		}
	}
	return out
}

func joined[V any](a, b map[string]V) map[string]V {
	out := map[string]V{}
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

// Bounds are those that were found for the columns of a table.
func (p *Planned) Bounds(table string) Bounds { return p.found.Bounds[table] }

// CapFound reports whether a run has chosen the cap of a table.
func (p *Planned) CapFound(table string) bool { return p.found.Rows[table] > 0 }

// CapsFound reports whether a run has chosen a cap.
func (p *Planned) CapsFound() bool { return len(p.found.Rows) > 0 }

// Releases are all releases in the order of the job.
func (p *Planned) Releases() []*PlannedRelease {
	var all []*PlannedRelease
	for _, d := range p.Draws {
		all = append(all, d.Releases...)
	}
	slices.SortFunc(all, func(a, b *PlannedRelease) int { return a.index - b.index })
	return all
}

// Columns are the columns of the table that the job reads.
func (p *Planned) Columns() []string {
	var names []string
	for _, d := range p.Draws {
		for _, r := range d.Releases {
			names = append(names, r.Reads()...)
		}
		names = append(names, d.Design.Facts().UnitColumns...)
	}
	return p.Job.Dataset.Sources(names...)
}

// Tables lists the tables that a run reads, that of the population first: those of its releases, and those from which they
// take columns. Without a population the units of all tables count. The only table of a job has no name.
func (p *Planned) Tables() []string {
	d, names := &p.Job.Dataset, []string{}
	if len(d.Tables) == 0 {
		return []string{d.Table}
	}
	reads := func(name string) bool {
		return d.Population == "" || slices.ContainsFunc(p.Releases(), func(r *PlannedRelease) bool {
			return r.Job.Table == name || slices.ContainsFunc(p.Partners(r.Job.Table), func(c job.Column) bool { return c.Joined.Table == name })
		})
	}
	if d.Population != "" {
		names = append(names, d.Population)
	}
	for _, t := range d.Tables {
		if t.Name != d.Population && reads(t.Name) {
			names = append(names, t.Name)
		}
	}
	if m := d.Key.Members; m != nil && !slices.Contains(names, m.Table) && p.byMember(names) {
		names = append(names, m.Table)
	}
	return names
}

// byMember reports whether one of the tables names a member of a unit, and not the unit.
func (p *Planned) byMember(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return p.Job.Of(name).Dataset.Key.Member != "" })
}

// Seen is the plan as one of several tables sees it: with the releases from it, for a look at the table.
func (p *Planned) Seen(table string) *Planned {
	one := *p
	one.Job, one.Draws = p.Job.Of(table), nil
	for _, d := range p.Draws {
		mine := *d
		mine.Releases = slices.DeleteFunc(slices.Clone(d.Releases), func(r *PlannedRelease) bool { return r.Job.Table != table })
		one.Draws = append(one.Draws, &mine)
	}
	return &one
}

// rowsOf are the columns of what the releases from one of several tables count, and of the designs that draw by it.
func (p *Planned) rowsOf(table string) (names []string) {
	for _, r := range p.Releases() {
		if r.Job.Table == table {
			names = append(names, r.Reads()...)
		}
	}
	if table == p.Job.Dataset.Population {
		for _, x := range p.Draws {
			names = append(names, x.Design.Facts().UnitColumns...)
		}
	}
	return names
}

// Partners are the columns that the releases from a table take from other tables.
func (p *Planned) Partners(table string) []job.Column {
	return p.Job.Of(table).Dataset.Partners(p.rowsOf(table)...)
}

// ColumnsOf are the columns that the job reads of one of several tables: for its releases, and for those of other tables.
func (p *Planned) ColumnsOf(table string) []string {
	names := p.rowsOf(table)
	if m := p.Job.Dataset.Key.Members; m != nil && m.Table == table && p.byMember(p.Tables()) {
		names = append(names, m.Column)
	}
	for _, other := range p.Job.Dataset.Tables {
		for _, c := range p.Partners(other.Name) {
			if c.Joined.Table != table {
				continue
			}
			names = append(names, c.Joined.Of)
			if f := c.Joined.Where.Formula; f != nil {
				names = append(names, f.Columns()...)
			}
		}
	}
	return p.Job.Of(table).Dataset.Sources(names...)
}

// Known lists the columns by whose values a table, or a slice of it, is known again: those that the job reads, or none,
// which stands for all, where it reads at most the column of its slice.
func (p *Planned) Known() []string {
	names := p.Columns()
	if s := p.Job.Dataset.Slice; s != nil && len(names) == 1 && names[0] == s.Column {
		return nil
	}
	return names
}

// Requests lists the questions of the plan to one mechanism, one for each of its releases.
func (p *Planned) Requests(mechanism string) []sdk.PlanRequest {
	var out []sdk.PlanRequest
	for _, d := range p.Draws {
		for _, r := range d.Releases {
			if r.Job.Mechanism == mechanism {
				out = append(out, r.at(r.target))
			}
		}
	}
	return out
}

// Keeps are the columns in which the neighbours that the job protects agree (P27) and, with several tables, in which of
// them a unit keeps a row (P32). Under add-remove a neighbour has one unit more or less and keeps nothing.
func (p *Planned) Keeps() []string {
	if p.Job.Dataset.Relation != privacy.ReplaceOne {
		return nil
	}
	if table := p.Job.Dataset.Population; table != "" {
		return append(slices.Clone(p.PublicColumns()), ledger.RowIn(table))
	}
	return p.PublicColumns()
}

// PublicColumns are the columns in which a neighbour is the same, of any draw, or else
// what is charged does not hold.
func (p *Planned) PublicColumns() []string {
	var all []string
	if s := p.Job.Dataset.Slice; s != nil && p.Job.Dataset.Relation == privacy.ReplaceOne {
		all = append(all, s.Column) // under add-remove a neighbour has a unit more, in a slice
	}
	draws := p.Draws
	if p.table != nil {
		draws = append([]*PlannedDraw{{DraftDraw: p.table}}, draws...)
	}
	for _, d := range draws {
		for _, c := range d.PublicColumns(p.Job) {
			if !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	return all
}
