package run

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/rows/keys"
	"github.com/dprelease/dprelease/internal/rows/units"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// choose plans with the groups that are selected in private (P25): on the drawn and filtered
// rows, those of capped units, once for each selection.
func (r *Runner) choose(ctx context.Context, d *planned.Draw, picks *picker, src *noise.Source) error {
	if len(d.Keys) == 0 {
		return nil
	}
	found := planned.Found{Keys: map[string][]string{}}
	made := map[string]*keys.Selection{}
	for _, k := range d.Keys {
		selected, err := r.selection(ctx, d, k, picks, src.Child())
		if err != nil {
			return err
		}
		texts := make([]string, len(selected.Keys))
		for i, key := range selected.Keys {
			texts[i] = key.Text
		}
		found.Keys[k.Job.Name], made[k.Job.Name] = texts, selected
		r.note(keysOf(k.Job.Name), k.Rule.Event())
	}
	next, err := r.Plan.With(ctx, found)
	if err != nil {
		return errKeysPlan
	}
	r.Plan = next
	for _, rel := range r.Plan.Releases() {
		if selected := made[rel.Job.Name]; rel.Tally != nil && selected != nil && !empty(rel) {
			r.keep(rel, rel.Tallies(selected))
			r.options.Observe(Progress{Kind: "release-done", Release: rel.Job.Name})
		}
	}
	return nil
}

// What can go wrong with a selection, after the debit: fixed texts (P20).
var (
	errKeysPlan = failure.New(failure.ExitPlugin, "PLUGIN_KEYS",
		"a mechanism made another plan for the groups or the cap found in private"+failure.SpentOnly)
	errKeysMany = failure.New(failure.ExitSource, "KEYS_MANY", "a group column has more values than can be numbered"+failure.SpentOnly)
)

// selection counts the units that have each value of a group column, and lets the rule decide
// which values are published.
func (r *Runner) selection(ctx context.Context, d *planned.Draw, k *planned.Keys, picks *picker,
	src *noise.Source) (*keys.Selection, error) {
	at := slices.IndexFunc(d.Releases, func(rel *planned.Release) bool { return rel.Job.Name == k.Job.Name })
	rel := d.Releases[at]
	of := r.view(rel)
	picks, one := picks.on(of), &sink{cap: of.capped(rel)}
	in, err := of.group(rel, k.Column, one)
	if err != nil {
		return nil, err
	}
	scan := func(visit func(b block, v *table.Values, mask []byte) error) error {
		p := newPass(of.source(rel), of.table.Content, in)
		p.picks = picks
		return p.run(ctx, func(b table.Batch) error {
			picks.weights(b.Block) // a key counts once, whatever its units stand for
			out := in.block(b)
			return visit(out, &in.values[0], one.mask(out))
		})
	}
	if of.caps() {
		once, err := newPairs(of.index, of.numbers[of.capKey(rel)], src)
		if err != nil {
			return nil, err
		}
		defer once.Close()
		err = scan(func(b block, _ *table.Values, mask []byte) error { return once.add(b, mask) })
		if err == nil {
			one.cap, err = once.Finish()
		}
		if err != nil {
			return nil, err
		}
	}
	t := &tally{to: units.NewCounter(of.table.memory, "")}
	defer t.to.Close()
	if err := scan(t.add); err != nil {
		return nil, err
	}
	selected, err := keys.Select(ctx, t.to.Counts, k.Rule, int(k.Job.Keys.Most()), src)
	switch {
	case errors.Is(err, keys.ErrNoise):
		return nil, errNoRandomness
	case err != nil:
		return nil, err
	}
	if k.Job.Keys.Top > 0 {
		selected.Rank()
	}
	return selected, nil
}

// tally counts the rows of each key.
type tally struct {
	to     *units.Counter
	counts []int64         // of the entries of a dictionary
	whole  map[int64]int64 // of other values, by their bits
	places map[int64]int   // where such a value stands
}

// add counts the rows of a block that are in mask.
func (t *tally) add(b block, v *table.Values, mask []byte) error {
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

// pairs keeps one row of each unit and key, so that a unit counts once for a key: a cap of one row for each key, however
// many keys a unit has. All rows of a pair have one key, so it does not matter which of them is kept.
type pairs struct {
	*units.Capper
	number *units.Index // of the keys
	cells  []int32
}

func newPairs(unit, number *units.Index, src *noise.Source) (*pairs, error) {
	c, err := units.NewCapper(unit, math.MaxInt32, 1, src)
	return &pairs{Capper: c, number: number}, err
}

// add adds the rows of a block that are in mask.
func (p *pairs) add(b block, mask []byte) error {
	if b.rows == 0 {
		return nil
	}
	n := int(b.row(b.rows-1) - b.first + 1)
	numbers := make([]int32, n)
	if err := p.number.Numbers(b.first, numbers); err != nil {
		return err
	}
	p.cells = slices.Grow(p.cells[:0], n)[:n]
	for i := range p.cells {
		p.cells[i] = -1
	}
	for i := range b.rows {
		if mask == nil || mask[i>>3]>>(i&7)&1 == 1 {
			at := b.row(i) - b.first
			p.cells[at] = numbers[at]
		}
	}
	return p.Add(b.first, p.cells)
}

// group reads a group column of a release and its condition, which goes to a sink.
func (v *tableView) group(rel *planned.Release, column string, to *sink) (*reading, error) {
	s := &sample{job: v.job}
	s.want(column)
	if rel.Job.Where.Said() {
		to.masks = append(to.masks, s.condition(rel.Job.Where))
	}
	return newReading(v.job, v.table.lookups, s.columns, s.conditions, false)
}

// numberKeys numbers the values of the group column of a release, of all rows that count.
func (v *tableView) numberKeys(ctx context.Context, rel *planned.Release) (*units.Index, error) {
	one := &sink{}
	in, err := v.group(rel, rel.Job.Unlisted(&v.job.Dataset), one)
	if err != nil {
		return nil, err
	}
	return numbered(v.table.memory, units.DropNulls, func(index *units.Index) error {
		return newPass(v.table.rows, v.table.Content, in).run(ctx, func(b table.Batch) error {
			key := in.values[0]
			if mask := one.mask(in.block(b)); mask != nil {
				for i := range mask {
					if key.Valid != nil {
						mask[i] &= key.Valid[i]
					}
				}
				key.Valid = mask
			}
			return index.Add(key, b.Rows)
		})
	})
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
func nothing(rel *planned.Release) sdk.Result {
	var out sdk.Result
	for _, f := range rel.Plan.Output {
		if rel.Cells.Labelled(f.Name) {
			continue
		}
		c := sdk.ResultColumn{Name: f.Name}
		switch f.Type {
		case sdk.Float64:
			c.Float64 = []float64{}
		case sdk.Int64:
			c.Int64 = []int64{}
		default:
			c.Texts = []string{}
		}
		out.Columns = append(out.Columns, c)
	}
	out.Columns = slices.Concat(rel.Cells.Values(nil), out.Columns)
	return out
}
