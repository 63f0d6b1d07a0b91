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
	sources   []source
	evaluator *rows.Evaluator
	at        []int // of the columns that the evaluator reads, among Columns
	declared  []sdk.Column
	// dictionaries are the numbers of the domains of the columns.
	dictionaries []uint64
	held         []*holder // of the columns; nil for one that is taken as it is
	by           int       // of the column of groups among Columns, -1 where there is none
	room         int64     // for so many rows more
	weights      [2]float64
}

// source gives the values of an expression in a batch. Evaluated are those that the evaluator computed.
type source func(b sdk.Batch, evaluated []table.Values) table.Values

// query is one vector of sums.
type query struct {
	splits      []split
	coordinates []coordinate
	norm        *norm // nil for none
	places      int32 // the cells of one group
	sums        []int64
	cells       []int32 // of the rows of a batch, where they have splits
	present     []int32 // the cells of the rows that have the value of a coordinate
	row         []float64
	weights     [2]float64
	columns     []string  // that the coordinates read
	along       *interval // of their one column; nil where they read none or several
}

// split is an sdk.Split whose value is number at of the sources.
type split struct {
	sdk.Split
	at     int
	dict   uint64  // of the texts that places belong to
	places []int32 // of the entries of that dictionary, behind one -1 for a missing text
}

// block holds the values of the sources in the rows of a batch.
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
		if len(own.columns) == 1 {
			own.along = intervalOf(q.declared[slices.Index(q.Columns, own.columns[0])])
		}
		reach, along := own.reach()
		if along {
			at := slices.Index(q.Columns, own.columns[0])
			q.held[at] = &holder{low: q.declared[at].Lower, high: q.declared[at].Upper}
		}
		if reach.Arrive.L1.Sign() == 0 {
			return nil, fmt.Errorf("plan: query %d: no row adds anything that noise could hide: the range or the lattice is wrong", i+1)
		}
		if !fits(own.most(), q.units.times, q.room) {
			return nil, fmt.Errorf("plan: query %d: the lattice is too fine: sums of all rows have no room", i+1)
		}
		q.Claims = append(q.Claims, reach.Claim(q.units.counted()))
		if numbers += q.units.Cells * int64(own.places) * int64(len(own.coordinates)); numbers > 1<<22 {
			return nil, &Refusal{"by: the groups make too many sums"}
		}
		own.sums = make([]int64, int(q.units.Cells)*int(own.places)*len(own.coordinates))
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
	add := func(text string, want formula.Type) (int, *formula.Formula, error) {
		f, problems := formula.Check(text, known)
		if len(problems) > 0 {
			return 0, nil, unhinted(problems[0])
		}
		if f.Type != want {
			return 0, nil, fmt.Errorf("the expression is a %s, and should be a %s", f.Type, want)
		}
		for _, c := range f.Columns() {
			if !slices.Contains(q.Columns, c) {
				q.Columns = append(q.Columns, c)
			}
		}
		q.sources = append(q.sources, q.source(f, &spec, taken))
		return len(q.sources) - 1, f, nil
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
			at, _, err := add(s.Value, want)
			if err != nil {
				return fmt.Errorf("plan: cells of query %d: %w", i+1, err)
			}
			s.Count = max(s.Count, int64(len(s.Texts)))
			own.splits, own.places = append(own.splits, split{Split: s, at: at}), own.places*int32(s.Count)
		}
		for _, c := range declared.Coordinates {
			at, f, err := add(c.Value, formula.Number)
			if err != nil {
				return fmt.Errorf("plan: coordinate of query %d: %w", i+1, err)
			}
			own.coordinates = append(own.coordinates, coordinate{Coordinate: c, at: at, root: f.Root})
			own.columns = append(own.columns, f.Columns()...)
		}
		slices.Sort(own.columns)
		own.columns = slices.Compact(own.columns)
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
	q.held = make([]*holder, len(q.Columns))
	return nil
}

// source makes the source of an expression. The evaluator computes all but columns as they are and constants.
func (q *Queries) source(f *formula.Formula, spec *rows.Spec, taken func(name string) bool) source {
	switch root := f.Root; {
	case root.Op == formula.Read:
		at := slices.Index(q.Columns, root.Column)
		return func(b sdk.Batch, _ []table.Values) table.Values {
			return values(q.declared[at], b.Columns[at], q.dictionaries[at])
		}
	case root.Op == formula.Literal && root.Type == formula.Number:
		var all []float64
		return func(b sdk.Batch, _ []table.Values) table.Values {
			for len(all) < b.Rows {
				all = append(all, root.Number)
			}
			return table.Values{Kind: table.Float, Float64: all[:b.Rows]}
		}
	}
	at := len(spec.Outputs)
	name := "value " + strconv.Itoa(at)
	for taken(name) {
		name += "'"
	}
	spec.Derived = append(spec.Derived, rows.Derived{Name: name, Formula: f})
	spec.Outputs = append(spec.Outputs, name)
	return func(_ sdk.Batch, evaluated []table.Values) table.Values { return evaluated[at] }
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
	b.Columns = slices.Clone(b.Columns)
	for i := range q.held {
		if h := q.held[i]; h != nil {
			b.Columns[i].Float64 = h.hold(b.Columns[i].Float64)
		}
	}
	columns := make([]table.Values, len(q.at))
	for i, at := range q.at {
		columns[i] = values(q.declared[at], b.Columns[at], q.dictionaries[at])
	}
	evaluated := q.evaluator.Eval(columns, b.Rows).Columns
	all := block{values: make([]table.Values, len(q.sources)), n: b.Rows, weight: q.weigh(b.Weights, b.Rows)}
	for i, of := range q.sources {
		all.values[i] = of(b, evaluated)
	}
	if q.by >= 0 {
		all.groups = b.Columns[q.by].Codes
	}
	for _, own := range q.all {
		own.add(all)
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

// weigh holds weights to their public bounds; rows that come without weigh 1. One that is no number makes its row add nothing. It
// returns nil where all weigh 1.
func (q *Queries) weigh(weights []float64, rows int) []float64 {
	if weights == nil {
		if q.weights == [2]float64{1, 1} {
			return nil
		}
		weights = slices.Repeat([]float64{1}, rows)
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
	cells := q.place(b)
	size := len(q.sums) / len(q.coordinates)
	if q.norm != nil {
		q.addShort(b, cells, size)
		return
	}
	for j := range q.coordinates {
		c := &q.coordinates[j]
		v, sums, cells := &b.values[c.at], q.sums[j*size:(j+1)*size], cells
		if v.Valid != nil {
			q.present = present(q.present, cells, v.Valid, b.n)
			cells = q.present
		}
		switch {
		case b.weight != nil:
			for i, x := range v.Float64[:b.n] {
				if cell := cellOf(cells, i); cell >= 0 {
					sums[cell] += c.whole(c.number(x, b.weight, i))
				}
			}
		case c.root.Op == formula.Literal:
			c.count(cells, sums, b.n)
		default:
			c.add(v.Float64[:b.n], cells, sums)
		}
	}
}

// present fills dst with the cells of n rows, -1 where no value is present.
func present(dst, cells []int32, valid []byte, n int) []int32 {
	dst = slices.Grow(dst[:0], n)[:n]
	for i := range dst {
		dst[i] = cellOf(cells, i) | (int32(valid[i>>3]>>(i&7)&1) - 1)
	}
	return dst
}

// cellOf returns the cell of a row, -1 for none. No cells stand for one.
func cellOf(cells []int32, row int) int32 {
	if cells == nil {
		return 0
	}
	return cells[row]
}

// addShort is add for vectors that are held to a norm.
func (q *query) addShort(b block, cells []int32, size int) {
	for i := range b.n {
		cell := cellOf(cells, i)
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

// place finds the cell of each row, -1 for none. It returns nil where there is one cell.
func (q *query) place(b block) []int32 {
	cells := b.groups
	for k := range q.splits {
		q.cells = slices.Grow(q.cells[:0], b.n)[:b.n]
		q.splits[k].place(q.cells, cells, &b.values[q.splits[k].at])
		cells = q.cells
	}
	return cells
}

// place divides cells, which may be dst, by the values of the rows.
func (s *split) place(dst, cells []int32, v *table.Values) {
	if s.Texts != nil {
		s.learn(v)
	}
	most, count := float64(s.Count), int32(s.Count)
	for i := range dst {
		cell, place := cellOf(cells, i), int32(-1)
		switch {
		case v.Null(i):
		case s.Texts != nil:
			place = s.places[v.Codes[i]+1]
		case v.Float64[i] >= 0 && v.Float64[i] < most:
			place = int32(v.Float64[i])
		}
		if dst[i] = cell*count + place; cell < 0 || place < 0 {
			dst[i] = -1
		}
	}
}

// learn finds the places of the texts of a dictionary.
func (s *split) learn(v *table.Values) {
	if s.dict == v.DictID && len(s.places) == len(v.Dict)+1 {
		return
	}
	s.dict, s.places = v.DictID, append(s.places[:0], -1)
	for _, text := range v.Dict {
		s.places = append(s.places, int32(slices.Index(s.Texts, text)))
	}
}
