package run

import (
	"errors"
	"slices"

	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/internal/rows"
	"github.com/dprelease/dprelease/internal/rows/units"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// sink is the destination of one release's rows: which of the prepared columns it reads, which rows
// count, and the writer that hands them to the mechanism.
type sink struct {
	wants []int // of the prepared columns; cellsAt stands for the column of cells, clustersAt for that of clusters
	masks []int // of the conditions, all of which must hold
	cap   *units.Kept
	cells *celled
	to    host.RowWriter

	weigher  *planned.Weigher // nil where the rows have no weights of their own
	weightAt int              // of the prepared columns

	units    []int32     // the ultimate unit of every row of the source, or of every unit of privacy
	index    unitNumbers // the unit of privacy of every row, nil where a row is one
	clusters []int32     // the cluster of each ultimate unit
}

// cellsAt stands among the columns of a sink for its column of cells, clustersAt for that of the
// clusters that were drawn first.
const (
	cellsAt    = -1
	clustersAt = -2
)

// celled computes the cell of each row from the codes of the group columns.
type celled struct {
	by      []int // of the prepared columns
	cells   rows.Cells
	codes   []int32
	columns [][]int32
}

func newCelled(c *planned.Cells, s *sample) *celled {
	out := &celled{cells: rows.Cells{Other: -1}}
	for _, b := range c.By {
		out.by = append(out.by, s.wantAs(b))
		out.cells.Sizes = append(out.cells.Sizes, int32(len(b.Domain)))
	}
	if c.Other != "" {
		out.cells.Other = int32(c.Len() - 1)
	}
	return out
}

// of is the cell of each row, -1 where the row does not count.
func (c *celled) of(n int, ready []sdk.Values, mask []byte) []int32 {
	if len(c.by) == 1 && c.cells.Other < 0 && mask == nil {
		return ready[c.by[0]].Codes // as they are: nobody writes to them
	}
	if cap(c.codes) < n {
		c.codes = make([]int32, n)
	}
	c.columns = c.columns[:0]
	for _, at := range c.by {
		c.columns = append(c.columns, ready[at].Codes)
	}
	c.cells.Code(c.codes[:n], c.columns, mask)
	return c.codes[:n]
}

// newSink lists what a release reads of a sample.
func newSink(s *sample, rel *planned.Release, capped *units.Kept) sink {
	out := sink{cap: capped}
	for _, name := range rel.Plan.Columns {
		switch {
		case rel.Cells.Label(name):
			out.wants = append(out.wants, cellsAt)
		case rel.Clusters.In(name):
			out.wants = append(out.wants, clustersAt)
			out.units, out.index, out.clusters = s.picker.units, s.picker.index, rel.Clusters.Of
		default:
			out.wants = append(out.wants, s.want(name))
		}
	}
	if rel.Cells != nil {
		out.cells = newCelled(rel.Cells, s)
	}
	if out.weigher = rel.Weights; rel.Weights != nil {
		out.weightAt = s.wantAs(rel.Weights.Column)
	}
	if rel.Job.Where.Said() && !s.folded { // else it was applied before the fold (P24)
		out.masks = append(out.masks, s.condition(rel.Job.Where))
	}
	if rel.Job.Having.Said() {
		out.masks = append(out.masks, s.condition(rel.Job.Having))
	}
	return out
}

// write hands one block of prepared columns to the mechanism.
func (s *sink) write(b block) error {
	mask, weights := s.mask(b), s.weights(b)
	some := make([]sdk.Values, len(s.wants))
	for i, k := range s.wants {
		switch {
		case k == cellsAt:
			some[i] = sdk.Values{Codes: s.cells.of(b.rows, b.ready, mask)}
		case k == clustersAt:
			clusters, err := s.clustersOf(b)
			if err != nil {
				return err
			}
			if some[i] = clusters; mask != nil {
				some[i] = masked(some[i], mask)
			}
		case mask == nil:
			some[i] = b.ready[k]
		default:
			some[i] = masked(b.ready[k], mask)
		}
	}
	if apart, ok := s.to.(*spool); ok {
		return apart.add(s.cells.of(b.rows, b.ready, mask), some, weights)
	}
	return s.to.Write(sdk.Batch{Rows: b.rows, Columns: some, Weights: weights})
}

// clustersOf finds the cluster of each row in the public frame, -1 for a row in no unit, which does
// not count.
func (s *sink) clustersOf(b block) (sdk.Values, error) {
	codes := make([]int32, b.rows)
	if b.rows == 0 {
		return sdk.Values{Codes: codes}, nil
	}
	var numbers []int32
	if s.index != nil {
		numbers = make([]int32, b.row(b.rows-1)-b.first+1)
		if err := s.index.Numbers(b.first, numbers); err != nil {
			return sdk.Values{}, err
		}
	}
	for i := range codes {
		codes[i] = -1
		at := b.row(i)
		if numbers != nil {
			if at = int64(numbers[at-b.first]); at < 0 {
				continue
			}
		}
		if u := s.units[at]; u >= 0 {
			codes[i] = s.clusters[u]
		}
	}
	return sdk.Values{Codes: codes}, nil
}

// weights multiplies the weights of the draw by those of the survey, where the release has them.
func (s *sink) weights(b block) []float64 {
	if s.weigher == nil {
		return b.weights
	}
	out := make([]float64, b.rows)
	for i, w := range b.ready[s.weightAt].Float64 {
		if out[i] = s.weigher.Of(w); b.weights != nil && !s.weigher.Alone {
			out[i] *= b.weights[i]
		}
	}
	return out
}

// mask is a bitmap of the rows that count, nil for all.
func (s *sink) mask(b block) []byte {
	var out []byte
	and := func(m []byte) {
		if out == nil {
			out = slices.Clone(m)
			return
		}
		for i := range out {
			out[i] &= m[i]
		}
	}
	for _, m := range s.masks {
		and(b.masks[m])
	}
	if b.present != nil {
		and(b.present)
	}
	if s.weigher != nil && b.ready[s.weightAt].Valid != nil { // a row without a weight counts nothing
		and(b.ready[s.weightAt].Valid)
	}
	if s.cap != nil {
		kept := make([]byte, (b.rows+7)/8)
		for i := range b.rows {
			if s.cap.Has(b.row(i)) {
				kept[i>>3] |= 1 << (i & 7)
			}
		}
		and(kept)
	}
	return out
}

// masked makes the rows outside mask missing (P24).
func masked(v sdk.Values, mask []byte) sdk.Values {
	if v.Codes != nil {
		codes := slices.Clone(v.Codes)
		for i := range codes {
			if mask[i>>3]>>(i&7)&1 == 0 {
				codes[i] = -1
			}
		}
		return sdk.Values{Codes: codes}
	}
	valid := slices.Clone(mask)
	for i := range v.Valid {
		if i < len(valid) {
			valid[i] &= v.Valid[i]
		}
	}
	return sdk.Values{Float64: v.Float64, Valid: valid}
}

// sinkError says that a mechanism takes no more rows.
type sinkError struct{ error }

func (e *sinkError) Unwrap() error { return e.error }

// fanOut writes one block to every sink at once and waits for all of them.
func fanOut(sinks []sink, b block) error {
	if len(sinks) == 1 {
		return sinks[0].write(b)
	}
	errs := make(chan error, len(sinks))
	for i := range sinks {
		go func() { errs <- guarded(func() error { return sinks[i].write(b) }) }()
	}
	var all []error
	for range sinks {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}
