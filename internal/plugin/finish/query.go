package finish

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/rows"
	"github.com/dprelease/dprelease/internal/rows/formula"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// Queries are the declared queries of a plan, for one request. They add up the rows that Write is given.
type Queries struct {
	// Columns are the columns that the queries read, in the order of a batch.
	Columns []string
	// Claims are the sensitivities, one for each query.
	Claims []sdk.Claim

	all       []*query
	units     units
	evaluator *rows.Evaluator
	at        []int // of the columns that the evaluator reads, among Columns
	declared  []sdk.Column
	// dictionaries are the numbers of the domains of the columns.
	dictionaries []uint64
	by           int   // of the column of groups among Columns, -1 where there is none
	room         int64 // for so many rows more
	weights      [2]float64
	outcome      block
}

// query is one vector of sums.
type query struct {
	splits      []split
	coordinates []coordinate
	norm        *norm // nil for none
	places      int32 // the cells of one group
	sums        []int64
	cells       []int32
	row         []float64
}

// split is an sdk.Split whose value is output at of the evaluator.
type split struct {
	sdk.Split
	at     int
	dict   uint64  // of the texts that places belong to
	places []int32 // of the entries of that dictionary
}

// block holds the values of the expressions in the rows of a batch.
type block struct {
	values []table.Values
	groups []int32 // nil for one group
	weight []float64
	n      int
}

// Refusal is an error of a job and not of a plan: the queries cannot be asked of its table or by its groups.
type Refusal struct{ Why string }

func (r *Refusal) Error() string { return r.Why }

// mostRows is the number of rows that sums have room for where no bound is public. No table is as large.
const mostRows = 1 << 40

// NewQueries reads the queries of a plan that passed sdk.Plan.Check. Its errors quote the plan alone. By is the
// column of groups, "" for none.
//
// # Contract
//
// For neighbours under either relation, of units that lie in groups as the public facts say, the sums of query i move
// by at most Claims[i]. Proof: query.proof.md. // P39
func NewQueries(plan sdk.Plan, public sdk.Public, by string, epsilon float64) (*Queries, error) {
	q := &Queries{by: -1}
	d := public.Design
	q.weights = [2]float64{1, 1}
	switch {
	case !(d.MaxWeight >= 1) || math.IsInf(d.MaxWeight, 0):
		return nil, &Refusal{"it adds up, and nothing says what a row of the sample stands for: the population needs a public size, or the " +
			"sample a public rate"}
	case !d.EqualWeights:
		q.weights = [2]float64{math.Min(math.Max(d.MinWeight, 0), d.MaxWeight), d.MaxWeight}
	}
	if q.room = mostRows; d.LargestCount > 0 && public.Cap == nil {
		q.room = d.LargestCount
	}
	var group sdk.Column
	if by != "" {
		var ok bool
		if group, ok = public.Column(by); !ok || group.Type != sdk.Category || len(group.Domain) == 0 {
			return nil, &Refusal{"by: the groups must be a declared category"}
		}
	}
	q.units = unitsOf(group, public.Cap)
	if err := q.read(plan, public, by); err != nil {
		return nil, err
	}
	numbers := int64(0)
	for i, own := range q.all {
		if err := own.bound(plan.Queries[i], q.weights, q.units.steps(len(own.coordinates), epsilon, q.room)); err != nil {
			return nil, fmt.Errorf("plan: query %d: %w", i+1, err)
		}
		reach := own.reach()
		if reach.arrive.one.Sign() == 0 {
			return nil, fmt.Errorf("plan: query %d: no row adds anything that noise could hide: the range or the lattice is wrong", i+1)
		}
		if !fits(own.most(), q.units.times, q.room) {
			return nil, fmt.Errorf("plan: query %d: the lattice is too fine: sums of all rows have no room", i+1)
		}
		q.Claims = append(q.Claims, reach.claim(q.units))
		if numbers += q.units.cells * int64(own.places) * int64(len(own.coordinates)); numbers > 1<<22 {
			return nil, &Refusal{"by: the groups make too many sums"}
		}
		own.sums = make([]int64, int(q.units.cells)*int(own.places)*len(own.coordinates))
	}
	return q, nil
}

// read reads the expressions.
func (q *Queries) read(plan sdk.Plan, public sdk.Public, by string) error {
	spec := rows.Spec{}
	for _, c := range public.Columns {
		column := formula.Column{Name: c.Name, Type: formula.Number}
		if c.Type == sdk.Category {
			column.Type, column.Domain = formula.Text, c.Domain
		}
		spec.Columns = append(spec.Columns, column)
	}
	known := slices.Clone(spec.Columns)
	taken := func(name string) bool {
		return slices.ContainsFunc(known, func(c formula.Column) bool { return c.Name == name })
	}
	add := func(text string, want formula.Type) (int, error) {
		f, problems := formula.Check(text, known)
		if len(problems) > 0 {
			return 0, problem(problems[0])
		}
		if f.Type != want {
			return 0, fmt.Errorf("the expression is a %s, and should be a %s", f.Type, want)
		}
		for _, c := range f.Columns() {
			if !slices.Contains(q.Columns, c) {
				q.Columns = append(q.Columns, c)
			}
		}
		name := "value " + strconv.Itoa(len(spec.Derived))
		for taken(name) {
			name += "'"
		}
		spec.Derived = append(spec.Derived, rows.Derived{Name: name, Formula: f})
		spec.Outputs = append(spec.Outputs, name)
		return len(spec.Outputs) - 1, nil
	}
	if by != "" {
		q.by, q.Columns = 0, []string{by}
	}
	for i, declared := range plan.Queries {
		own := &query{places: 1}
		for _, s := range declared.Cells {
			want := formula.Number
			if s.Texts != nil {
				want = formula.Text
			}
			at, err := add(s.Value, want)
			if err != nil {
				return fmt.Errorf("plan: cells of query %d: %w", i+1, err)
			}
			s.Count = max(s.Count, int64(len(s.Texts)))
			own.splits, own.places = append(own.splits, split{Split: s, at: at}), own.places*int32(s.Count)
		}
		for _, c := range declared.Coordinates {
			at, err := add(c.Value, formula.Number)
			if err != nil {
				return fmt.Errorf("plan: coordinate of query %d: %w", i+1, err)
			}
			own.coordinates = append(own.coordinates, coordinate{Coordinate: c, at: at})
		}
		q.all = append(q.all, own)
	}
	program, err := rows.NewProgram(spec)
	if err != nil {
		return fmt.Errorf("plan: queries: %w", err)
	}
	q.evaluator = program.Evaluator()
	for _, name := range program.Needs() {
		q.at = append(q.at, slices.Index(q.Columns, name))
	}
	for _, name := range q.Columns {
		c, _ := public.Column(name)
		q.declared, q.dictionaries = append(q.declared, c), append(q.dictionaries, table.NewDictID())
	}
	return nil
}

// Declared are the columns of a batch.
func (q *Queries) Declared() []sdk.Column { return q.declared }

var errRoom = errors.New("there are more rows than the sums have room for")

// Write adds a batch up.
//
// # Contract
//
// Each row adds a vector that depends on that row alone and keeps to the ranges behind Claims. The only failure is
// more rows than a public number. Proof: query.proof.md. // P39
func (q *Queries) Write(b sdk.Batch) error {
	if q.room -= int64(b.Rows); q.room < 0 {
		return errRoom
	}
	columns := make([]table.Values, len(q.at))
	for i, at := range q.at {
		columns[i] = values(q.declared[at], b.Columns[at], q.dictionaries[at])
	}
	q.outcome = block{values: q.evaluator.Eval(columns, b.Rows).Columns, n: b.Rows, weight: q.weigh(b.Weights)}
	if q.by >= 0 {
		q.outcome.groups = b.Columns[q.by].Codes
	}
	for _, own := range q.all {
		own.add(q.outcome)
	}
	return nil
}

// Close does nothing: there are no more rows.
func (q *Queries) Close() error { return nil }

// Sums are the sums of the rows that were written, each row counted as often as the cap says.
func (q *Queries) Sums() [][]int64 {
	out := make([][]int64, len(q.all))
	for i, own := range q.all {
		out[i] = own.sums
		for k := range out[i] {
			out[i][k] *= q.units.times
		}
	}
	return out
}

// weigh holds weights to their public bounds. One that is no number makes its row add nothing.
func (q *Queries) weigh(weights []float64) []float64 {
	if weights == nil {
		return nil
	}
	out := make([]float64, len(weights))
	for i, w := range weights {
		out[i] = math.Min(math.Max(w, q.weights[0]), q.weights[1])
	}
	return out
}

// values are the values of a column in the form that expressions read.
func values(c sdk.Column, v sdk.Values, dictionary uint64) table.Values {
	if c.Type == sdk.Category {
		return table.Values{Kind: table.String, Codes: v.Codes, Dict: c.Domain, DictID: dictionary}
	}
	return table.Values{Kind: table.Float, Float64: v.Float64, Valid: v.Valid}
}

// add adds up the rows of a block. The numbers of a coordinate lie side by side, group by group.
func (q *query) add(b block) {
	one := q.norm == nil && b.groups == nil && len(q.splits) == 0
	if !one {
		q.place(b)
	}
	if q.norm != nil {
		q.addShort(b, q.cells)
		return
	}
	size := len(q.sums) / len(q.coordinates)
	for j := range q.coordinates {
		c := &q.coordinates[j]
		v, sums := &b.values[c.at], q.sums[j*size:(j+1)*size]
		switch {
		case one && b.weight == nil && v.Valid == nil:
			sums[0] += c.total(v.Float64[:b.n])
		case one:
			for i, x := range v.Float64[:b.n] {
				if !v.Null(i) {
					sums[0] += c.whole(c.number(x, b.weight, i))
				}
			}
		default:
			for i, x := range v.Float64[:b.n] {
				if q.cells[i] >= 0 && !v.Null(i) {
					sums[q.cells[i]] += c.whole(c.number(x, b.weight, i))
				}
			}
		}
	}
}

// addShort is add for vectors that are held to a norm.
func (q *query) addShort(b block, cells []int32) {
	size := len(q.sums) / len(q.coordinates)
	for i, cell := range cells {
		if cell < 0 {
			continue
		}
		for j := range q.coordinates {
			c := &q.coordinates[j]
			if q.row[j] = 0; !b.values[c.at].Null(i) {
				q.row[j] = c.number(b.values[c.at].Float64[i], b.weight, i)
			}
		}
		for j, v := range q.norm.hold(q.row) {
			q.sums[j*size+int(cell)] += v
		}
	}
}

// place finds the cell of each row, -1 for none.
func (q *query) place(b block) {
	q.cells = slices.Grow(q.cells[:0], b.n)[:b.n]
	clear(q.cells)
	copy(q.cells, b.groups)
	for k := range q.splits {
		s := &q.splits[k]
		v := &b.values[s.at]
		if s.Texts != nil {
			s.learn(v)
		}
		for i, cell := range q.cells {
			place := int32(-1)
			switch {
			case cell < 0 || v.Null(i):
			case s.Texts != nil:
				place = s.places[v.Codes[i]]
			case v.Float64[i] >= 0 && v.Float64[i] < float64(s.Count):
				place = int32(v.Float64[i])
			}
			if q.cells[i] = cell*int32(s.Count) + place; place < 0 {
				q.cells[i] = -1
			}
		}
	}
}

// learn finds the places of the texts of a dictionary.
func (s *split) learn(v *table.Values) {
	if s.dict == v.DictID && len(s.places) == len(v.Dict) {
		return
	}
	s.dict, s.places = v.DictID, s.places[:0]
	for _, text := range v.Dict {
		s.places = append(s.places, int32(slices.Index(s.Texts, text)))
	}
}
