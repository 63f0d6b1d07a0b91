package run

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/dprelease/dprelease/internal/host"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/table"
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
	next     []weighted         // blocks on their way
	recorder *samplers.Recorder // writes the draw down where it is kept for other jobs
}

func newPicker(s samplers.Selector, units []int32, keep bool) *picker {
	return &picker{selector: s, units: units, keep: keep, picks: map[int64]samplers.Selection{}}
}

// takeAll walks the table at once for a design that takes all of it, so that no
// block has to be asked about.
func (p *picker) takeAll(d samplers.Design, rows int64) error {
	if kind := d.Kind(); kind != "full" && kind != "collected" || p.recorder != nil {
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

// sample is one scan of the rows of a draw: every block's columns are prepared
// once and handed to all sinks.
type sample struct {
	table    *table.Table
	content  *table.Content
	job      *job.Job
	columns  []string // the union of what the releases read
	picker   *picker
	progress func(rows int64)
	done     func(rows int64, columns []*Preparer) // told what the scan saw
}

// sink is where one release's rows go: which of the prepared columns it wants,
// and the writer that hands them to the mechanism.
type sink struct {
	wants []int
	rows  host.RowWriter
}

// want adds the columns of one release to the scan and returns where they stand.
func (s *sample) want(columns []string) []int {
	wants := make([]int, len(columns))
	for i, name := range columns {
		at := slices.Index(s.columns, name)
		if at < 0 {
			at = len(s.columns)
			s.columns = append(s.columns, name)
		}
		wants[i] = at
	}
	return wants
}

func (s sink) write(rows int, ready []sdk.Values, weights []float64) error {
	some := make([]sdk.Values, len(s.wants))
	for i, k := range s.wants {
		some[i] = ready[k]
	}
	return s.rows.Write(sdk.Batch{Rows: rows, Columns: some, Weights: weights})
}

// run scans the sample. It waits for the sinks to be ready with the first rows in
// its hands: what is read until then costs no time.
func (s *sample) run(ctx context.Context, sinks []sink, wait func() error) error {
	wait = sync.OnceValue(wait)
	preparers := make([]*Preparer, len(s.columns))
	for i, name := range s.columns {
		c, _ := s.job.Dataset.Column(name)
		preparers[i] = NewPreparer(c)
	}
	ready := make([]sdk.Values, len(s.columns))
	rows := int64(0)
	visit := func(b table.Batch) error {
		if err := wait(); err != nil {
			return err
		}
		rows += int64(b.Rows)
		for i, p := range preparers {
			v, err := p.Prepare(b.Columns[i], b.Rows)
			if err != nil {
				return err
			}
			ready[i] = sdk.Values{Float64: v.floats, Codes: v.Codes, Valid: v.valid}
		}
		weights := s.picker.weights(b.Block)
		if err := fanOut(sinks, b.Rows, ready, weights); err != nil {
			return &sinkError{err}
		}
		return nil
	}
	o := table.ScanOptions{Columns: s.columns, Content: s.content, Pick: s.picker.pick, Progress: s.progress}
	if s.picker.every {
		o.Pick = nil
	}
	err := s.table.Scan(ctx, o, visit)
	if err == nil {
		err = wait() // a sample may be empty
	}
	if err == nil {
		s.done(rows, preparers)
	}
	return err
}

// sinkError says that a mechanism takes no more rows.
type sinkError struct{ error }

func (e *sinkError) Unwrap() error { return e.error }

// fanOut writes one block to every sink at once and waits for all of them.
func fanOut(sinks []sink, rows int, ready []sdk.Values, weights []float64) error {
	if len(sinks) == 1 {
		return sinks[0].write(rows, ready, weights)
	}
	errs := make(chan error, len(sinks))
	for _, s := range sinks {
		go func() { errs <- guarded(func() error { return s.write(rows, ready, weights) }) }()
	}
	var all []error
	for range sinks {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}
