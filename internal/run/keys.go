package run

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/dprelease/dprelease/internal/failure"
	"github.com/dprelease/dprelease/internal/keys"
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/rows/units"
	"github.com/dprelease/dprelease/internal/table"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// chosen are the releases of a draw with the groups that were selected in private (P25):
// on the drawn and filtered rows, those of capped units, once for each selection.
func (r *Runner) chosen(ctx context.Context, d *plan.Draw, picks *picker, src *noise.Source) ([]*plan.Release, error) {
	if len(d.Keys) == 0 {
		return d.Releases, nil
	}
	values := map[string][]string{}
	for _, k := range d.Keys {
		var err error
		if values[k.Job.Name], err = r.choose(ctx, d, k, picks, src.Child()); err != nil {
			return nil, err
		}
	}
	out := slices.Clone(d.Releases)
	for i, rel := range out {
		k := d.KeysOf(r.Plan.Job, rel)
		if k == nil {
			continue
		}
		mine := []string{}
		for _, v := range values[k.Job.Name] {
			if rel.Job.Other == "" || keys.Shown(v) != rel.Job.Other { // a value of that name is one of the others
				mine = append(mine, v)
			}
		}
		var err error
		if out[i], err = rel.Chosen(ctx, r.Plan.Job, d, mine); err != nil {
			return nil, errKeysPlan
		}
	}
	return out, nil
}

// What can go wrong with a selection, after the debit: fixed texts (P20).
var (
	errKeysPlan  = failure.New(failure.ExitPlugin, "PLUGIN_KEYS", "a mechanism made another plan for the groups that were selected"+failure.SpentOnly)
	errKeysSpill = failure.New(failure.ExitSource, "KEYS_SPILL", "the values of a group column do not fit in memory, and the disk for them cannot be used"+failure.SpentOnly)
	errKeysPairs = failure.New(failure.ExitSource, "KEYS_MANY", "the units have too many values of a group column for the memory of the run (--memory): there is no room to count each value of a unit once"+failure.SpentOnly)
	errKeysMany  = failure.New(failure.ExitSource, "KEYS_MANY", "a group column has more values than can be numbered"+failure.SpentOnly)
)

// choose counts the units that have each value of a group column, and lets the rule decide
// which values are published.
func (r *Runner) choose(ctx context.Context, d *plan.Draw, k *plan.Keys, picks *picker, src *noise.Source) ([]string, error) {
	at := slices.IndexFunc(d.Releases, func(rel *plan.Release) bool { return rel.Job.Name == k.Job.Name })
	rel := d.Releases[at]
	s := &sample{job: r.Plan.Job}
	column := s.want(k.Column)
	one := &sink{cap: r.units.capped(rel)}
	if rel.Job.Where.Said() {
		one.masks = append(one.masks, s.condition(rel.Job.Where))
	}
	in, err := newReading(r.Plan.Job, r.Table.lookups, s.columns, s.conditions, false)
	if err != nil {
		return nil, err
	}
	t := &tally{to: keys.NewCounter(r.Table.memory, "")}
	defer t.to.Close()
	if r.units.caps() {
		t.unit, t.number, t.seen = r.units.index, r.units.numbers[capKey(rel)], map[uint64]struct{}{}
		t.room = int(cmp.Or(r.Table.memory, keys.DefaultMemory) / pairBytes)
	}
	o := table.ScanOptions{Columns: in.sources, Content: r.Table.Content, Pick: picks.pick}
	if picks.every {
		o.Pick = nil
	}
	err = r.source(rel).Scan(ctx, o, func(b table.Batch) error {
		picks.weights(b.Block) // a key counts once, whatever its units stand for
		if err := in.read(b); err != nil {
			return err
		}
		out := block{rows: b.Rows, first: b.Block.First, picked: b.Picked, masks: in.masks}
		return t.add(out, &in.values[column], one.mask(out))
	})
	if err != nil {
		return nil, err
	}
	selection, err := keys.Select(ctx, t.to.Counts, k.Rule, int(k.Job.Keys.AtMost), src)
	switch {
	case errors.Is(err, keys.ErrSpill):
		return nil, errKeysSpill
	case errors.Is(err, keys.ErrNoise):
		return nil, errNoRandomness
	case err != nil:
		return nil, err
	}
	out := make([]string, len(selection.Keys))
	for i, key := range selection.Keys {
		out[i] = key.Text
	}
	return out, nil
}

// pairBytes is an upper bound on the memory of one (unit, key) pair in a map.
const pairBytes = 40

// tally counts the units of each key. Where a unit may have several rows it counts once
// for a key.
type tally struct {
	to     *keys.Counter
	unit   *units.Index // nil where each row is a unit
	number *units.Index // of the keys
	seen   map[uint64]struct{}
	room   int             // the most entries of seen
	counts []int64         // of the entries of a dictionary
	whole  map[int64]int64 // of other values, by their bits
	places map[int64]int   // where such a value stands
}

// add counts the rows of a block that are in mask.
func (t *tally) add(b block, v *table.Values, mask []byte) error {
	if t.unit != nil {
		return t.distinct(b, v, mask)
	}
	in := func(i int) bool { return mask == nil || mask[i>>3]>>(i&7)&1 == 1 }
	if v.Codes != nil {
		t.counts = append(t.counts[:0], make([]int64, len(v.Dict))...)
		for i, code := range v.Codes[:b.rows] {
			if in(i) && !v.Null(i) {
				t.counts[code]++
			}
		}
		for code, n := range t.counts {
			if n > 0 {
				if err := t.to.Add(v.Dict[code], n); err != nil {
					return err
				}
			}
		}
		return nil
	}
	// Texts are made once for each value of the block.
	t.whole, t.places = map[int64]int64{}, map[int64]int{}
	for i := range b.rows {
		if in(i) && !v.Null(i) {
			word := wordOf(v, i)
			t.whole[word]++
			t.places[word] = i
		}
	}
	for word, n := range t.whole {
		if text, ok := v.Format(t.places[word]); ok {
			if err := t.to.Add(text, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// wordOf tells apart the values of a column that is no text.
func wordOf(v *table.Values, i int) int64 {
	if v.Float64 != nil {
		return int64(math.Float64bits(v.Float64[i] + 0))
	}
	return v.Int64[i]
}

// distinct counts a unit once for each of its keys.
func (t *tally) distinct(b block, v *table.Values, mask []byte) error {
	var pair [2][1]int32
	for i := range b.rows {
		if mask != nil && mask[i>>3]>>(i&7)&1 == 0 {
			continue
		}
		row := b.row(i)
		if err := errors.Join(t.unit.Numbers(row, pair[0][:]), t.number.Numbers(row, pair[1][:])); err != nil {
			return err
		}
		unit, key := pair[0][0], pair[1][0]
		if unit < 0 || key < 0 {
			continue
		}
		word := uint64(unit)<<32 | uint64(uint32(key))
		if _, twice := t.seen[word]; twice {
			continue
		}
		text, ok := v.Format(i)
		if !ok {
			continue
		}
		if t.seen[word] = struct{}{}; len(t.seen) > t.room {
			return errKeysPairs
		}
		if err := t.to.Add(text, 1); err != nil {
			return err
		}
	}
	return nil
}

// numberKeys numbers the values of the group column of a release, of all rows that count.
func (r *Runner) numberKeys(ctx context.Context, rel *plan.Release) (*units.Index, error) {
	s := &sample{job: r.Plan.Job}
	column := s.want(rel.Job.Unlisted(&r.Plan.Job.Dataset))
	one := &sink{}
	if rel.Job.Where.Said() {
		one.masks = append(one.masks, s.condition(rel.Job.Where))
	}
	in, err := newReading(r.Plan.Job, r.Table.lookups, s.columns, s.conditions, false)
	if err != nil {
		return nil, err
	}
	index, err := units.NewIndex(units.IndexSpec{Null: units.DropNulls, Memory: r.Table.memory})
	if err != nil {
		return nil, err
	}
	err = r.Table.rows.Scan(ctx, table.ScanOptions{Columns: in.sources, Content: r.Table.Content}, func(b table.Batch) error {
		if err := in.read(b); err != nil {
			return err
		}
		v := in.values[column]
		if mask := one.mask(block{rows: b.Rows, masks: in.masks}); mask != nil {
			for i := range mask {
				if v.Valid != nil {
					mask[i] &= v.Valid[i]
				}
			}
			v.Valid = mask
		}
		return index.Add(v, b.Rows)
	})
	if err == nil {
		err = index.Finish()
	}
	return index, err
}

// keyedCells are the cells of rows whose group column has values that nobody lists: the
// number of the value, and the cell of the other columns.
func keyedCells(index *units.Index, first int64, codes []int32, cells int) error {
	numbers := make([]int32, len(codes))
	if err := index.Numbers(first, numbers); err != nil {
		return err
	}
	for i, n := range numbers {
		cell := int64(n)*int64(cells) + int64(codes[i])
		switch {
		case n < 0 || codes[i] < 0:
			codes[i] = -1
		case cell > math.MaxInt32:
			return errKeysMany
		default:
			codes[i] = int32(cell)
		}
	}
	return nil
}

// nothing is the result of a release without groups.
func nothing(rel *plan.Release) sdk.Result {
	var out sdk.Result
	for _, f := range rel.Output() {
		c := sdk.ResultColumn{Name: f.Name}
		switch f.Type {
		case sdk.Float64:
			c.Float64 = []float64{}
		case sdk.Int64:
			c.Int64 = []int64{}
		default:
			c.String = []string{}
		}
		out.Columns = append(out.Columns, c)
	}
	return out
}
