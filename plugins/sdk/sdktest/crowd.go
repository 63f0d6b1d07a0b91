package sdktest

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/privacy"
)

// crowdRows is the size of the largest tables: two batches of the largest size, and five rows.
const crowdRows = 2*largestBatch + 5

// likely are sizes at which a fault is likely: those of batches and buffers, round numbers, and 60,060
// and 55,440, which nearly all small numbers divide.
var likely = []int{crowdRows, 65536, 60_060, 55_440, 50_000, largestBatch + 1, 20_000, 10_000, 2000}

// fewSizes is the number of large tables that every request but the first is tried with.
const fewSizes = 4

// large compares a linear mechanism's queries on large tables with those on their rows. Where the
// size of a table is public and small, the mechanism plans for a large one first.
func (r *replayer) large(ctx context.Context, out *Report, g *generator, pool []contribution, sizes int, first bool) {
	if !first {
		sizes = min(sizes, fewSizes)
	}
	for i := range sizes {
		n := g.crowd()
		if i == 0 || first && i < len(likely) {
			n = likely[i]
		}
		if ctx.Err() != nil || out.costly() || !r.adds(ctx, out, g, pool, n) {
			return
		}
	}
}

// crowd is the size of a large table: any one, one on a logarithmic scale, or a round one.
func (g *generator) crowd() int {
	switch g.rng.IntN(4) {
	case 0:
		return int(3 * math.Pow(crowdRows/3, g.rng.Float64()))
	case 1:
		unit := []int{100, 256, 720, 1000, 1024, 10_000}[g.rng.IntN(6)]
		return unit * (1 + g.rng.IntN(crowdRows/unit))
	}
	return 3 + g.rng.IntN(crowdRows-2)
}

// adds compares the query on n rows of the pool with the sum of the queries on each. If they differ, it
// looks for a prefix of the rows that one row more makes wrong, and reports that pair.
func (r *replayer) adds(ctx context.Context, out *Report, g *generator, pool []contribution, n int) bool {
	single := make([]record, len(pool))
	for i, c := range pool {
		single[i] = c.rows[0]
	}
	at := make([]int32, n) // which row of the pool each row is
	for i := range at {
		at[i] = g.rng.Int32N(int32(len(pool)))
	}
	batch := []int{1024, 4096, largestBatch}[g.rng.IntN(3)]
	look := func(n int) ([][]int64, *violation) {
		got, _, v := r.vectorsOf(ctx, r.layout.chosen(single, at[:n], batch))
		if v == nil && !slices.EqualFunc(got, total(pool, at[:n]), slices.Equal) {
			v = broken("linear", "the query on %d rows is not the sum of the queries on each", n)
		}
		return got, v
	}
	_, v := look(n)
	if v == nil || ctx.Err() != nil {
		return true
	}
	right, wrong := 0, n
	for wrong-right > 1 {
		mid := right + (wrong-right)/2
		if _, w := look(mid); w != nil {
			wrong, v = mid, w
		} else {
			right = mid
		}
	}
	if before, w := look(right); w == nil && v.check == "linear" {
		after, _ := look(wrong)
		v.detail = fmt.Sprintf("beside %d rows, one row more moves the query by %s; alone it moves it by %s",
			right, moves(before, after), moves(nil, pool[at[right]].vectors))
	}
	rows := make([]record, wrong)
	for i := range rows {
		rows[i] = single[at[i]]
		rows[i].id = i
	}
	r.pairFound(out, v, rows[:right], rows, g.relations[0])
	return false
}

// total adds up what rows of the pool add to each call.
func total(pool []contribution, at []int32) [][]int64 {
	times := make([]int64, len(pool))
	for _, i := range at {
		times[i]++
	}
	out := make([][]int64, len(pool[0].vectors))
	for i, v := range pool[0].vectors {
		out[i] = make([]int64, len(v))
		for k, c := range pool {
			for j, n := range c.vectors[i] {
				out[i][j] += times[k] * n
			}
		}
	}
	return out
}

// moves are the L1 norms of the differences of the calls; nil stands for zeros.
func moves(a, b [][]int64) string {
	var all []uint64
	for i, v := range b {
		sum := uint64(0)
		for j, n := range v {
			if a == nil {
				sum += apart(n, 0)
			} else if j < len(a[i]) {
				sum += apart(n, a[i][j])
			}
		}
		all = append(all, sum)
	}
	if len(all) == 1 {
		return fmt.Sprint(all[0])
	}
	return fmt.Sprint(all)
}

// whole checks a linear mechanism, with small tables and with large ones.
func (r *replayer) whole(ctx context.Context, out *Report, g *generator, claimed []privacy.Relation, sizes int, first bool) {
	pool, ok := r.linear(ctx, out, g)
	if !ok || sizes <= 0 {
		return
	}
	if size := Size(r.req); size == 0 || size >= crowdRows {
		r.large(ctx, out, g, pool, sizes, first)
		return
	}
	req := Resized(r.req, crowdRows)
	plan, err := r.subject.Plan(ctx, req)
	if err != nil {
		return // such a size is not for it, and is refused
	}
	big := &replayer{subject: r.subject, req: req, plan: plan, used: r.used}
	g = newGenerator(req, plan, claimed, g.rng)
	big.layout = g.layout
	if pool, ok = big.linear(ctx, out, g); ok {
		big.large(ctx, out, g, pool, sizes, first)
	}
}
