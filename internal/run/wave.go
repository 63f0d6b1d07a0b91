package run

import (
	"context"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/rows/units"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/samplers"
)

// errAllotment says that the units of a panel cannot be allotted.
var errAllotment = failure.New(failure.ExitBug, "PANEL", "the units of the panel cannot be allotted to its waves"+failure.SpentOnly)

// errWaveKey says that a unit of a panel has a key that a later wave would not know again.
var errWaveKey = failure.New(failure.ExitSource, "DATA_UNIT",
	"a unit of the panel has a key that is no text and no whole number of at most 2^53: "+
		"a later wave does not know it again; write the keys as texts"+failure.SpentOnly)

// panelKeys refuses a table whose units cannot be known again in a later wave: 7 and "7" are one
// unit, and a date or a fraction may be written in many ways.
func panelKeys(p *planned.Plan, o *OpenedTable) error {
	panel, ok := p.Job.Rotates()
	if !ok || !panel.Drawn {
		return nil
	}
	for _, t := range o.Parts() {
		key, own := p.Job.Of(t.name).Dataset.Key.Own()
		if !own {
			return p.Job.Wrong("dataset.tables."+t.name, "names members, and not units, in its rows",
				"units are allotted to waves by their own column: give the table one")
		}
		if c, _ := t.Table.Column(key); !keyKinds[c.Kind] {
			return p.Job.Wrong("dataset.unit", "has a "+c.Kind.String()+" in the column of the unit, "+key,
				"a later wave knows a unit of a panel by a text or a whole number")
		}
	}
	return nil
}

// settleWave leaves of every table the rows of the units that are in the wave of a panel. It comes
// after the debit, and before rows are folded, capped or joined: all else sees a table of the wave.
//
// # Contract
//
// A row is in the wave exactly if its unit is, by the allotment of the panel and the key of the row
// alone. Rows without a key are left to the rule of the table. A key that can be written in several
// ways ends the run. Proof: wave.proof.md.
func (r *Runner) settleWave(ctx context.Context) error { // P34
	panel, ok := r.Plan.Job.Rotates()
	if !ok || !panel.Drawn {
		return nil
	}
	a, err := samplers.NewAllotment(panel.Rotation, panel.Wave, r.options.Allotment)
	if err != nil {
		return errAllotment
	}
	for _, t := range r.Table.Parts() {
		set, unit := units.NewRowSet(t.rows.Rows()), []byte(nil)
		key, own := r.Plan.Job.Of(t.name).Dataset.Key.Own()
		if !own {
			return errAllotment
		}
		err := t.Read(ctx, []string{key}, func(b table.Batch) error {
			keys := keyOf(b.Columns[0], b.Rows)
			for row := range b.Rows {
				in := b.Columns[0].Null(row)
				switch {
				case in:
				case keys.Null(row):
					return errWaveKey
				default:
					unit = AppendText(unit[:0], &keys, row)
					in = a.Has(unit)
				}
				if in {
					set.Add(b.Block.First + int64(row))
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		t.rows = subset(t.rows, set)
	}
	return nil
}
