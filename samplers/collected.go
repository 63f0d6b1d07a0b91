package samplers

import (
	"fmt"
	"slices"

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/privacy"
)

// Collected draws nothing: somebody else drew the table from its population, as in a
// survey, by a design of this package (P3, P29).
//
// # Contract
//
// The event is that of the design by which the table was drawn from its population, or the
// inner event alone where the draws have unequal sizes (P5). The caller vouches that the table
// was drawn so, by a draw that is secret, and that the design's numbers are public and were not
// made from the data. Proof: full.proof.md.
type Collected struct {
	by Design
	// bare says that the number of rows, which is public, tells about the units that were drawn.
	bare bool
}

// NewCollected returns the design of a table of size rows that was collected as
// a simple random sample of population units.
func NewCollected(size, population int64) (*Collected, error) {
	if size < 1 {
		return nil, fmt.Errorf("size: a collected sample needs its public number of rows, at least 1")
	}
	if population < size {
		return nil, fmt.Errorf("population: must be at least the size of the sample (%d < %d)", population, size)
	}
	return &Collected{by: &SRSWOR{size: size, population: population}}, nil
}

// NewCollectedBy returns the design of a table that somebody drew from its population by
// another design, whose frame is that of the population. Stages that take unequal numbers below
// the units of a stage, such as whole clusters of unequal size, amplify nothing.
func NewCollectedBy(by Design) (*Collected, error) {
	c := &Collected{by: by}
	switch by := by.(type) {
	case *Poisson, *StratifiedPoisson, *StratifiedTake:
	case *SRSWOR:
		return NewCollected(by.size, by.population)
	case *Multistage:
		for _, s := range by.event {
			c.bare = c.bare || s.MaxTake > 0
		}
	default:
		return nil, fmt.Errorf("nobody collects a table by a design of this kind")
	}
	return c, nil
}

// Kind is "collected".
func (*Collected) Kind() string { return "collected" }

// Event returns the event of the draw that made the table, as far as it amplifies.
func (d *Collected) Event(inner privacy.Event) privacy.Event {
	if d.bare {
		return inner
	}
	return d.by.Event(inner)
}

// Supports asks the draw that made the table whether it supports a relation.
func (d *Collected) Supports(rel privacy.Relation) error { return d.by.Supports(rel) }

// Facts are those of the draw that made the table.
func (d *Collected) Facts() Facts { return d.by.Facts() }

// Holds reports whether a draw can have so many rows.
func (d *Collected) Holds(rows int64) bool {
	if m, ok := d.by.(*Multistage); ok {
		return m.least <= rows && rows <= m.facts.LargestCount
	}
	return d.by.Facts().SampleSize == rows
}

func (d *Collected) begin(_ *noise.Source, rows int64) (Selector, error) {
	return everyRow(rows, d.by.Facts().SampleSize)
}

// Gathered is a collected table, or a draw from it, with the weights of its collection.
//
// # Contract
//
// It selects what its draw from the table selects. Every row has the weight 1/π of its
// collection times that of the draw. The event is the draw's: what the collection does to
// privacy is the matter of Collected, and happened once for all draws (P4). Done fails,
// with a fixed code, where the table has other numbers of rows in the units of the
// population's frame than its collection takes. Proof: full.proof.md.
type Gathered struct {
	by, draw Design
	frame    *Frame    // of the population, nil where the collection needs none
	weights  []float64 // by unit of the frame, nil where all are equal
	facts    Facts
	panel    *privacy.Rotation // of which the table is a wave
}

// NewWave returns the design of a table that is one wave of a panel. Each unit was allotted
// by itself, so one wave is a Poisson sample at its chance.
//
// # Contract
//
// That of privacy.Rotation. The event is that of the whole panel, with the same in each
// wave, and is charged once for all waves. The size of the table is secret. Proof:
// ../privacy/rotation.proof.md.
func NewWave(panel privacy.Rotation, wave int64) (*Gathered, error) {
	if err := privacy.Validate(panel.With(privacy.Pure{Eps: 1})); err != nil {
		return nil, err
	}
	if wave < 1 || wave > panel.Waves {
		return nil, fmt.Errorf("wave: must lie between 1 and %d", panel.Waves)
	}
	rate, err := ParseRate(panel.Chance(wave).RatString())
	if err != nil {
		return nil, err
	}
	by, err := NewPoisson(rate, 0)
	if err != nil {
		return nil, err
	}
	draw, err := NewFull(0)
	if err != nil {
		return nil, err
	}
	d, err := NewGathered(&Collected{by: by}, draw)
	if err == nil {
		d.panel = &panel
	}
	return d, err
}

// NewGathered returns a draw from a table that was collected by a design with weights:
// the whole table, or a Poisson sample.
func NewGathered(c *Collected, draw Design) (*Gathered, error) {
	d := &Gathered{by: c.by, draw: draw, facts: c.by.Facts()}
	switch draw.(type) {
	case *Full, *Poisson:
	default:
		return nil, fmt.Errorf("from a table that was collected with weights only a poisson sample can be drawn: what a fixed number of " +
			"its rows costs together has no event")
	}
	f := draw.Facts()
	if d.facts.LargestCount = f.LargestCount; !c.bare { // else the table has another number of rows in each draw
		d.facts.SampleSize = f.SampleSize
	}
	d.facts.MinWeight *= f.MinWeight
	d.facts.MaxWeight *= f.MaxWeight
	d.facts.Rate *= f.Rate
	framed, ok := c.by.(interface {
		Frame() *Frame
		Weight(u int32) float64
	})
	if !ok {
		return d, nil
	}
	if d.frame = framed.Frame(); !d.facts.EqualWeights {
		for u := range d.frame.Len() {
			d.weights = append(d.weights, framed.Weight(int32(u))*f.MaxWeight)
		}
	}
	return d, nil
}

// Kind returns the kind of the collection.
func (d *Gathered) Kind() string { return d.by.Kind() }

// Event returns the event of the draw from the table, or that of the panel.
func (d *Gathered) Event(inner privacy.Event) privacy.Event {
	if d.panel != nil {
		return d.panel.With(inner)
	}
	return d.draw.Event(inner)
}

// Supports asks the draw from the table whether it supports a relation.
func (d *Gathered) Supports(rel privacy.Relation) error {
	if d.panel != nil {
		return d.by.Supports(rel)
	}
	return d.draw.Supports(rel)
}

// Facts are those of both draws together.
func (d *Gathered) Facts() Facts { return d.facts }

// Draw is the draw from the table, with its own weights alone.
func (d *Gathered) Draw() Design { return d.draw }

// Frame returns the frame of the population, nil where the collection needs none.
func (d *Gathered) Frame() *Frame { return d.frame }

// Whole reports whether a design takes every row and asks for no row's unit.
func Whole(d Design) bool {
	if g, ok := d.(*Gathered); ok && g.frame == nil {
		d = g.draw
	}
	switch d.(type) {
	case *Full, *Collected:
		return true
	}
	return false
}

func (d *Gathered) begin(src *noise.Source, rows int64) (Selector, error) {
	s, err := d.draw.begin(src, rows)
	if d.frame == nil || err != nil {
		return s, err
	}
	return &gatheredSelector{unitwise: unitwise{walk: walk{rows: rows}, src: src, weights: d.weights}, drawn: s, design: d,
		counts: make([]int64, d.frame.Len())}, nil
}

// gatheredSelector counts the rows of every unit as they go by.
type gatheredSelector struct {
	unitwise
	drawn  Selector // of the draw from the table
	design *Gathered
	counts []int64
}

func (s *gatheredSelector) NextUnits(units []int32) (Selection, error) {
	sel, err := s.drawn.NextUnits(units)
	if err == nil {
		err = s.block(len(units))
	}
	if err != nil {
		return Selection{}, err
	}
	_, rates := s.design.by.(*StratifiedPoisson)
	for row, u := range units {
		switch {
		case u >= 0 && int(u) < len(s.counts):
			if s.counts[u]++; sel.All {
				s.take(row, u)
			}
		case !rates: // with rates a row in no stratum counts for nothing
			return Selection{}, fail(FrameMismatch)
		}
	}
	for _, row := range sel.Rows {
		if u := units[row]; u >= 0 && int(u) < len(s.counts) {
			s.take(int(row), u)
		}
	}
	return s.taken()
}

// Done compares the table with what its collection takes.
func (s *gatheredSelector) Done() error {
	if err := s.drawn.Done(); err != nil {
		return err
	}
	if !s.design.Fits(s.counts) {
		return fail(FrameMismatch)
	}
	return nil
}

// Fits reports whether a collection can have these counts of rows in the units of its frame.
// The answer is private until the budget is spent.
func (d *Gathered) Fits(counts []int64) bool {
	switch by := d.by.(type) {
	case *StratifiedTake:
		return slices.Equal(by.take, counts)
	case *Multistage:
		drawn, ok := by.made(by.root, 0, counts)
		return drawn && ok
	}
	return true
}

// made reports whether any rows lie below n, and whether they may be a draw's.
func (d *Multistage) made(n *node, j int, counts []int64) (drawn, ok bool) {
	have, ok := int64(0), true
	if n.children == nil {
		have = counts[n.unit]
	}
	for _, c := range n.children {
		below, fits := d.made(c, j+1, counts)
		if ok = ok && fits; below {
			have++
		}
	}
	return have > 0, ok && (have == 0 || have == d.taken(n, j))
}
