package host

import (
	"errors"
	"math"
	"slices"

	"github.com/dprelease/dprelease/privacy"
)

// Batch gives the rows of one step of a last iterate. Step 0 puts all rows in a
// random order, which is cut into batches and holds for the whole run.
//
// # Contract
//
// Every row is in exactly one batch of a pass, in the same one in every pass, and
// which one is uniform over all assignments, whatever the rows hold and in whatever
// order the table has them. Proof: batches.proof.md.
func (d *NoiseDrawer) Batch(ev privacy.LastIterate, rows, step int64) ([]int64, error) {
	if rows != ev.N || ev.Batch < 1 || step < 0 || rows > math.MaxInt32 {
		return nil, errors.New("a batch needs the rows that the event names, at most 2^31 of them")
	}
	if step == 0 {
		d.order = make([]int32, rows)
		for i := range d.order {
			d.order[i] = int32(i)
		}
		if err := d.Shuffle(d.order); err != nil {
			return nil, err
		}
		// Sorted once: later passes only copy.
		for part := range slices.Chunk(d.order, int(ev.Batch)) {
			slices.Sort(part)
		}
	}
	if int64(len(d.order)) != rows {
		return nil, errors.New("the first batch of a run comes first")
	}
	from := step % ev.Batches() * ev.Batch
	part := d.order[from:min(rows, from+ev.Batch)]
	out := make([]int64, len(part))
	for i, r := range part {
		out[i] = int64(r)
	}
	return out, nil
}
