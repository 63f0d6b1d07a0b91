package sdktest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// How far the check of a linear mechanism goes: sums of two rows, and pairs of units.
const (
	linearSums  = 24
	linearUnits = 120
)

// contribution holds the vectors that a row, or the rows of a unit, add to each noise call.
type contribution struct {
	rows    []record
	vectors [][]int64
}

// linear checks that a mechanism is linear: that each vector is the sum of the vectors of single
// rows. Single rows then determine the sensitivity, so it compares them exactly: every row, or unit,
// of a pool with none, and every two of them with each other. It returns the rows of the pool, and true
// where nothing was found.
func (r *replayer) linear(ctx context.Context, out *Report, g *generator) (pool []contribution, ok bool) {
	none, events, v := r.vectors(ctx, nil, 0)
	if v == nil && slices.ContainsFunc(none, func(x []int64) bool { return slices.ContainsFunc(x, func(n int64) bool { return n != 0 }) }) {
		v = broken("linear", "without rows the query is not 0")
	}
	if v != nil {
		out.add(Finding{Check: v.check, Detail: v.detail, Request: describeRequest(r.req)})
		return nil, false
	}
	for _, row := range g.pool() {
		c := contribution{rows: []record{row}}
		if c.vectors, _, v = r.vectors(ctx, c.rows, 0); v != nil {
			r.pairFound(out, v, nil, c.rows, g.relations[0])
			return nil, false
		}
		pool = append(pool, c)
	}
	for range linearSums {
		if g.design.LargestCount == 1 {
			break // two rows are more than the plan allows for
		}
		a, b := pool[g.rng.IntN(len(pool))], pool[g.rng.IntN(len(pool))]
		both := slices.Concat(a.rows, b.rows)
		got, _, v := r.vectors(ctx, both, 0)
		if v == nil && !slices.EqualFunc(got, sumOf(a, b).vectors, slices.Equal) {
			v = broken("linear", "the query on two rows is not the sum of the queries on each")
		}
		if v != nil {
			r.pairFound(out, v, a.rows, both, g.relations[0])
			return nil, false
		}
	}
	ok = true
	units := pool
	if g.cap != nil {
		units = g.units(pool)
	}
	for _, rel := range g.relations {
		for i, a := range units {
			others := []contribution{{vectors: none}}
			if rel == privacy.ReplaceOne {
				others = units[:i]
			}
			for _, b := range others {
				if rel == privacy.ReplaceOne && !g.neighbours(a.rows, b.rows) {
					continue
				}
				if v := r.apart(events, a, b, rel); v != nil {
					r.pairFound(out, v, b.rows, a.rows, rel)
					ok = false
				}
			}
		}
	}
	return pool, ok
}

// pairFound reports a violation with the pair of tables that shows it.
func (r *replayer) pairFound(out *Report, v *violation, left, right []record, rel privacy.Relation) {
	p := pair{left: left, right: right, relation: rel, distance: 1}
	out.add(Finding{Check: v.check, Detail: v.detail, Request: describeRequest(r.req), Tables: r.layout.print(p)})
}

// vectors are the vectors of the noise calls on a table, which is cut into batches, and the events of the calls.
func (r *replayer) vectors(ctx context.Context, rows []record, batch int) (out [][]int64, events []privacy.Event, v *violation) {
	return r.vectorsOf(ctx, r.layout.table(rows, batch))
}

func (r *replayer) vectorsOf(ctx context.Context, table Table) (out [][]int64, events []privacy.Event, v *violation) {
	seen, err := r.subject.Release(ctx, r.req, r.plan, table, NoNoise{Rows: table.Rows})
	r.calls += len(seen.Calls)
	if err != nil {
		return nil, nil, failure(fmt.Sprintf("of %d rows", table.Rows), err)
	}
	for _, c := range seen.Calls {
		if c.Method != "AddLaplace" && c.Method != "AddGaussian" {
			return nil, nil, broken("linear", "it calls %s, which adds no noise to a sum", c.Method)
		}
		out, events = append(out, c.Values), append(events, c.Event)
	}
	return out, events, nil
}

// apart compares what two units add, or one and none, with what the events declare.
func (r *replayer) apart(events []privacy.Event, a, b contribution, rel privacy.Relation) *violation {
	c := comparison{pair: pair{relation: rel, distance: 1}, used: r.used}
	for i, e := range events {
		left, right := Call{Values: b.vectors[i]}, Call{Values: a.vectors[i]}
		var v *violation
		switch e := e.(type) {
		case privacy.DiscreteLaplace:
			v = c.laplace(e, left, right)
		case privacy.DiscreteGaussian:
			v = c.gaussian(e, left, right)
		}
		if v != nil {
			v.detail = fmt.Sprintf("call %d, one unit of %d rows against %d: %s", i+1, len(a.rows), len(b.rows), v.detail)
			return v
		}
	}
	return nil
}

// sumOf adds what two contributions add.
func sumOf(a, b contribution) contribution {
	out := contribution{rows: slices.Concat(a.rows, b.rows)}
	for i := range a.vectors {
		x := slices.Clone(a.vectors[i])
		for j, n := range b.vectors[i] {
			x[j] += n
		}
		out.vectors = append(out.vectors, x)
	}
	return out
}

// pool are single rows that look for trouble: at either bound and in between, in every
// group, with the largest and the smallest weight.
func (g *generator) pool() []record {
	var rows []record
	for _, s := range []style{atLower, atUpper, mixed, twoPoints} {
		for at := range 6 {
			r := g.record(s, nil)
			for i, c := range g.columns {
				if c.Type == sdk.Category && slices.Contains(g.by, c.Name) {
					r.cells[i].code = int32(at % len(c.Domain))
				}
			}
			if g.weights && s != mixed {
				r.weight = []float64{g.design.MaxWeight, g.design.MinWeight}[at/3]
			}
			rows = append(rows, r)
		}
	}
	g.rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return rows
}

// neighbours reports whether one unit may take the place of the other: their immutable columns are
// the same.
func (g *generator) neighbours(a, b []record) bool {
	all := slices.Concat(a, b)
	for i, c := range g.columns {
		if c.Immutable && slices.ContainsFunc(all, func(r record) bool { return r.cells[i] != all[0].cells[i] }) {
			return false
		}
	}
	return true
}

// unitPair is a pair of tables that differ in all rows of one unit.
func (g *generator) unitPair(rows []record) pair {
	p := pair{relation: g.relations[g.rng.IntN(len(g.relations))], distance: 1, tied: true, what: "all rows of one unit replaced"}
	p.batch = [2]int{g.batch(), g.batch()}
	if n := g.design.SampleSize; n > 0 {
		rows = rows[:n-1] // units of one row each
	}
	pool := g.pool()
	pool = slices.DeleteFunc(pool, func(r record) bool { return !g.neighbours(pool[:1], []record{r}) })
	unit, other := g.unit(pool), g.unit(pool)
	if p.relation == privacy.AddRemove {
		other, p.what = nil, "all rows of one unit removed"
	}
	p.left, p.right, p.focus = slices.Concat(rows, unit), slices.Concat(rows, other), unit[0].id
	return p
}

// cellOf is the group that a row is in, "" for none: the codes of the columns of the
// parameter "by".
func (g *generator) cellOf(r record) string {
	out := "cell"
	for i, c := range g.columns {
		if !slices.Contains(g.by, c.Name) {
			continue
		}
		if !r.cells[i].valid {
			return ""
		}
		out += fmt.Sprint(" ", r.cells[i].code)
	}
	return out
}

// unit takes as many of the rows, in a random order, as one unit may have; never none.
func (g *generator) unit(pool []record) []record {
	groups, rows := 1+g.rng.Int64N(g.cap.Groups), g.cap.Rows
	counts := map[string]int64{}
	var out []record
	for _, at := range g.rng.Perm(len(pool)) {
		cell := g.cellOf(pool[at])
		if cell == "" && len(out) > 0 || counts[cell] == rows || counts[cell] == 0 && int64(len(counts)) == groups {
			continue
		}
		r := pool[at]
		g.ids++
		r.id = g.ids
		out = append(out, r)
		if counts[cell]++; g.rng.IntN(6) == 0 {
			break
		}
	}
	return out
}

// units are units of several rows out of a pool of single ones. Half of them take rows of
// one kind, which add up.
func (g *generator) units(pool []contribution) []contribution {
	var all []contribution
	var rows []record
	for _, c := range pool {
		rows = append(rows, c.rows[0])
	}
	find := func(r record) contribution {
		at := slices.IndexFunc(pool, func(c contribution) bool {
			return slices.Equal(c.rows[0].cells, r.cells) && c.rows[0].weight == r.weight
		})
		return pool[at]
	}
	for len(all) < linearUnits {
		from := rows
		if len(all)%2 == 0 { // the same row again and again, in each group
			from = nil
			for range g.cap.Groups {
				one := rows[g.rng.IntN(len(rows))]
				for range min(g.cap.Rows, 4) {
					from = append(from, one)
				}
			}
		}
		var sum contribution
		for i, r := range g.unit(from) {
			if c := find(r); i == 0 {
				sum = c
			} else {
				sum = sumOf(sum, c)
			}
		}
		all = append(all, sum)
	}
	return all
}

// groups checks that a grouped mechanism releases every group of the public domain, and all of them
// equally often. A group that is left out because it is empty would tell so.
func (r *replayer) groups(ctx context.Context, rows []record) *violation {
	for _, by := range groupsOf(r.req.Params) {
		out, err := r.subject.Release(ctx, r.req, r.plan, r.layout.table(rows, 0), NoNoise{Rows: len(rows)})
		if err != nil || !out.Description.Grouped {
			return nil // other checks say what failed
		}
		c, _ := r.req.Public.Column(by)
		at := r.plan.GroupField(by)
		if at < 0 {
			return broken("groups", "the result has no column of strings with the groups of %s", by)
		}
		if len(out.Result.Columns) == 0 {
			return nil // only the host of a process computes a declared finish
		}
		seen := map[string]int{}
		for _, label := range out.Result.Columns[at].Texts {
			seen[label]++
		}
		for _, label := range c.Domain {
			if n := int(r.plan.Rows) / len(c.Domain); seen[label] != n || n == 0 {
				return broken("groups", "the result has %d rows of group %q of %s, not %d", seen[label], label, by, n)
			}
		}
	}
	return nil
}

// groupsOf are the columns that the parameter "by" names.
func groupsOf(params json.RawMessage) []string {
	var p struct {
		By sdk.Names `json:"by"`
	}
	if json.Unmarshal(params, &p) != nil {
		return nil
	}
	return p.By
}
