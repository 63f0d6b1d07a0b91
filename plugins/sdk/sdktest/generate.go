package sdktest

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/privacy"
)

// maxRows is the size of a generated table where the size is not public.
const maxRows = 12

// generator makes pairs of tables that look for trouble.
type generator struct {
	layout
	rng       *rand.Rand
	design    sdk.Design
	relations []privacy.Relation
	by        []string // the columns whose groups the request asks for
	cap       *sdk.Cap // on the rows of a unit, nil where a row is one
	ids       int
	rows      int // of a table whose size is not public; 0: up to maxRows
}

func newGenerator(req sdk.PlanRequest, plan sdk.Plan, claimed []privacy.Relation, rng *rand.Rand) *generator {
	g := &generator{layout: newLayout(req, plan), rng: rng, design: req.Public.Design, by: groupsOf(req.Params), cap: req.Public.Cap}
	for _, r := range req.Public.SampleRelations {
		// A sample of fixed size has no neighbour with one row more.
		if slices.Contains(claimed, r) && !(r == privacy.AddRemove && g.design.SampleSize > 0) {
			g.relations = append(g.relations, r)
		}
	}
	return g
}

// style is the pattern with which one table is filled.
type style int

const (
	mixed      style = iota // extremes, ties and random values
	atLower                 // all at a bound
	atUpper                 //
	twoPoints               // half at either bound
	equal                   // all equal
	spread                  // evenly spread
	crowd                   // next to each other in the middle
	outlier                 // one far away from all others
	duplicates              // few records, many times
	nulls                   // mostly missing
	styles
)

func (g *generator) pair() pair {
	p := pair{relation: g.relations[g.rng.IntN(len(g.relations))], distance: 1}
	p.batch = [2]int{g.batch(), g.batch()}
	rows := g.table(g.size(), style(g.rng.IntN(int(styles))))
	if g.cap != nil && g.rng.IntN(2) == 0 {
		return g.unitPair(rows)
	}
	switch k := g.rng.IntN(12); {
	case k == 0:
		p.distance, p.what = 0, "the same table twice, cut into other batches"
		p.left, p.right = rows, rows
		if g.rng.IntN(2) == 0 {
			p.what = "the same table with other numbers under its nulls"
			p.right = g.garble(rows)
		}
		return p
	case k == 1 && len(rows) > 1:
		p.distance, p.what = 2, "one record in another place"
		i, j := g.rng.IntN(len(rows)), g.rng.IntN(len(rows))
		p.left, p.right, p.focus = rows, slices.Clone(rows), rows[i].id
		if p.relation == privacy.ReplaceOne {
			p.what = "two records exchanged"
			g.exchange(p.right, i, j)
		} else {
			p.right = slices.Insert(slices.Delete(p.right, i, i+1), j, rows[i])
		}
		return p
	}
	p.left, p.right = rows, slices.Clone(rows)
	if p.relation == privacy.AddRemove || len(rows) == 0 && g.design.SampleSize == 0 {
		p.relation = privacy.AddRemove
		if !slices.Contains(g.relations, privacy.AddRemove) { // an empty table has no other neighbour
			p.distance, p.what = 0, "the empty table twice"
			return p
		}
		r := g.record(style(g.rng.IntN(int(styles))), rows)
		at := []int{0, len(rows), g.rng.IntN(len(rows) + 1)}[g.rng.IntN(3)]
		p.right, p.focus = slices.Insert(p.right, at, r), r.id
		p.what = "one record added"
		if g.rng.IntN(2) == 0 {
			p.left, p.right, p.what = p.right, p.left, "one record removed"
		}
		return p
	}
	if len(rows) == 0 {
		p.distance, p.what = 0, "the empty table twice"
		return p
	}
	at := []int{0, len(rows) - 1, g.rng.IntN(len(rows))}[g.rng.IntN(3)]
	p.right[at] = g.replace(rows[at], rows)
	p.focus, p.what = rows[at].id, "one record replaced"
	return p
}

// size is the number of rows: the public one where there is one.
func (g *generator) size() int {
	if n := g.design.SampleSize; n > 0 {
		return int(n)
	}
	if g.rows > 0 {
		return g.rows
	}
	most := maxRows
	if n := g.design.LargestCount; n > 0 && n <= maxRows {
		most = int(n) - 1
	}
	switch g.rng.IntN(5) {
	case 0:
		return 0
	case 1:
		return min(1, most)
	}
	return g.rng.IntN(most + 1)
}

func (g *generator) batch() int { return []int{0, 8, 16}[g.rng.IntN(3)] }

func (g *generator) table(n int, s style) []record {
	var rows []record
	for i := range n {
		r := g.record(s, rows)
		if s == spread {
			for j, c := range g.columns {
				r.cells[j].x = bounded(c, c.Lower+(c.Upper-c.Lower)*float64(i)/math.Max(1, float64(n-1)))
			}
		}
		if s == outlier && i == 0 {
			r = g.record(atUpper, nil)
		}
		rows = append(rows, r)
	}
	g.rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return rows
}

func (g *generator) record(s style, others []record) record {
	g.ids++
	r := record{id: g.ids, weight: 1}
	if g.weights {
		lo, hi := g.design.MinWeight, g.design.MaxWeight
		r.weight = []float64{lo, hi, lo + (hi-lo)*g.rng.Float64()}[g.rng.IntN(3)]
	}
	if len(others) > 0 && (s == equal || s == duplicates && g.rng.IntN(3) > 0) {
		r.cells = slices.Clone(others[g.rng.IntN(len(others))].cells)
		return r
	}
	for _, c := range g.columns {
		r.cells = append(r.cells, g.cell(c, s))
	}
	return r
}

func (g *generator) cell(c sdk.Column, s style) cell {
	x := cell{valid: true}
	if c.Missing == sdk.MissingDrop {
		x.valid = g.rng.IntN(6) > 0
		if s == nulls {
			x.valid = g.rng.IntN(3) == 0
		}
	}
	if c.Type == sdk.Category {
		x.code = int32(g.rng.IntN(len(c.Domain)))
		if s == equal || s == crowd {
			x.code = 0
		}
		return x
	}
	x.x = g.number(c, s)
	return x
}

// number is a value that a host could hand over: within the bounds.
func (g *generator) number(c sdk.Column, s style) float64 {
	width, mid := c.Upper-c.Lower, c.Lower+(c.Upper-c.Lower)/2
	switch s {
	case atLower, outlier:
		return c.Lower
	case atUpper:
		return c.Upper
	case twoPoints:
		return []float64{c.Lower, c.Upper}[g.rng.IntN(2)]
	case crowd:
		return bounded(c, mid+width*1e-9*g.rng.NormFloat64())
	}
	switch g.rng.IntN(10) {
	case 0:
		return c.Lower
	case 1:
		return c.Upper
	case 2:
		return mid
	case 3:
		return math.Nextafter(c.Lower, c.Upper)
	case 4:
		return math.Nextafter(c.Upper, c.Lower)
	case 5: // values that programs treat specially
		special := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 1e-300, 7, 10, 99, 100, 999}
		return bounded(c, special[g.rng.IntN(len(special))])
	case 6:
		return bounded(c, math.Round(c.Lower+width*g.rng.Float64()))
	}
	return bounded(c, c.Lower+width*g.rng.Float64())
}

// replace is another record in the place of r; what is immutable stays, or is missing (P11). Where
// samples have weights it comes from any unit, with that unit's (P3).
func (g *generator) replace(r record, others []record) record {
	n := g.record([]style{mixed, atLower, atUpper, nulls, duplicates}[g.rng.IntN(5)], others)
	n.id = r.id
	only := -1
	if len(g.columns) > 0 && g.rng.IntN(3) == 0 {
		only = g.rng.IntN(len(g.columns)) // one cell alone: a move to another group, a null
		n.weight = r.weight
	}
	for i, c := range g.columns {
		if only >= 0 && i != only || !keeps(c, r.cells[i], n.cells[i]) {
			n.cells[i] = r.cells[i]
		}
	}
	return n
}

// keeps reports whether a neighbour may have one of two values in the place of the other: any,
// unless the column is immutable, and then the same one, or none where values may be missing (P11).
func keeps(c sdk.Column, a, b cell) bool {
	return !c.Immutable || a == b || c.Missing == sdk.MissingDrop && !(a.valid && b.valid)
}

// exchange swaps the contents of two records, except the immutable columns.
func (g *generator) exchange(rows []record, i, j int) {
	a, b := rows[i], rows[j]
	a.cells, b.cells = slices.Clone(a.cells), slices.Clone(b.cells)
	a.weight, b.weight = b.weight, a.weight
	for k, c := range g.columns {
		if !c.Immutable {
			a.cells[k], b.cells[k] = b.cells[k], a.cells[k]
		}
	}
	rows[i], rows[j] = a, b
}

// garble changes the numbers under the nulls, which nobody may read.
func (g *generator) garble(rows []record) []record {
	out := slices.Clone(rows)
	for i := range out {
		out[i].cells = slices.Clone(out[i].cells)
		for k := range out[i].cells {
			if !out[i].cells[k].valid {
				out[i].cells[k].x = []float64{0, -1e300, 1e300, 0.25}[g.rng.IntN(4)]
			}
		}
	}
	return out
}

// Example is a generated table that a plan admits, and its number of rows.
func Example(req sdk.PlanRequest, plan sdk.Plan) (Table, int) {
	g := newGenerator(req, plan, nil, rand.New(rand.NewPCG(1, 2)))
	n := 5
	if size := g.design.SampleSize; size > 0 {
		n = int(size)
	}
	return g.layout.table(g.table(n, mixed), 0), n
}
