package run

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/rows"
	"github.com/dprelease/dprelease/internal/rows/units"
	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/samplers"
)

// picker chooses the rows of each block, in the order of the table, and keeps
// their weights until the block is delivered. What it drew can be replayed: all
// that is released from one draw sees the same rows, however many scans that
// takes.
type picker struct {
	selector samplers.Selector
	units    []int32 // the ultimate unit of every row, nil where the design has none
	every    bool    // of the table; nothing is left to pick
	keep     bool    // remember the picks for another scan
	picks    map[int64]samplers.Selection
	next     []weighted // blocks on their way

	index       unitNumbers        // the unit of every row, nil where a row is one
	drawn       *units.RowSet      // the units that were drawn
	unitWeights []float64          // their weights, nil where all are equal
	recorder    *samplers.Recorder // writes the draw down where it is kept for other jobs
}

func newPicker(s samplers.Selector, units []int32, keep bool) *picker {
	return &picker{selector: s, units: units, keep: keep, picks: map[int64]samplers.Selection{}}
}

// takeAll walks the table at once for a design that takes all of it, so that no
// block has to be asked about.
func (p *picker) takeAll(d samplers.Design, rows int64) error {
	if !samplers.Whole(d) || p.recorder != nil {
		return nil
	}
	for left := rows; left > 0; {
		n := min(left, math.MaxInt32)
		sel, err := p.selector.Next(int(n))
		if err != nil {
			return err
		}
		if !sel.All {
			return &samplers.Error{Code: samplers.Misuse}
		}
		left -= n
	}
	p.every = true
	return nil
}

func (p *picker) pick(b table.Block) (table.Pick, error) {
	if p.index != nil {
		return p.rowsOfDrawn(b)
	}
	sel, known := p.picks[b.First]
	if !known {
		var err error
		if sel, err = p.draw(b); err != nil {
			return table.Pick{}, err
		}
		if p.recorder != nil {
			if err := p.recorder.Add(b.Rows, sel); err != nil {
				return table.Pick{}, err
			}
		}
		if p.keep {
			sel = samplers.Selection{All: sel.All, Rows: append([]uint32(nil), sel.Rows...), Weights: append([]float64(nil), sel.Weights...)}
			p.picks[b.First] = sel
		}
	}
	if len(sel.Weights) > 0 {
		p.next = append(p.next, weighted{b.First, append([]float64(nil), sel.Weights...)})
	}
	return table.Pick{All: sel.All, Rows: sel.Rows}, nil
}

func (p *picker) draw(b table.Block) (samplers.Selection, error) {
	if p.units != nil {
		return p.selector.NextUnits(p.units[b.First : b.First+int64(b.Rows)])
	}
	return p.selector.Next(b.Rows)
}

// weighted is the design weights of the rows picked of a block.
type weighted struct {
	first   int64 // row of the table
	weights []float64
}

// weights returns the design weights of a delivered block, or of several in a row,
// once. Blocks are delivered in the order in which they were picked.
func (p *picker) weights(b table.Block) []float64 {
	var all []float64
	for len(p.next) > 0 && p.next[0].first < b.First+int64(b.Rows) {
		if all == nil {
			all = p.next[0].weights
		} else {
			all = append(all, p.next[0].weights...)
		}
		p.next[0] = weighted{}
		p.next = p.next[1:]
	}
	return all
}

// drawUnits draws all units at once, for a table in which a unit has several rows: from
// then on a row is picked when its unit was drawn (P23).
func (p *picker) drawUnits(index unitNumbers, population int64) error {
	if p.every {
		return nil
	}
	p.drawn, p.index = units.NewRowSet(population), index
	for first := int64(0); first < population; first += unitBlock {
		n := int(min(unitBlock, population-first))
		sel, err := p.draw(table.Block{First: first, Rows: n})
		if err != nil {
			return err
		}
		if p.recorder != nil {
			if err := p.recorder.Add(n, sel); err != nil {
				return err
			}
		}
		if len(sel.Weights) > 0 && p.unitWeights == nil {
			p.unitWeights = make([]float64, population)
		}
		for i := range n {
			if sel.All {
				p.drawn.Add(first + int64(i))
			}
		}
		for i, u := range sel.Rows {
			p.drawn.Add(first + int64(u))
			if p.unitWeights != nil {
				p.unitWeights[first+int64(u)] = sel.Weights[i]
			}
		}
	}
	return nil
}

// unitNumbers gives rows the numbers of their units.
type unitNumbers interface {
	Numbers(first int64, dst []int32) error
}

// itself numbers folded units, whose rows are units.
type itself struct{}

func (itself) Numbers(first int64, dst []int32) error {
	for i := range dst {
		dst[i] = int32(first) + int32(i)
	}
	return nil
}

// on returns the draw as a table sees it: the units that were drawn reach all tables (P23, P32).
func (p *picker) on(v *tableView) *picker {
	if v.index == nil || p.every {
		return p
	}
	one := &picker{index: v.index, units: p.units, drawn: p.drawn, unitWeights: p.unitWeights}
	if v.folds() {
		one.index = itself{}
	}
	return one
}

// ofUnits returns the draw as a source with one row for each unit sees it, in the order of the units' numbers.
func (p *picker) ofUnits() *picker {
	if p.every {
		return p
	}
	return &picker{index: itself{}, drawn: p.drawn, unitWeights: p.unitWeights}
}

// unitBlock is the number of units that are drawn at once.
const unitBlock = 1 << 16

// rowsOfDrawn picks the rows of the units that were drawn.
func (p *picker) rowsOfDrawn(b table.Block) (table.Pick, error) {
	var picked []uint32
	var weights []float64
	units := make([]int32, b.Rows)
	if err := p.index.Numbers(b.First, units); err != nil {
		return table.Pick{}, err
	}
	for i, unit := range units {
		if unit < 0 || !p.drawn.Has(int64(unit)) {
			continue
		}
		picked = append(picked, uint32(i))
		if p.unitWeights != nil {
			weights = append(weights, p.unitWeights[unit])
		}
	}
	if weights != nil {
		p.next = append(p.next, weighted{b.First, weights})
	}
	return table.Pick{Rows: picked}, nil
}

// sample is one scan of the rows of a draw: every block's columns are prepared
// once and handed to all sinks.
type sample struct {
	source     rowSource
	content    *table.Content
	job        *job.Job
	lookups    []*rows.Lookup
	folded     bool         // the rows are units
	columns    []job.Column // the union of what the releases read
	conditions []job.Expression
	present    bool // some units have no row that counts, and are left out
	picker     *picker
	progress   func(rows int64)
	done       func(rows int64, columns []*Preparer) // told what the scan saw
	found      planned.Bounds                        // the bounds of columns that searches found
}

// want adds a column to the scan and returns where it stands.
func (s *sample) want(column string) int {
	c, _ := s.job.Dataset.Column(column)
	return s.wantAs(c)
}

// wantAs adds a column that is read with a domain or bounds of its own.
func (s *sample) wantAs(c job.Column) int {
	at := slices.IndexFunc(s.columns, func(o job.Column) bool {
		return o.Name == c.Name && o.Lower == c.Lower && o.Upper == c.Upper && len(o.Domain) == len(c.Domain) &&
			(len(c.Domain) == 0 || &o.Domain[0] == &c.Domain[0])
	})
	if at < 0 {
		at = len(s.columns)
		s.columns = append(s.columns, c)
	}
	return at
}

func appended(list *[]string, s string) int {
	if at := slices.Index(*list, s); at >= 0 {
		return at
	}
	*list = append(*list, s)
	return len(*list) - 1
}

// condition adds a condition to the scan and returns where its mask stands.
func (s *sample) condition(e job.Expression) int {
	at := slices.IndexFunc(s.conditions, func(o job.Expression) bool { return o.Text == e.Text })
	if at < 0 {
		at = len(s.conditions)
		s.conditions = append(s.conditions, e)
	}
	return at
}

// block is some rows of a sample, prepared.
type block struct {
	rows    int
	first   int64 // row of the source
	picked  table.Pick
	ready   []sdk.Values
	masks   [][]byte
	present []byte // the rows that count, nil for all
	weights []float64
}

// row returns the position of a row in the source.
func (b *block) row(i int) int64 {
	if b.picked.All {
		return b.first + int64(i)
	}
	return b.first + int64(b.picked.Rows[i])
}

// run scans the sample. It waits for the sinks to be ready with the first rows in
// its hands: what is read until then costs no time.
func (s *sample) run(ctx context.Context, sinks []sink, wait func() error) error {
	wait = sync.OnceValue(wait)
	in, err := newReading(s.job, s.lookups, s.columns, s.conditions, s.folded)
	if err != nil {
		return err
	}
	scan, present := newPass(s.source, s.content, in), -1
	scan.picks, scan.progress = s.picker, s.progress
	if s.present {
		present = scan.column(presence)
	}
	preparers := in.preparers(s.present)
	for i, c := range s.columns {
		if b, ok := s.found[c.Name]; ok && c.Bounds != nil {
			preparers[i].over(b)
		}
	}
	count := int64(0)
	err = scan.run(ctx, func(b table.Batch) error {
		if err := wait(); err != nil {
			return err
		}
		count += int64(b.Rows)
		out := in.block(b)
		if present >= 0 {
			out.present = positive(b.Columns[present], b.Rows) // before it is clipped, which may write to the columns
		}
		if out.ready, err = in.prepare(preparers, b.Rows); err != nil {
			return err
		}
		out.weights = s.picker.weights(b.Block)
		if err := fanOut(sinks, out); err != nil {
			return &sinkError{err}
		}
		return nil
	})
	if err == nil {
		err = wait() // a sample may be empty
	}
	if err == nil {
		s.done(count, preparers)
	}
	return err
}

// positive is a bitmap of the numbers that are above zero.
func positive(v table.Values, rows int) []byte {
	out := make([]byte, (rows+7)/8)
	for i := range rows {
		if v.Float64[i] > 0 && !v.Null(i) {
			out[i>>3] |= 1 << (i & 7)
		}
	}
	return out
}
