package plan

import (
	"math"

	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// Level is the cost of a job for somebody who is less, or more, than one unit: a member of it, such as a person of a household,
// or a group of several. Nothing is charged by it.
type Level struct {
	Name   string
	AtMost int64         // how many units the group has, 0 for a member of a unit
	Cost   privacy.Point // a δ of 1 promises nothing
	// Below lists the releases that a member moves by less than a whole unit does.
	Below []string
}

// Levels prices the job at each level that it names beside its unit, that of members first. What it says is worst over all
// that the run may choose in private, and the same before the run and after it.
func (p *Priced) Levels() []Level { // P37
	if p.charged != nil {
		return p.charged.Levels()
	}
	var out []Level
	if m := p.Job.Dataset.Key.Members; m != nil {
		steps := int64(2) // from neighbour to neighbour: a unit that stays, with other rows, goes and comes
		if p.inside == privacy.ReplaceOne {
			steps = 1 // the unit stays
		}
		event, below := p.ofMember(steps)
		out = append(out, Level{Name: m.Name, Cost: p.atLevel(event, steps), Below: below})
	}
	for _, g := range p.Job.Dataset.Key.Groups {
		var event privacy.Event
		if p.plain() {
			event, _ = privacy.OfMany(p.Event, p.inside, g.Value) // nil where it refuses
		}
		out = append(out, Level{Name: g.Name, AtMost: g.Value, Cost: p.atLevel(event, g.Value)})
	}
	return out
}

// plain reports whether Event is all that this job does to the table: no draw is another job's, too, and the table is no
// sample.
func (p *Priced) plain() bool {
	return p.table == nil && p.panel == nil && planned.StepOf(p.Job) == nil && len(p.AllKept()) == 0 && p.Event != nil
}

// atLevel returns what an event costs at the δ of the job. An event that is nil, or has no bound there, is left for what the
// job's own guarantee is worth to tables that lie so many steps apart.
func (p *Priced) atLevel(event privacy.Event, steps int64) privacy.Point {
	whole := p.guaranteed().OfMany(steps)
	if event == nil {
		return whole
	}
	a, err := privacy.EpsilonWith(event, p.inside, p.Answer.Delta, privacy.Options{Quick: true})
	if err != nil || math.IsInf(a.Epsilon, 1) || a.Delta >= whole.Delta && a.Epsilon >= whole.Epsilon {
		return whole
	}
	return privacy.Point{Epsilon: a.Epsilon, Delta: a.Delta}
}

// ofMember returns what the job does where one member of a unit comes or goes or, under replace-one, also changes. It names the
// releases that this moves by less than a whole unit. The event is nil where none is known.
//
// # Contract
//
// The tables are so many steps apart. They differ in one unit: in one row of the table of its members, and in any of its
// rows in other tables. Proof: levels.proof.md.
func (p *Priced) ofMember(steps int64) (event privacy.Event, below []string) {
	if !p.plain() {
		return nil, nil
	}
	var events []privacy.Event
	for _, d := range p.Draws {
		if samplers.Sampling(d.Design) != nil {
			e, err := privacy.OfSteps(d.Event, p.inside, steps)
			if err != nil {
				return nil, nil
			}
			events = append(events, e)
			continue
		}
		for _, k := range d.Paid() {
			e, err := privacy.OfSteps(k.Rule.Event(), p.inside, steps)
			if err != nil {
				return nil, nil
			}
			events = append(events, e)
		}
		for _, r := range d.PlannedDraw.Releases {
			e, less, err := p.moved(r, steps)
			if err != nil {
				return nil, nil
			}
			if events = append(events, e); less {
				below = append(below, r.Job.Name)
			}
		}
	}
	return compose(events), below
}

// moved returns the event of a release for one member. It reports whether that is less than what a whole unit does.
func (p *Priced) moved(r *PlannedRelease, steps int64) (event privacy.Event, less bool, err error) {
	whole, err := privacy.OfSteps(r.Event(), p.inside, steps)
	if err != nil || !p.countsMembers(r) {
		return whole, false, err
	}
	reach := p.reachOf(r)
	event, err = each(r.Plan.Event, func(noise privacy.Event) (privacy.Event, error) {
		return reach.of(noise, p.inside, steps)
	})
	if err != nil {
		return whole, false, nil
	}
	return event, !privacy.Equal(event, whole), nil
}

// countsMembers reports whether the vector of a release is a sum over kept rows of the table of members, of which a member
// has one: every value that it reads is of that row.
func (p *Priced) countsMembers(r *PlannedRelease) bool {
	about := r.Mech.About()
	builtin, _ := r.Mech.Origin()
	taken := p.Job.Of(r.Job.Table).Dataset.Partners(r.Reads()...)
	return builtin && about.Linear && about.Capped && r.Public.Cap != nil && !r.Apart && r.Tally == nil && r.Weights == nil &&
		!r.Job.Having.Said() && r.Job.Table == p.Job.Dataset.Key.Members.Table && len(taken) == 0
}

// each replaces the noises of a composition.
func each(e privacy.Event, by func(privacy.Event) (privacy.Event, error)) (privacy.Event, error) {
	switch e := e.(type) {
	case privacy.Compose:
		parts := make([]privacy.Event, len(e.Events))
		for i, part := range e.Events {
			var err error
			if parts[i], err = each(part, by); err != nil {
				return nil, err
			}
		}
		return privacy.Compose{Events: parts}, nil
	case privacy.Repeat:
		inner, err := each(e.Event, by)
		return privacy.Repeat{N: e.N, Event: inner}, err
	}
	return by(e)
}

// reach bounds how far one row of a capped unit moves a sum by cells, as shares of the sensitivity of the release under
// add-remove: in L1, and in L2.
type reach struct{ l1, l2 float64 }

// reachOf finds how far a row of a capped unit moves a release that countsMembers.
//
// # Contract
//
// A unit counts with at most r rows, chosen at random, in each of at most k cells, chosen at random, where k and r are those of
// the cap. Where it has a row more, that row may take the place of another one in its cell, or its cell that of another cell
// with r rows. Where the run chooses r in private, the bound holds for every r that it may choose. Proof: levels.proof.md.
func (p *Priced) reachOf(r *PlannedRelease) reach { // P22, P37
	cells, selected := int64(1), false
	if r.Cells != nil {
		cells, selected = int64(r.Cells.Len()), r.Cells.Selected()
	}
	caps := []int64{r.Public.Cap.Rows}
	if choice := r.cap.Choice; choice != nil {
		caps = choice.Caps()
	}
	var worst reach
	for _, rows := range caps {
		worst = worst.or(reachIn(cells, r.Public.Cap.Groups, rows, selected, r.Public.Relation))
	}
	return worst
}

// or returns the bound that holds where either does.
func (x reach) or(y reach) reach { return reach{math.Max(x.l1, y.l1), math.Max(x.l2, y.l2)} }

// reachIn is reachOf for a cap of so many groups and rows in so many cells. Selected says that there may be more cells.
func reachIn(cells, groups, rows int64, selected bool, rel privacy.Relation) reach {
	k, r := float64(min(groups, cells)), float64(rows)
	pushed, changes := cells > groups || selected, rel == privacy.ReplaceOne
	l1, square := 2.0, 4.0 // in lengths of the vector of a row
	switch {
	case pushed && changes:
		l1, square = r+3, math.Max(8, r*r+5)
	case pushed:
		l1, square = r+1, math.Max(4, r*r+1)
	case changes && cells > 1:
		l1, square = 4, 8
	}
	return reach{l1 / (k * r), math.Sqrt(square/k) / r} // the sensitivity is that of k·r of the longest rows
}

// of returns a noise of the release for such a row.
func (x reach) of(noise privacy.Event, rel privacy.Relation, steps int64) (privacy.Event, error) {
	switch e := noise.(type) {
	case privacy.DiscreteLaplace:
		if unit := e.Sensitivity.AddRemove; unit > 0 {
			return privacy.Moved(e, rel, steps, func(float64) float64 { return x.l1 * unit })
		}
	case privacy.DiscreteGaussian:
		if unit := e.Sensitivity.AddRemove; unit > 0 {
			return privacy.Moved(e, rel, steps, func(float64) float64 { return x.l2 * unit })
		}
	}
	return privacy.OfSteps(noise, rel, steps)
}
