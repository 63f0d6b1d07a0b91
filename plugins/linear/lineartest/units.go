package lineartest

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/plugins/sdk"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
	"github.com/dprelease/dprelease/privacy"
)

// Request is a request for a whole table. Population is the public number of units, or 0
// where it is secret; then the relation is add-remove.
func Request(params string, population int64, columns ...sdk.Column) sdk.PlanRequest {
	rel := privacy.AddRemove
	if population > 0 {
		rel = privacy.ReplaceOne
	}
	return sdk.PlanRequest{
		Params: []byte(params),
		Public: sdk.Public{
			Relation: rel, SampleRelations: []privacy.Relation{rel}, Population: population,
			Design:  sdk.Design{Kind: "full", Rate: 1, SampleSize: population, MinWeight: 1, MaxWeight: 1, EqualWeights: true},
			Columns: columns,
		},
		Target: privacy.Point{Epsilon: 1, Delta: 1e-6},
	}
}

// With is the request with a cap of so many groups, and rows in each, on every unit.
func With(req sdk.PlanRequest, groups, rows int64) sdk.PlanRequest {
	req.Public.Cap = &sdk.Cap{Groups: groups, Rows: rows}
	return req
}

// Found is the request with a cap of so many rows on every unit, each of which counts times times.
func Found(req sdk.PlanRequest, rows, times int64) sdk.PlanRequest {
	req.Public.Cap = &sdk.Cap{Groups: 1, Rows: rows, Times: times}
	return req
}

// Get is a column of numbers of a result.
func Get(o sdktest.Outcome, name string) []float64 {
	for _, c := range o.Result.Columns {
		if c.Name == name {
			return c.Float64
		}
	}
	return nil
}

// Used is the largest share of a declared sensitivity that two neighbouring units use up,
// over all units: above 1 the declaration is wrong. The mechanism plans planned; the units
// are those of world, which differs from it in a test of a broken plan.
func Used(m sdk.Mechanism, planned, world sdk.PlanRequest) (float64, error) {
	_, plan, err := sdktest.Plan(m, planned)
	if err != nil {
		return 0, err
	}
	u := &units{m: m, req: planned, plan: plan, world: world.Public, groups: 1, rows: 1}
	if err := u.rowsOf(groupsOf(world)); err != nil {
		return 0, err
	}
	if c := world.Public.Cap; c != nil {
		u.rows, u.vanish = int(c.Rows), true
		if len(groupsOf(world)) > 0 {
			u.groups = int(c.Groups)
		}
	}
	all, err := u.all()
	if err != nil {
		return 0, err
	}
	used := 0.0
	for _, rel := range world.Public.SampleRelations {
		used = math.Max(used, u.used(all, rel))
	}
	return used, nil
}

// units are the vectors of all units.
type units struct {
	m            sdk.Mechanism
	req          sdk.PlanRequest
	plan         sdk.Plan
	event        privacy.Event
	world        sdk.Public
	groups, rows int
	vanish       bool               // a unit may have no row in any cell
	byCell       map[string][]entry // the vectors of single rows
}

// entry is a vector with what no neighbour changes in its rows.
type entry struct {
	kept   []float64 // NaN: missing
	vector []int64
}

// rowsOf finds the vectors of all rows.
func (u *units) rowsOf(by []string) error {
	u.byCell = map[string][]entry{}
	columns, err := u.plan.Declared(u.req.Public)
	if err != nil {
		return err
	}
	for i, c := range columns { // what may be missing is the world's word
		columns[i], _ = u.world.Column(c.Name)
	}
	weights := []float64{0}
	if d := u.world.Design; !d.EqualWeights {
		weights = []float64{d.MinWeight, d.MaxWeight}
	}
	row := make([]float64, len(columns)) // NaN: missing
	var visit func(int) error
	visit = func(at int) error {
		if at < len(columns) {
			for _, x := range candidates(columns[at]) {
				row[at] = x
				if err := visit(at + 1); err != nil {
					return err
				}
			}
			return nil
		}
		for _, w := range weights {
			if err := u.take(columns, by, row, w); err != nil {
				return err
			}
		}
		return nil
	}
	return visit(0)
}

// candidates are the values of a column that are tried.
func candidates(c sdk.Column) (all []float64) {
	if c.Type == sdk.Category {
		for i := range c.Domain {
			all = append(all, float64(i))
		}
	} else {
		all = []float64{c.Lower, c.Lower + (c.Upper-c.Lower)/2, c.Upper}
	}
	if c.Missing == sdk.MissingDrop {
		all = append(all, math.NaN())
	}
	return all
}

// take runs the mechanism on one row and keeps its vector.
func (u *units) take(columns []sdk.Column, by []string, row []float64, weight float64) error {
	t := sdktest.Table{Rows: 1, Columns: map[string]sdk.Values{}}
	cell, kept := "cell", []float64(nil)
	for i, c := range columns {
		x := row[i]
		if c.Type == sdk.Category {
			code := int32(-1)
			if !math.IsNaN(x) {
				code = int32(x)
			}
			t.Columns[c.Name] = sdk.Values{Codes: []int32{code}}
			if slices.Contains(by, c.Name) {
				cell += fmt.Sprint(" ", code)
			}
			if slices.Contains(by, c.Name) && code < 0 {
				u.vanish = true
			}
		} else {
			v := sdk.Values{Float64: []float64{x}}
			if math.IsNaN(x) {
				v = sdk.Values{Float64: []float64{c.Lower}, Valid: []byte{0}}
			}
			t.Columns[c.Name] = v
		}
		if c.Immutable {
			kept = append(kept, x)
		}
	}
	if weight > 0 {
		t.Weights = []float64{weight}
	}
	out, err := sdktest.InProcess(u.m).Release(context.Background(), u.req, u.plan, t, sdktest.NoNoise{Rows: 1})
	if err != nil {
		return err
	}
	u.event = out.Calls[0].Event
	e := entry{kept, out.Calls[0].Values}
	if !slices.ContainsFunc(u.byCell[cell], func(o entry) bool { return identical(o.kept, kept) && slices.Equal(o.vector, e.vector) }) {
		u.byCell[cell] = append(u.byCell[cell], e)
	}
	return nil
}

// all are the vectors of all units with at most so many rows in each of so many cells.
func (u *units) all() ([]entry, error) {
	var cells []string
	for c := range u.byCell {
		cells = append(cells, c)
	}
	slices.Sort(cells)
	seen := map[string]bool{}
	var out []entry
	keep := func(e entry) {
		if key := fmt.Sprint(e); !seen[key] {
			seen[key] = true
			out = append(out, e)
		}
	}
	var grow func(e entry, from, groups, rows int, begun bool)
	grow = func(e entry, from, groups, rows int, begun bool) {
		if begun {
			keep(e)
		}
		for at := from; at < len(cells); at++ {
			left, more := rows-1, groups
			if !begun || at > from {
				left, more = u.rows-1, groups-1
			}
			if left < 0 || more < 0 {
				continue
			}
			for _, r := range u.byCell[cells[at]] {
				if begun && !identical(r.kept, e.kept) {
					continue
				}
				s := slices.Clone(r.vector)
				if begun {
					for i := range s {
						s[i] += e.vector[i]
					}
				}
				grow(entry{r.kept, s}, at, more, left, true)
			}
		}
	}
	grow(entry{}, 0, u.groups, 0, false)
	if len(out) == 0 || len(out) > 5000 {
		return nil, fmt.Errorf("lineartest: %d units", len(out))
	}
	if u.vanish {
		for _, e := range slices.Clone(out) {
			keep(entry{e.kept, make([]int64, len(e.vector))})
		}
	}
	return out, nil
}

// identical reports whether rows have the same values, and miss the same ones.
func identical(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) })
}

// agree reports whether neighbours may have these values in their immutable columns: the same ones,
// or none on one side (P11).
func agree(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return x == y || math.IsNaN(x) || math.IsNaN(y) })
}

// used is the largest share of what the event declares under a relation.
func (u *units) used(all []entry, rel privacy.Relation) float64 {
	zero := make([]int64, len(all[0].vector))
	used := 0.0
	for i, a := range all {
		others := all[:i]
		if rel == privacy.AddRemove {
			others = []entry{{a.kept, zero}}
		}
		for _, b := range others {
			if !agree(a.kept, b.kept) {
				continue
			}
			l1, l2, n := 0.0, 0.0, int64(0)
			for j, v := range a.vector {
				if d := math.Abs(float64(v - b.vector[j])); d > 0 {
					l1, l2, n = l1+d, l2+d*d, n+1
				}
			}
			switch e := u.event.(type) {
			case privacy.DiscreteLaplace:
				used = math.Max(used, l1/e.Sensitivity.Under(rel))
			case privacy.DiscreteGaussian:
				used = math.Max(used, math.Sqrt(l2)*(1-1e-15)/e.Sensitivity.Under(rel))
				if n > e.Coordinates {
					used = math.Inf(1)
				}
			}
		}
	}
	return used
}

// groupsOf are the columns that the parameter "by" names.
func groupsOf(req sdk.PlanRequest) []string {
	var p struct {
		By sdk.Names `json:"by"`
	}
	if err := json.Unmarshal(req.Params, &p); err != nil {
		return nil
	}
	return p.By
}
