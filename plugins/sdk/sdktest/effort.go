package sdktest

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// How much one row more or less may change. This is far more than a busy machine adds, and far less
// than a mechanism needs to signal a row.
const (
	timeGap   = 150 * time.Millisecond
	memoryGap = 64 << 20
)

// retries is the number of times that a gap is measured again, on each table in turn, before it counts. The gaps of
// a busy machine do not always point the same way.
const retries = 5

// effort is the time and the memory that a release takes.
type effort struct {
	took   time.Duration
	memory uint64 // the most memory that it held; 0: not known
}

// Peaks is a Subject whose most memory can be measured, and that can begin anew with none.
type Peaks interface {
	// Reset forgets the peak.
	Reset()
	// Peak is the most memory that was in use since, 0 where it is not known.
	Peak() uint64
	// Restart begins with a fresh process.
	Restart()
}

// measured runs one release of the rows.
func (r *replayer) measured(ctx context.Context, rows []record, batch int, host sdk.Host) (Outcome, effort, error) {
	table := r.layout.table(rows, batch)
	peaks, _ := r.subject.(Peaks)
	if peaks != nil {
		peaks.Reset()
	}
	begun := time.Now()
	out, err := r.subject.Release(ctx, r.req, r.plan, table, host)
	e := effort{took: time.Since(begun)}
	if peaks != nil {
		e.memory = peaks.Peak()
	}
	return out, e, err
}

// effort compares the time and the memory of two neighbours. Whoever waits for a release sees how
// long it takes (P19).
func (r *replayer) effort(ctx context.Context, p pair, seed uint64, left, right effort) *violation {
	if p.distance != 1 || r.known == nil {
		return nil
	}
	if (left.took-right.took).Abs() > timeGap && !r.known("time") {
		few, many, ok := r.again(ctx, p, seed, false, func(e effort) float64 { return e.took.Seconds() })
		if ok && many > 3*few && many-few > timeGap.Seconds() {
			return broken("time", "%d releases of one table took at least %.2f s each, those of its neighbour at most %.2f s", retries, many, few)
		}
	}
	if max(left.memory, right.memory)-min(left.memory, right.memory) > memoryGap && !r.known("memory-by-row") {
		few, many, ok := r.again(ctx, p, seed, true, func(e effort) float64 { return float64(e.memory) })
		if ok && many-few > memoryGap {
			return broken("memory-by-row", "%d releases of one table held at least %.0f MB each, those of its neighbour at most %.0f MB",
				retries, many/1e6, few/1e6)
		}
	}
	return nil
}

// again measures both tables in turn. It returns the most that the lighter table took and the least
// that the heavier one took. Ok says that the same table was the heavier one each time.
func (r *replayer) again(ctx context.Context, p pair, seed uint64, fresh bool, of func(effort) float64) (few, many float64, ok bool) {
	var all [2][]float64
	for range retries {
		t := newTape(rand.New(rand.NewPCG(seed, r.seed)), p.focus)
		for side, rows := range [][]record{p.left, p.right} {
			if peaks, can := r.subject.(Peaks); can && fresh {
				peaks.Restart()
				if _, err := r.subject.Plan(ctx, r.req); err != nil { // the start does not count
					return 0, 0, false
				}
			}
			if side == 0 {
				t.rows = rows
			} else {
				t.rewind(rows)
			}
			_, e, err := r.measured(ctx, rows, p.batch[side], t)
			if err != nil {
				return 0, 0, false
			}
			all[side] = append(all[side], of(e))
		}
	}
	light, heavy := all[0], all[1]
	if light[0] > heavy[0] {
		light, heavy = heavy, light
	}
	few, many = light[0], heavy[0]
	for i := range light {
		few, many = max(few, light[i]), min(many, heavy[i])
	}
	return few, many, many > few
}

// manyRows is the size of the larger tables, and manyPairs how many pairs of them there are.
const (
	manyRows  = 1500
	manyPairs = 24
)

// many tries a few pairs of large tables, for faults that appear only beyond a thousand rows.
func (r *replayer) many(ctx context.Context, out *Report, d sdk.Description, rng *rand.Rand) {
	if Size(r.req) > 0 && r.req.Public.Design.Kind != "full" {
		return
	}
	req := Resized(r.req, manyRows)
	plan, err := r.subject.Plan(ctx, req)
	if err != nil || d.SelfNoising {
		return
	}
	if _, ok := plan.Event.(privacy.LastIterate); ok {
		return // its batches are of a size of their own
	}
	big := &replayer{subject: r.subject, req: req, plan: plan, used: r.used, tries: r.tries, smooth: r.smooth}
	g := newGenerator(req, plan, d.Relations, rng)
	if len(g.relations) == 0 {
		return
	}
	g.rows = manyRows
	big.layout, big.seed = g.layout, rng.Uint64()
	big.pairs(ctx, out, g, manyPairs)
}
