package planned

import (
	"reflect"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/plugin/calls"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/samplers"
)

// Held compares all that the price of the plan rests on with what a run does to the rows: the releases of the job, the facts
// that mechanisms were told, the groups that a unit may be in, the noise and the units of a series, and the keys that a selection
// counts of a unit. It returns an error where they differ.
//
// # Contract
//
// Let a run carry out a plan that Held accepts. Then every fact with which a mechanism planned is true of the rows that the run
// gives it. Nobody has to trust the planner. Proof: told.proof.md. // P38
func (p *Plan) Held() error {
	inside := p.Job.Dataset.Relation
	if p.Table != nil {
		under, err := Relations(p.Table.Design, inside)
		if err != nil || len(under) != 1 {
			return errOtherwise
		}
		inside = under[0]
	}
	searched := map[[2]string]bool{} // columns whose bounds are found before others read them, by table
	for _, d := range p.Draws {
		for _, r := range d.Releases {
			searched[[2]string{r.Job.Table, r.Job.Bounds}] = true
		}
		under, err := Relations(d.Design, inside)
		if err != nil {
			return errOtherwise
		}
		for _, r := range d.Releases {
			if !r.held(p.Job, d.Design, under) || slices.ContainsFunc(r.Plan.Columns, func(name string) bool {
				c, _ := p.Job.Of(r.Job.Table).Dataset.Column(name)
				return c.Bounds != nil && r.Job.Bounds != name && !searched[[2]string{r.Job.Table, name}]
			}) {
				return errOtherwise
			}
		}
		for _, k := range d.Keys {
			of := &p.Job.Of(k.Job.Table).Dataset
			least := int64(1)
			if c := of.CapOf(&k.Job); c != nil {
				least = c.Groups
			}
			if !isIn(p.Job, &k.Job) || k.Column != k.Job.Unlisted(of) || k.Rule.Keys() < least {
				return errOtherwise
			}
		}
	}
	return nil
}

// Relations are those between neighbouring samples under which all that is released from a draw must keep to its budget.
func Relations(d samplers.Design, r privacy.Relation) ([]privacy.Relation, error) {
	if s := samplers.Sampling(d); s != nil {
		return privacy.SampleRelations(s, r)
	}
	return []privacy.Relation{r}, nil
}

// isIn reports whether a job has the release.
func isIn(j *job.Job, r *job.Release) bool {
	return slices.ContainsFunc(j.Releases, func(o job.Release) bool { return o.Name == r.Name && reflect.DeepEqual(*r, o) })
}

// held reports whether the release is one of the job, and was planned for the rows that a run of the job prepares.
func (r *Release) held(j *job.Job, d samplers.Design, under []privacy.Relation) bool {
	one, of := *r, j.Of(r.Job.Table)
	if !isIn(j, &r.Job) || !r.Cells.of(of, &r.Job) || one.Tell(of, d, under) != nil {
		return false
	}
	if r.Clusters != nil {
		one.tellClusters()
	}
	// Rows that do not count reach a mechanism as missing values of a column.
	if len(r.Plan.Columns) == 0 && r.Tally == nil && (r.Apart || Filtered(of, &r.Job)) {
		return false
	}
	return reflect.DeepEqual(one, *r) && r.Series.held(j, r)
}

// of reports whether the cells are those of a release. The values of a column that nobody lists may be any.
func (c *Cells) of(j *job.Job, r *job.Release) bool {
	if c == nil {
		return len(r.By) == 0
	}
	own := NewCells(j, r, nil)
	return own.keyed == c.keyed && own.Other == c.Other && slices.EqualFunc(own.By, c.By, func(a, b job.Column) bool {
		if a.Name == own.keyed {
			a.Domain, b.Domain = nil, nil
		}
		return reflect.DeepEqual(a, b)
	})
}

// held reports whether the noise of a series differs from that of the release's own noise calls in size alone, and whether the
// units are those of the job.
func (s *Series) held(j *job.Job, r *Release) bool {
	spec := j.InSeries(&r.Job)
	if s == nil || spec == nil {
		return (s == nil) == (spec == nil)
	}
	own, err := calls.Linear(r.Plan.Event)
	most := UnitsIn(spec)
	builtin, _ := r.Mech.Origin()
	most.Revised = most.Revised || !builtin
	return err == nil && s.Question.Units == most && s.Capped == j.CapsPeriods() &&
		slices.EqualFunc(own, s.Calls, func(a, b privacy.Event) bool { return privacy.Equal(Sized(a, SizeOf(b)), b) })
}

// Tell settles what the mechanism of a release may know of the rows, once the groups are known: j is the job as the table of the
// release sees it, under has the relations between neighbouring samples.
func (r *Release) Tell(j *job.Job, d samplers.Design, under []privacy.Relation) error {
	r.Public = Facts(j, d, under, &r.Job)
	if err := r.weigh(j, d); err != nil {
		return err
	}
	if c := j.Dataset.CapOf(&r.Job); c != nil {
		r.Public.Cap = &sdk.Cap{Groups: c.Groups, Rows: c.Rows, Times: c.Times()}
		// The number of rows is private, also where that of units is public.
		r.Public.Population, r.Public.Design.SampleSize, r.Public.Design.LargestCount = 0, 0, 0
	}
	filtered := Filtered(j, &r.Job)
	if filtered {
		for i := range r.Public.Columns {
			c := &r.Public.Columns[i]
			c.Missing, c.Immutable = sdk.MissingDrop, c.Immutable && whole(j, &r.Job)
		}
	}
	switch {
	case r.Apart:
		r.tellOneGroup()
	case r.Cells != nil:
		r.Public.Columns = append(slices.DeleteFunc(r.Public.Columns, func(c sdk.Column) bool { return c.Name == r.Cells.Column }),
			sdk.Column{Name: r.Cells.Column, Type: sdk.Category, Domain: r.Cells.Labels(), Missing: r.Cells.missing(filtered),
				Immutable: (!filtered || whole(j, &r.Job)) && r.Cells.stay(j, d)})
	}
	// A row that a filter lets through in one table and not in the other comes or goes. An event
	// that is fixed is charged for rows that stay.
	r.Fixed = r.Apart && !filtered && r.Cells.fixed(j, d)
	return nil
}

// tellClusters tells the mechanism of the column of clusters.
func (r *Release) tellClusters() {
	r.Public.Columns = append(r.Public.Columns,
		sdk.Column{Name: r.Clusters.Column, Type: sdk.Category, Domain: Numbered(r.Clusters.Number), Missing: sdk.MissingRefuse})
}

// AddClusters has the mechanism read the clusters of a draw, in a column of a name that no other column has.
func (r *Release) AddClusters(of []int32, number int) {
	r.Clusters = &Clusters{Column: "first stage", Of: of, Number: number}
	for _, taken := r.Public.Column(r.Clusters.Column); taken; _, taken = r.Public.Column(r.Clusters.Column) {
		r.Clusters.Column += "′"
	}
	r.tellClusters()
}

// Facts lists what a mechanism may know about the table and its draw, apart from what a release says of its rows. Values of a
// column whose bounds are found in private are divided by the bound, except for the release that finds it.
func Facts(j *job.Job, design samplers.Design, under []privacy.Relation, r *job.Release) sdk.Public {
	f := design.Facts()
	p := sdk.Public{
		Relation: j.Dataset.Relation, SampleRelations: under, Population: Population(j, design),
		Design: sdk.Design{
			Kind: design.Kind(), Rate: f.Rate, SampleSize: f.SampleSize, MinWeight: f.MinWeight, MaxWeight: f.MaxWeight,
			EqualWeights: f.EqualWeights, LargestCount: f.LargestCount,
		},
	}
	if c := j.Dataset.Collected; c != nil && c.Method == job.SRSWOR && f.EqualWeights && j.Dataset.Size > 0 {
		// A row of the table stands for so many of the population, as those of every other collection do.
		each := float64(c.Population) / float64(j.Dataset.Size)
		p.Population = c.Population
		p.Design.Rate, p.Design.MinWeight, p.Design.MaxWeight = p.Design.Rate/each, p.Design.MinWeight*each, p.Design.MaxWeight*each
	}
	for _, c := range j.Dataset.Columns {
		if c.Plain() || j.Dataset.Unfolded(c.Name) {
			continue
		}
		col := sdk.Column{Name: c.Name, Domain: c.Domain, Immutable: c.Immutable && sameUnit(j, design) || stratum(design, c.Name),
			Missing: missing(c)}
		if c.Type == job.Number {
			col.Type, col.Lower, col.Upper = sdk.Number, rational.Up(c.Lower), rational.Down(c.Upper)
			if c.Bounds != nil && r.Bounds != c.Name {
				col.Lower, col.Upper = leastOf(c), 1
			}
		} else {
			col.Type = sdk.Category
		}
		p.Columns = append(p.Columns, col)
	}
	if r.CountsUnits() {
		c, _ := j.Dataset.Column(job.UnitRows)
		p.Columns = append(p.Columns,
			sdk.Column{Name: c.Name, Type: sdk.Number, Lower: rational.Up(c.Lower), Upper: rational.Down(c.Upper), Missing: sdk.MissingRefuse})
	}
	return p
}

// Population is the public number of units that the weights of a draw add up to.
func Population(j *job.Job, d samplers.Design) int64 {
	if g, ok := d.(*samplers.Gathered); ok {
		return g.Facts().Population
	}
	return j.Dataset.Size
}

// weigh tells the mechanism that rows carry weights which a neighbour may change.
func (r *Release) weigh(j *job.Job, d samplers.Design) (err error) {
	if r.Weights, err = NewWeigher(j, d, &r.Job); err != nil || r.Weights == nil {
		return err
	}
	f := &r.Public.Design
	least, most := r.Weights.Least, r.Weights.Most
	if !f.EqualWeights && !r.Weights.Alone { // weights multiply
		least, most = least*f.MinWeight, most*f.MaxWeight
	}
	f.EqualWeights, f.MinWeight, f.MaxWeight = false, least, most
	// Weights add up to a number that is private, and not to the rows of the table.
	r.Public.Population = 0
	return nil
}

// tellOneGroup limits the public facts to those of one group: its number of rows is private.
func (r *Release) tellOneGroup() {
	p := &r.Public
	p.Relation, p.Population, p.Design.SampleSize = privacy.AddRemove, 0, 0
	if slices.Contains(p.SampleRelations, privacy.ReplaceOne) {
		// A row that leaves one group for another comes or goes in both (P11).
		p.SampleRelations = []privacy.Relation{privacy.AddRemove, privacy.ReplaceOne}
	}
	for i := range p.Columns {
		p.Columns[i].Immutable = false
	}
	if r.Groups = 0; p.Cap != nil {
		r.Groups, p.Cap.Groups = p.Cap.Groups, 1
	}
}

// Filtered reports whether rows of the sample may not count in a release: they reach the mechanism as missing (P24).
func Filtered(j *job.Job, r *job.Release) bool {
	j = j.Of(r.Table)
	w := j.Dataset.WeightsOf(r)
	return j.Dataset.MayVanish() || r.Where.Said() || r.Having.Said() || j.Dataset.CapOf(r) != nil ||
		w != nil && w.Of(&j.Dataset).Missing.Rule == job.Drop
}

// whole reports whether a filter lets the row of a unit through as it is, or not at all. So a value
// that neighbours keep is the same on both sides where the row counts on both (P11, P27). Of several
// rows of a unit others may be left: one row is then folded from them, or kept, with another value.
func whole(j *job.Job, r *job.Release) bool {
	return j.Dataset.Cap == nil && !j.Dataset.MayVanish() && !(j.Dataset.Folds() && r.Where.Said())
}

// leastOf is the least value of a column over the bound that is found for it.
func leastOf(c job.Column) float64 {
	if c.Lower.Sign() < 0 {
		return -1
	}
	return 0
}

// sameUnit reports whether a neighbour of the sample differs in the values of one
// and the same unit. In a sample of fixed size any other unit takes its place (P3,
// the trap), with that unit's values in columns that nobody can change (P11).
func sameUnit(j *job.Job, d samplers.Design) bool {
	return j.Dataset.Collected == nil && (d.Kind() == "full" || d.Kind() == "poisson")
}

// stratum reports whether a column names the strata of a public frame by which the rows were
// drawn, or the table collected. There a neighbour stays in its stratum, and so does the unit
// that takes its place in a draw of fixed numbers: the sample differs in rows of one stratum
// (P27).
func stratum(d samplers.Design, column string) bool {
	framed, ok := d.(samplers.Framed)
	return ok && d.Kind() == string(job.Stratified) && framed.Frame() != nil && framed.Frame().Records() > 0 &&
		slices.Contains(d.Facts().UnitColumns, column)
}

// missing is the rule that a mechanism sees: a category whose foreign values are
// dropped has missing values even where nulls are refused.
func missing(c job.Column) sdk.Missing {
	if c.Missing.Rule == job.Drop || c.Type == job.Category && c.Outside.Rule == job.Drop {
		return sdk.MissingDrop
	}
	return sdk.Missing(c.Missing.Rule)
}

// missing returns whether a row may be in no cell.
func (c *Cells) missing(filtered bool) sdk.Missing {
	if filtered || c.Other == "" && slices.ContainsFunc(c.By, func(b job.Column) bool { return missing(b) == sdk.MissingDrop }) {
		return sdk.MissingDrop
	}
	return sdk.MissingRefuse
}

// fixed reports whether a neighbour cannot move a row from one cell to another (P11).
func (c *Cells) fixed(j *job.Job, d samplers.Design) bool {
	return sameUnit(j, d) && len(c.By) > 0 && !slices.ContainsFunc(c.By, func(b job.Column) bool { return !b.Immutable })
}

// stay reports whether no row of the sample is in another cell than the one it stands for: also
// where the cells are those of the strata that were drawn from (P27).
func (c *Cells) stay(j *job.Job, d samplers.Design) bool {
	return len(c.By) > 0 && !slices.ContainsFunc(c.By, func(b job.Column) bool {
		return !stratum(d, b.Name) && !(b.Immutable && sameUnit(j, d))
	})
}
