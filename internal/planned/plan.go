package planned

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// Plan is a job with amounts, which a run carries out. It was made without data, and nothing changes it.
type Plan struct {
	Job     *job.Job // with the shares of budget.spend as guarantees
	Draws   []*Draw
	Table   *Draw                   // the draw that made the table, where that is itself a sample, else nil
	Panel   *Panel                  // that the job is about, nil where there is none
	Nodes   map[string]*ledger.Node // of the account that earlier jobs left, and the plan asked for, by id
	Found   Found
	Planner Planner
}

// Planner plans further with what a run found. Nobody has to trust it.
type Planner interface {
	// Again plans the same job with more results than p.Found has.
	Again(ctx context.Context, found Found) (*Plan, error)
	// Choose returns the cap of a table, from noisy numbers of units with up to so many rows as each cap says.
	Choose(table string, bins []float64, sd float64) int64
}

// Found holds the results that a run must have before it makes the releases that need them.
type Found struct {
	Keys   map[string][]string // selected values (P25), by the release that pays for the selection
	Bounds map[string]Bounds   // by table, "" where the data set is one
	Rows   map[string]int64    // of the caps that were chosen, by table
}

// Bounds are those that searches found, by column.
type Bounds map[string]float64

// And returns all that was found before and now.
func (f Found) And(more Found) Found {
	out := Found{Keys: joined(f.Keys, more.Keys), Bounds: joined(f.Bounds, nil), Rows: joined(f.Rows, more.Rows)}
	for table, b := range more.Bounds {
		out.Bounds[table] = joined(out.Bounds[table], b)
	}
	return out
}

func joined[V any](a, b map[string]V) map[string]V {
	out := map[string]V{}
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

// Panel is the rotation that a job is about. All its waves have the event of this job, and are
// paid for before the first (P34).
type Panel struct {
	job.Panel
	ID   string
	Node *ledger.Node // of the waves that were paid for; nil for none
}

// errOtherwise is the end of a run whose planner answers with something else than what was charged.
var errOtherwise = errors.New("the plan with what was found is not the one that was charged")

// With is the plan of the same job once a run found something.
//
// # Contract
//
// Its draws, and what they release, are those that were charged, from the same rows of the same units. What the planner may
// change is the groups that were selected, not more than were planned for, and the rows of a cap, which count as many as before. Proof:
// with.proof.md. // P38
func (p *Plan) With(ctx context.Context, f Found) (*Plan, error) {
	next, err := p.Planner.Again(ctx, f)
	if err != nil {
		return nil, err
	}
	if !slices.EqualFunc(p.Draws, next.Draws, func(a, b *Draw) bool {
		return reflect.DeepEqual(a.Sampled, b.Sampled) && slices.Equal(a.Keys, b.Keys) &&
			slices.EqualFunc(a.Releases, b.Releases, (*Release).goesOn)
	}) {
		return nil, errOtherwise
	}
	one := *p
	one.Draws, one.Found, one.Planner = next.Draws, p.Found.And(f), next.Planner
	for table, rows := range f.Rows {
		one.Job = one.Job.WithCap(table, rows)
	}
	return &one, one.Held()
}

// goesOn reports whether o takes the same rows as r, of units that count for as many, for the same event.
func (r *Release) goesOn(o *Release) bool {
	groups := (r.Cells == nil) == (o.Cells == nil) && (r.Cells == nil || o.Cells.Len() <= r.Cells.Len())
	a, b := r.Public.Cap, o.Public.Cap
	counts := (a == nil) == (b == nil) && (a == nil || a.Rows*a.Each() == b.Rows*b.Each())
	return groups && counts && r.Series == o.Series && r.Tally == o.Tally && r.Alike(o) && privacy.Equal(r.Event(), o.Event()) &&
		reflect.DeepEqual(r.Job, o.Job)
}

// Alike reports whether two plans of a release do the same to the rows, and have the same columns. Their texts name the groups, and may
// differ.
func (r *Release) Alike(o *Release) bool {
	return privacy.Equal(r.Plan.Event, o.Plan.Event) && slices.Equal(r.Plan.Columns, o.Plan.Columns) &&
		slices.EqualFunc(r.Plan.Output, o.Plan.Output, func(a, b sdk.Field) bool {
			a.Texts, b.Texts = nil, nil
			return reflect.DeepEqual(a, b)
		})
}

// Releases are all releases in the order of the job.
func (p *Plan) Releases() []*Release {
	var all []*Release
	for _, d := range p.Draws {
		all = append(all, d.Releases...)
	}
	slices.SortFunc(all, func(a, b *Release) int { return a.Index - b.Index })
	return all
}

// Columns are the columns of the table that the job reads.
func (p *Plan) Columns() []string {
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
func (p *Plan) Tables() []string {
	d, names := &p.Job.Dataset, []string{}
	if len(d.Tables) == 0 {
		return []string{d.Table}
	}
	reads := func(name string) bool {
		return d.Population == "" || slices.ContainsFunc(p.Releases(), func(r *Release) bool {
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
func (p *Plan) byMember(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return p.Job.Of(name).Dataset.Key.Member != "" })
}

// Seen is the plan as one of several tables sees it: with the releases from it, for a look at the table.
func (p *Plan) Seen(table string) *Plan {
	one := *p
	one.Job, one.Draws = p.Job.Of(table), nil
	for _, d := range p.Draws {
		mine := *d
		mine.Releases = slices.DeleteFunc(slices.Clone(d.Releases), func(r *Release) bool { return r.Job.Table != table })
		one.Draws = append(one.Draws, &mine)
	}
	return &one
}

// rowsOf are the columns of what the releases from one of several tables count, and of the designs that draw by it.
func (p *Plan) rowsOf(table string) (names []string) {
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
func (p *Plan) Partners(table string) []job.Column {
	return p.Job.Of(table).Dataset.Partners(p.rowsOf(table)...)
}

// ColumnsOf are the columns that the job reads of one of several tables: for its releases, and for those of other tables.
func (p *Plan) ColumnsOf(table string) []string {
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
func (p *Plan) Known() []string {
	names := p.Columns()
	if s := p.Job.Dataset.Slice; s != nil && len(names) == 1 && names[0] == s.Column {
		return nil
	}
	return names
}

// Keeps are the columns in which the neighbours that the job protects agree (P27) and, with several tables, in which of
// them a unit keeps a row (P32). Under add-remove a neighbour has one unit more or less and keeps nothing.
func (p *Plan) Keeps() []string {
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
func (p *Plan) PublicColumns() []string {
	var all []string
	if s := p.Job.Dataset.Slice; s != nil && p.Job.Dataset.Relation == privacy.ReplaceOne {
		all = append(all, s.Column) // under add-remove a neighbour has a unit more, in a slice
	}
	draws := p.Draws
	if p.Table != nil {
		draws = append([]*Draw{p.Table}, draws...)
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
