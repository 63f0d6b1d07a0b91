package run

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"math"
	"math/bits"
	"slices"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/plan"
	"github.com/dprelease/dprelease/internal/rows/units"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
)

// Several tables of one data set (P32). All that joins them is the unit: an index numbers the units of all tables at once,
// by one equality, and from then on each table is folded or capped by these numbers. A value that a row takes from another
// table is that of its own unit.

// openTables opens the tables that a plan reads, that of the population first.
func openTables(ctx context.Context, p *plan.Planned, memory int64) (*OpenedTable, error) {
	names := p.Tables()
	o := &OpenedTable{memory: cmp.Or(memory, Memory()) / int64(len(names))}
	for _, name := range names {
		view := p.Job.Of(name)
		columns := p.ColumnsOf(name)
		one, err := openOne(ctx, p, view, columns, columns, o.memory)
		if err != nil {
			o.Close()
			return nil, err
		}
		one.name = name
		o.parts = append(o.parts, one)
	}
	if err := o.comparable(p.Job); err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}

// comparable refuses tables whose keys cannot be compared: one says text and another whole numbers, or a key is neither.
// "007" is not 7, and what a key is follows from the tables and the job alone.
func (o *OpenedTable) comparable(j *job.Job) error {
	first, text := "", false
	for _, t := range o.parts {
		view := j.Of(t.name)
		key := view.Dataset.Key.Column
		c, _ := t.column(key)
		at := "dataset.tables." + t.name
		switch {
		case !keyKinds[c.Kind]:
			return failure.InJob(j, at, "has a "+c.Kind.String()+" in the column of the unit, "+key, "tables are joined by texts or whole numbers")
		case first != "" && text != (c.Kind == table.String):
			is := map[bool]string{true: "texts", false: "numbers"}
			hint := "write both files with one type"
			if c.Text || o.parts[0].textual(j) {
				hint = "in a CSV file the job says what the column holds: columns: {" + key + ": {type: number}} for whole numbers; without it they are texts"
			}
			return failure.InJob(j, at, "has "+is[c.Kind == table.String]+" in the column of the unit, and table "+first+" has "+is[text]+": “007” is not 7", hint)
		case first == "":
			first, text = t.name, c.Kind == table.String
		}
	}
	return nil
}

// textual reports whether the key of a table is stored as text.
func (o *OpenedTable) textual(j *job.Job) bool {
	c, _ := o.column(j.Of(o.name).Dataset.Key.Column)
	return c.Text
}

// keyKinds are the kinds of columns that tables are joined by.
var keyKinds = map[table.Kind]bool{table.String: true, table.Int: true, table.Float: true}

// mostWhole bounds the whole numbers that a float64 tells apart.
const mostWhole = 1 << 53

// keyOf returns a column of keys in the form in which all tables are compared: texts as they are, byte by byte, and whole
// numbers. A number that is not whole, or that a float64 does not tell from its neighbours, is a missing key.
func keyOf(v table.Values, rows int) table.Values {
	if v.Codes != nil || v.Float64 == nil && !v.Unsigned {
		return v
	}
	out := table.Values{Kind: table.Int, Int64: make([]int64, rows), Valid: make([]byte, (rows+7)/8)}
	for i := range rows {
		whole := !v.Null(i)
		if v.Unsigned {
			whole, out.Int64[i] = whole && v.Int64[i] >= 0, v.Int64[i]
		} else if x := v.Float64[i]; x == math.Trunc(x) && math.Abs(x) <= mostWhole {
			out.Int64[i] = int64(x)
		} else {
			whole = false
		}
		if whole {
			out.Valid[i>>3] |= 1 << (i & 7)
		}
	}
	return out
}

// Parts returns the tables one by one: the table itself where there is one.
func (o *OpenedTable) Parts() []*OpenedTable {
	if len(o.parts) > 0 {
		return o.parts
	}
	return []*OpenedTable{o}
}

// Name is the table's name in the job, "" where it is the only one.
func (o *OpenedTable) Name() string { return o.name }

// Fingerprint identifies the data: the content of each table, under its name.
func (o *OpenedTable) Fingerprint(ctx context.Context, key table.Key) (table.Fingerprint, error) {
	if len(o.parts) == 0 {
		return o.Content.Fingerprint(ctx, key)
	}
	mac := hmac.New(sha256.New, key[:])
	mac.Write([]byte("dprelease tables 1\n"))
	for _, t := range o.parts {
		f, err := t.Content.Fingerprint(ctx, key)
		if err != nil {
			return f, err
		}
		mac.Write([]byte(t.name + "\n"))
		mac.Write(f[:])
	}
	return table.Fingerprint(mac.Sum(nil)), nil
}

// Ahead reads what scans do not note.
func (o *OpenedTable) Ahead(ctx context.Context) error {
	for _, t := range o.Parts() {
		if err := t.Content.Ahead(ctx); err != nil {
			return err
		}
	}
	return nil
}

// settleTables numbers the units of all tables, joins the tables, and folds or caps each one that a release reads. It comes
// after the debit: what it finds depends on values (P20).
func (r *Runner) settleTables(ctx context.Context, src *noise.Source) error {
	d := &r.Plan.Job.Dataset
	var err error
	var parts map[string]*units.Index
	if r.index, parts, r.several, err = r.Table.numberTables(ctx, r.Plan.Job); err != nil {
		return err
	}
	if d.Relation == privacy.ReplaceOne && r.several != d.Size {
		return errSize
	}
	for _, t := range r.Table.parts {
		view := r.Plan.Job.Of(t.name)
		if view.Dataset.OneRow {
			if repeated, err := repeats(parts[t.name], r.several); err != nil || repeated > 0 {
				return cmp.Or(err, error(errUnit))
			}
		}
		r.sides[t.name] = &side{job: view, table: t, index: parts[t.name], population: r.several}
	}
	for _, t := range r.Table.parts {
		s := r.sides[t.name]
		if s.table, err = r.join(ctx, s); err != nil {
			return err
		}
	}
	for _, t := range r.Table.parts {
		s := r.sides[t.name]
		switch {
		case !r.read(t.name):
			continue
		case s.job.Dataset.Cap != nil:
			err = s.cap(ctx, r.Plan, src)
		default:
			err = s.fold(ctx, r.Plan)
		}
		if err != nil {
			return err
		}
		s.units.units = r.several
	}
	return nil
}

// read reports whether a release, or a draw, reads the rows of a table.
func (r *Runner) read(name string) bool {
	return name == r.Plan.Job.Dataset.Population || slices.ContainsFunc(r.Plan.Releases(), func(rel *plan.PlannedRelease) bool { return rel.Job.Table == name })
}

// numberTables numbers the units of all tables. The units of the population come first, and without a population those of
// all tables count. Each table has its part of the index.
//
// # Contract
//
// Two rows of any tables have the same number exactly if their keys are equal. A row without a key has no number, or one
// that no other row of any table has (missing: own). Where a table defines the population, a row of another unit has no
// number in any table. Proof: tables.proof.md.
func (o *OpenedTable) numberTables(ctx context.Context, j *job.Job) (_ *units.Index, parts map[string]*units.Index, n int64, err error) { // P32
	index, err := units.NewIndex(units.IndexSpec{Null: units.OwnNulls, Memory: o.memory})
	if err != nil {
		return nil, nil, 0, err
	}
	defer func() {
		if err != nil {
			index.Close()
		}
	}()
	for _, t := range o.parts {
		key := j.Of(t.name).Dataset.Key
		err = t.rows.Scan(ctx, table.ScanOptions{Columns: []string{key.Column}, Content: t.Content}, func(b table.Batch) error {
			return index.AddTable(units.NullUnits(key.Missing), keyOf(b.Columns[0], b.Rows), b.Rows)
		})
		if err != nil {
			return nil, nil, 0, err
		}
	}
	if err = index.Finish(); err != nil {
		return nil, nil, 0, err
	}
	n = index.Units()
	if d := &j.Dataset; d.Population != "" {
		first := index.Part(0, o.parts[0].Rows(), n)
		if n, err = largest(first); err != nil {
			return nil, nil, 0, err
		}
	}
	parts, at := map[string]*units.Index{}, int64(0)
	for _, t := range o.parts {
		parts[t.name] = index.Part(at, t.Rows(), n)
		at += t.Rows()
	}
	return index, parts, n, nil
}

// KeysOf counts for each table the units that have no row in each of the others. It is for a look at the tables (P19), so no
// rule for rows without a unit ends it.
func KeysOf(ctx context.Context, p *plan.Planned) (map[string]map[string]int64, error) {
	o, err := openTables(ctx, p, 0)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	if err := o.Load(ctx); err != nil {
		return nil, err
	}
	index, err := units.NewIndex(units.IndexSpec{Null: units.OwnNulls, Memory: o.memory})
	if err != nil {
		return nil, err
	}
	defer index.Close()
	for _, t := range o.parts {
		key := p.Job.Of(t.name).Dataset.Key
		err = t.rows.Scan(ctx, table.ScanOptions{Columns: []string{key.Column}, Content: t.Content}, func(b table.Batch) error {
			return index.AddTable(units.DropNulls, keyOf(b.Columns[0], b.Rows), b.Rows)
		})
		if err != nil {
			return nil, err
		}
	}
	if err := index.Finish(); err != nil {
		return nil, err
	}
	has, at := make([]*rowSet, len(o.parts)), int64(0)
	for i, t := range o.parts {
		has[i] = newRowSet(index.Units())
		err := eachNumber(index.Part(at, t.Rows(), index.Units()), func(unit int32) {
			if unit >= 0 {
				has[i].add(int64(unit))
			}
		})
		if err != nil {
			return nil, err
		}
		at += t.Rows()
	}
	out := map[string]map[string]int64{}
	for i, t := range o.parts {
		out[t.name] = map[string]int64{}
		for k, other := range o.parts {
			if k == i {
				continue
			}
			n := int64(0)
			for w := range has[i].words {
				n += int64(bits.OnesCount64(has[i].words[w] &^ has[k].words[w]))
			}
			out[t.name][other.name] = n
		}
	}
	return out, nil
}

// someNumbers is how many numbers are read at once.
const someNumbers = 1 << 16

// eachNumber visits the numbers of all rows.
func eachNumber(x *units.Index, visit func(n int32)) error {
	numbers := make([]int32, min(someNumbers, x.Rows()))
	for first := int64(0); first < x.Rows(); first += someNumbers {
		some := numbers[:min(someNumbers, x.Rows()-first)]
		if err := x.Numbers(first, some); err != nil {
			return err
		}
		for _, n := range some {
			visit(n)
		}
	}
	return nil
}

// largest returns how many units the rows have, which are numbered from 0.
func largest(x *units.Index) (n int64, err error) {
	err = eachNumber(x, func(unit int32) { n = max(n, int64(unit)+1) })
	return n, err
}

// repeats counts the rows of units that have an earlier row.
func repeats(x *units.Index, units int64) (n int64, err error) {
	seen := newRowSet(units)
	err = eachNumber(x, func(unit int32) {
		switch {
		case unit < 0:
		case seen.has(int64(unit)):
			n++
		default:
			seen.add(int64(unit))
		}
	})
	return n, err
}

// join returns the table with the columns that its releases take from other tables: each is folded by the unit there.
func (r *Runner) join(ctx context.Context, s *side) (*OpenedTable, error) {
	wanted := r.Plan.Partners(s.job.Dataset.Table)
	if len(wanted) == 0 {
		return s.table, nil
	}
	with := &partnered{whole: s.table.rows, index: s.index, columns: map[string]partner{}}
	for _, t := range r.Table.parts {
		from := r.sides[t.name]
		mine := slices.DeleteFunc(slices.Clone(wanted), func(c job.Column) bool { return c.Joined.Table != t.name })
		if len(mine) == 0 {
			continue
		}
		folded, views, err := from.partners(ctx, mine)
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, folded)
		for i, c := range mine {
			one := partner{folded: folded.View(views[i]), empty: math.NaN()}
			if c.Joined.By == job.FoldCount || c.Joined.By == job.FoldSum {
				one.empty = 0 // of no rows
			}
			with.columns[c.Name] = one
		}
	}
	joined := *s.table
	joined.rows = with
	return &joined, nil
}

// partners folds the rows of a table to columns of another one. It returns the view in which each column is.
//
// # Contract
//
// The value of a unit is a function of the rows that it has in this table. Proof: tables.proof.md.
func (s *side) partners(ctx context.Context, columns []job.Column) (*units.FoldedUnits, []int, error) { // P32
	var wants []job.Column
	var conditions []job.Expression
	views, from := make([]int, len(columns)), make([]int, len(columns))
	spec := units.FoldSpec{Null: units.DropNulls, Memory: s.table.memory}
	for i, c := range columns {
		j := c.Joined
		f := units.Fold{Column: c.Name, By: string(j.By), Number: true, Upper: mostWhole}
		if from[i] = -1; j.Of != "" {
			of, _ := s.job.Dataset.Column(j.Of)
			if from[i] = slices.IndexFunc(wants, func(o job.Column) bool { return o.Name == of.Name }); from[i] < 0 {
				from[i] = len(wants)
				wants = append(wants, of)
			}
			if f.Number, f.Domain = of.Type != job.Category, of.Domain; f.Number && c.Lower != nil {
				f.Lower, f.Upper = rational.Up(c.Lower), rational.Down(c.Upper)
			}
		}
		if e := j.Where; e.Said() {
			at := slices.IndexFunc(conditions, func(o job.Expression) bool { return o.Text == e.Text })
			if at < 0 {
				at = len(conditions)
				conditions = append(conditions, e)
			}
			views[i] = at + 1
		}
		f.Views = []int{views[i]}
		spec.Columns = append(spec.Columns, f)
	}
	spec.Views = 1 + len(conditions)
	in, err := newReading(s.job, s.table.lookups, wants, conditions, false)
	if err != nil {
		return nil, nil, err
	}
	folder, err := units.NewFolder(spec)
	if err != nil {
		return nil, nil, err
	}
	defer folder.Close()
	keys := &unitKeys{side: s}
	if err := keys.all(func(unit table.Values, rows int) error {
		return folder.Add(unit, nothingOf(&spec, rows), noneOf(spec.Views, rows), rows)
	}); err != nil {
		return nil, nil, err
	}
	preparers := in.preparers(false)
	var ones []float64
	err = s.table.own().Scan(ctx, table.ScanOptions{Columns: in.sources, Content: s.table.Content}, func(b table.Batch) error {
		if err := in.read(b); err != nil {
			return err
		}
		values, err := in.unfolded(preparers, b.Rows)
		if err != nil {
			return err
		}
		for len(ones) < b.Rows {
			ones = append(ones, 1)
		}
		all := make([]table.Values, len(columns))
		for i := range columns {
			if all[i] = (table.Values{Kind: table.Float, Float64: ones[:b.Rows]}); from[i] >= 0 {
				all[i] = values[from[i]]
			}
		}
		unit, err := keys.of(b)
		if err != nil {
			return err
		}
		return folder.Add(unit, all, append([][]byte{nil}, in.masks...), b.Rows)
	})
	if err != nil {
		return nil, nil, err
	}
	done, err := folder.Finish()
	return done, views, err
}

// own are the rows of a table without what they take from others.
func (o *OpenedTable) own() rowSource {
	if with, ok := o.rows.(*partnered); ok {
		return with.whole
	}
	return o.rows
}

// unitKeys reads the units of a table for a fold: the column of the job, or the numbers of an index of several tables.
type unitKeys struct {
	*side
	column  int // of the batch, where there is one table
	numbers []int32
}

// keys returns the units of a fold, and the columns that its scan reads.
func (s *side) keys(sources []string) (*unitKeys, []string) {
	columns := slices.Clone(sources)
	k := &unitKeys{side: s}
	if s.index == nil {
		k.column = appended(&columns, s.job.Dataset.Key.Column)
	}
	return k, columns
}

// nulls is the rule of a fold for rows without a unit: an index of several tables has applied that of the job.
func (s *side) nulls() units.NullUnits {
	if s.index != nil {
		return units.DropNulls
	}
	return units.NullUnits(s.job.Dataset.Key.Missing)
}

// all adds every unit of several tables, without a value, so that each has its place in the fold of each table.
func (k *unitKeys) all(add func(unit table.Values, rows int) error) error {
	for first := int64(0); k.index != nil && first < k.population; first += someNumbers {
		n := int(min(someNumbers, k.population-first))
		unit := table.Values{Kind: table.Int, Int64: make([]int64, n)}
		for i := range unit.Int64 {
			unit.Int64[i] = first + int64(i)
		}
		if err := add(unit, n); err != nil {
			return err
		}
	}
	return nil
}

// of returns the units of a block.
func (k *unitKeys) of(b table.Batch) (table.Values, error) {
	if k.index == nil {
		return b.Columns[k.column], nil
	}
	if cap(k.numbers) < b.Rows {
		k.numbers = make([]int32, b.Rows)
	}
	numbers := k.numbers[:b.Rows]
	if err := k.index.Numbers(b.Block.First, numbers); err != nil {
		return table.Values{}, err
	}
	v := table.Values{Kind: table.Int, Int64: make([]int64, b.Rows), Valid: make([]byte, (b.Rows+7)/8)}
	for i, n := range numbers {
		if n >= 0 {
			v.Int64[i] = int64(n)
			v.Valid[i>>3] |= 1 << (i & 7)
		}
	}
	return v, nil
}

// nothingOf are columns of a fold in which every value is missing.
func nothingOf(spec *units.FoldSpec, rows int) []table.Values {
	out := make([]table.Values, len(spec.Columns))
	for i, c := range spec.Columns {
		out[i] = table.Values{Kind: table.Float, Float64: make([]float64, rows), Valid: make([]byte, (rows+7)/8)}
		if !c.Number {
			out[i] = table.Values{Kind: table.String, Codes: make([]int32, rows), Dict: c.Domain, Valid: out[i].Valid}
		}
	}
	return out
}

// noneOf are the masks of rows that pass no condition.
func noneOf(views, rows int) [][]byte {
	out := make([][]byte, views)
	for v := 1; v < views; v++ {
		out[v] = make([]byte, (rows+7)/8)
	}
	return out
}

// partnered are the rows of a table with columns of other tables.
type partnered struct {
	whole   rowSource
	index   *units.Index
	columns map[string]partner
}

// partner is a column of another table, folded by the unit.
type partner struct {
	folded *units.Folded
	empty  float64 // the value of a unit without a row there, NaN where it is missing
}

// Rows is the number of rows of the table itself.
func (p *partnered) Rows() int64 { return p.whole.Rows() }

// Scan adds to each block the values that its rows take from other tables.
func (p *partnered) Scan(ctx context.Context, o table.ScanOptions, visit func(table.Batch) error) error {
	all := o.Columns
	o.Columns = nil
	for _, name := range all {
		if _, taken := p.columns[name]; !taken {
			o.Columns = append(o.Columns, name)
		}
	}
	room := make([]units.Gathered, len(all))
	var numbers []int32
	return p.whole.Scan(ctx, o, func(b table.Batch) error {
		var err error
		if numbers, err = numbersOf(p.index, b, numbers); err != nil {
			return err
		}
		columns := make([]table.Values, len(all))
		for i, own := 0, 0; i < len(all); i++ {
			if from, taken := p.columns[all[i]]; taken {
				if columns[i], err = from.folded.Gather(all[i], numbers, from.empty, &room[i]); err != nil {
					return err
				}
				continue
			}
			columns[i] = b.Columns[own]
			own++
		}
		b.Columns = columns
		return visit(b)
	})
}

// numbersOf reads the numbers of the units of the rows that were picked of a block.
func numbersOf(x *units.Index, b table.Batch, room []int32) ([]int32, error) {
	if cap(room) < b.Block.Rows {
		room = make([]int32, b.Block.Rows)
	}
	block := room[:b.Block.Rows]
	if err := x.Numbers(b.Block.First, block); err != nil {
		return nil, err
	}
	if b.Picked.All {
		return block, nil
	}
	for i, row := range b.Picked.Rows { // ascending, so nothing is written before it is read
		block[i] = block[row]
	}
	return block[:b.Rows], nil
}
