package planned

import (
	"cmp"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/rows/keys"
	"github.com/dprelease/dprelease/ledger"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
	"github.com/dprelease/dprelease/privacy/step"
	"github.com/dprelease/dprelease/samplers"
)

// Draw is one sample, or the table, and what is released from it.
type Draw struct {
	Sampled
	Releases []*Release
	Keys     []*Keys // the selections of the values that its releases group by
}

// Sampled is one sample, or the table.
type Sampled struct {
	Name   string
	Design samplers.Design
	Kept   *Kept // nil where no other job uses it
}

// SampleID returns the id of a shared draw; own is that of a draw which this run keeps, "" in a plan.
func (d *Sampled) SampleID(own string) string {
	if d.Kept.Node != nil {
		return d.Kept.Node.ID
	}
	return cmp.Or(d.Kept.ID, own, d.Name)
}

// PublicColumns are the columns in which a neighbour is the same, or else what is
// charged does not hold: those of the design's frame (P5), and those that are declared
// immutable where a release reads them and may count on it (P11).
func (d *Draw) PublicColumns(j *job.Job) []string {
	out := slices.Clone(d.Design.Facts().UnitColumns)
	if k, ok := d.Design.(*samplers.Kept); ok {
		out = k.PublicColumns()
	}
	if j.Dataset.Relation != privacy.ReplaceOne {
		return out
	}
	for _, r := range d.Releases {
		names := r.Plan.Columns
		if r.Fixed {
			names = slices.Concat(names, r.Job.By)
		}
		for _, name := range names {
			c, ok := r.Public.Column(name)
			columns := []string{name}
			if r.Cells.Label(name) {
				columns = r.Job.By
			}
			if !ok || !c.Immutable && !(r.Fixed && slices.Contains(r.Job.By, name)) {
				continue
			}
			for _, name := range columns {
				if !slices.Contains(out, name) {
					out = append(out, name)
				}
			}
		}
	}
	if s := j.Dataset.Slice; s != nil && !slices.Contains(out, s.Column) {
		out = append(out, s.Column) // P26
	}
	return out
}

// Keys is the private selection of the values of a group column that nobody lists
// (P25): a part of a draw with a price of its own. Releases with the same groups of the same
// rows share it.
type Keys struct {
	Job    job.Release // the release that says what it may cost
	Column string      // the group column
	Share  privacy.Point
	Rule   keys.Rule
}

// Kept holds the state of a draw that several jobs share. The releases of all of them
// are composed, and then amplified once (P4).
type Kept struct {
	Node *ledger.Node // as earlier jobs left it; nil where this job makes the draw
	ID   string       // of a draw that made the table
	Rule *privacy.Reuse
}

// Reused reports whether an earlier job made the draw.
func (k *Kept) Reused() bool { return k != nil && k.Node != nil }

// node is the draw of an earlier job, nil for none.
func (k *Kept) node() *ledger.Node {
	if k == nil {
		return nil
	}
	return k.Node
}

// of reports whether a sample of a job is kept, or was, as the state says.
func (k *Kept) of(s job.Sample, drawn bool) bool {
	if k == nil || k.ID != "" || !drawn {
		return k == nil && !s.Keep && s.Method != job.Kept
	}
	if k.Reused() {
		return s.Method == job.Kept && k.Node.ID == s.ID
	}
	return s.Keep
}

// State is the state of the draw that the plan begins with.
func (k *Kept) State() step.State {
	if k.Node != nil {
		return k.Node.State
	}
	return step.Fresh()
}

// Before is the ε that earlier jobs spent on the sample, rounded up.
func (k *Kept) Before() float64 { return rational.Up(k.State().Spent.Epsilon) }

// Earlier is the event of all that earlier jobs released from the draw.
func (k *Kept) Earlier() []privacy.Event {
	if !k.Reused() {
		return nil
	}
	s := k.State().Spent
	return []privacy.Event{privacy.Approx{Eps: rational.Up(s.Epsilon), Delta: rational.Up(s.Delta)}}
}
