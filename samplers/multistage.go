package samplers

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/privacy"
)

// Stage is one stage of a Multistage design: of the units named by a key column,
// Take, or All, below each unit drawn in the stage above. The last stage has no
// Unit: it takes records. AtMost takes all below a unit that holds fewer than Take.
type Stage struct {
	Unit   string
	Take   int64
	All    bool
	AtMost bool
}

// Multistage draws units below units, stage by stage, then records.
//
// # Contract
//
// At each stage, below each unit that was drawn above, every subset of exactly
// Take units (or records) is drawn with the same probability, independently of
// the draws below other units. A record of an ultimate unit u is drawn with the
// probability 1/weight(u), Π Take_j/N_j over the units that it lies in. The event
// is multistage{...} with the largest rate and the largest number taken of each
// stage (P5), under replace-one: a neighbour changes one record inside its
// ultimate unit. The frame is public and must not depend on the data. That each
// unit has the number of records that the frame says is checked. Proof:
// multistage.proof.md.
type Multistage struct {
	overFrame
	stages []Stage
	root   *node
	event  []privacy.Stage
	least  int64 // so many rows are drawn at least
}

// NewMultistage returns the design with these stages over a frame: one for each
// of its key columns, from the top, and one for records.
func NewMultistage(frame *Frame, stages []Stage) (*Multistage, error) {
	if frame == nil {
		return nil, fmt.Errorf("stages: need a public frame of the ultimate units")
	}
	if err := checkStages(frame, stages); err != nil {
		return nil, err
	}
	d := &Multistage{
		overFrame: overFrame{frame: frame, weights: make([]float64, frame.Len())},
		stages:    slices.Clone(stages), root: frame.tree(), event: make([]privacy.Stage, len(stages)),
	}
	least, most, err := d.plan(d.root, 0, 1)
	if err != nil {
		return nil, err
	}
	d.least, d.facts.Population, d.facts.LargestCount = least, frame.records, most
	if least == most {
		d.facts.SampleSize = most
	}
	d.settle()
	return d, nil
}

func checkStages(frame *Frame, stages []Stage) error {
	if len(stages) != len(frame.columns)+1 {
		return fmt.Errorf("stages: need one for each key column of the frame and a last one, without a unit, for records (%d, not %d)",
			len(frame.columns)+1, len(stages))
	}
	for i, s := range stages {
		switch last := i == len(stages)-1; {
		case last && s.Unit != "":
			return fmt.Errorf("stages[%d].unit: the last stage takes records and has no unit", i)
		case !last && s.Unit != frame.columns[i]:
			return fmt.Errorf("stages[%d].unit: must be %q, the key column of the frame at this place", i, frame.columns[i])
		case s.All && s.Take != 0:
			return fmt.Errorf("stages[%d].take: give a number or all, not both", i)
		case !s.All && s.Take < 1:
			return fmt.Errorf("stages[%d].take: must be at least 1, or all", i)
		}
	}
	return nil
}

// plan walks the frame below n, whose units are taken by stages[j], and notes
// the largest rates and the weights. It returns the least and the greatest
// number of records that a draw can hold below n, once n is drawn.
func (d *Multistage) plan(n *node, j int, weight float64) (least, most int64, err error) {
	of := n.size()
	take := d.taken(n, j)
	if take > of || of == 0 {
		return 0, 0, fmt.Errorf("stages[%d].take: %s holds %d %s, fewer than are to be taken (%d)",
			j, name(n.key), of, d.called(j), max(take, 1))
	}
	d.note(j, take, of)
	weight *= float64(of) / float64(take)
	if n.children == nil {
		d.weights[n.unit] = weight
		return take, take, nil
	}
	lows, highs := make([]int64, of), make([]int64, of)
	for i, c := range n.children {
		if lows[i], highs[i], err = d.plan(c, j+1, weight); err != nil {
			return 0, 0, err
		}
	}
	slices.Sort(lows)
	slices.Sort(highs)
	for i := range take {
		least += lows[i]
		most += highs[of-1-i]
	}
	return least, most, nil
}

// note keeps the largest rate of stage j and, where units take unequal numbers,
// the largest of them.
func (d *Multistage) note(j int, take, of int64) {
	e := &d.event[j]
	if e.Of != 0 && (e.MaxTake > 0 || take != e.Take) {
		e.MaxTake = max(e.MaxTake, e.Take, take)
	}
	// take/of > e.Take/e.Of, in integers; among equal rates the larger unit.
	a, b := product(take, e.Of), product(e.Take, of)
	if e.Of == 0 || a.greater(b) || a == b && of > e.Of {
		e.Take, e.Of = take, of
	}
}

// taken is the number of units, or records, that stages[j] takes below n.
func (d *Multistage) taken(n *node, j int) int64 {
	s := d.stages[j]
	if s.All || s.AtMost && s.Take > n.size() {
		return n.size()
	}
	return s.Take
}

func (d *Multistage) called(j int) string {
	if u := d.stages[j].Unit; u != "" {
		return "units of " + u
	}
	return "records"
}

// Kind is "multistage".
func (*Multistage) Kind() string { return "multistage" }

// Event is multistage{stages}.
func (d *Multistage) Event(inner privacy.Event) privacy.Event {
	return privacy.Multistage{Stages: slices.Clone(d.event), Event: inner}
}

// Supports is nil under replace-one.
func (d *Multistage) Supports(rel privacy.Relation) error {
	return onlyUnder(d.Kind(), privacy.ReplaceOne, rel, "its frame publishes the number of records of every unit")
}

func (d *Multistage) begin(src *noise.Source, rows int64) (Selector, error) {
	if rows >= 0 && rows != d.frame.records {
		return nil, fail(SizeMismatch)
	}
	s := newUnitSelector(src, d.overFrame)
	d.drawUnits(src, d.root, 0, s)
	return s, src.Err()
}

// drawUnits draws below n, which was drawn, down to the number of records that
// are needed from each ultimate unit.
func (d *Multistage) drawUnits(src *noise.Source, n *node, j int, s *unitSelector) {
	need := d.taken(n, j)
	if n.children == nil {
		s.need[n.unit] = need
		return
	}
	for i, c := range n.children {
		if left := n.size() - int64(i); takes(src, need, left) {
			need--
			d.drawUnits(src, c, j+1, s)
		}
		if need == 0 {
			return
		}
	}
}

// wide is a product of two numbers that int64 holds.
type wide struct{ hi, lo uint64 }

func (a wide) greater(b wide) bool { return a.hi > b.hi || a.hi == b.hi && a.lo > b.lo }

func product(a, b int64) (w wide) {
	w.hi, w.lo = bits.Mul64(uint64(a), uint64(b))
	return w
}
