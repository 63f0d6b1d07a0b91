package run

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/data/database"
	"github.com/dprelease/dprelease/internal/data/iceberg"
	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/rows"
	"github.com/dprelease/dprelease/internal/say/failure"
	"github.com/dprelease/dprelease/internal/say/problem"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/samplers"
)

// OpenedTable is the table of a job, opened and held to what the job says of it.
type OpenedTable struct {
	Table   *table.Table
	Content *table.Content                  // what was read of it
	rows    rowSource                       // the table, or the slice of it that the job means
	lookups []*rows.Lookup                  // the public tables of the job
	name    string                          // in the job, where it has several tables
	shares  bool                            // its units with other tables
	parts   []*OpenedTable                  // the tables of a job with several, which stand in place of table, content and rows
	units   map[string][]int32              // for each framed draw the unit of every row
	refused map[string]error                // for each of them what a row may not be, and is
	counts  framed                          // of the parts of an engine, where a row is a unit of privacy
	memory  int64                           // that the values may take at once
	pending func(ctx context.Context) error // reads the rows of a query, nil once they are read
	failed  error                           // what pending met
}

// Close gives up the files of the table.
func (t *OpenedTable) Close() {
	for _, one := range t.parts {
		one.Close()
	}
	if t.Table != nil {
		t.Table.Close()
	}
}

// Rows is the number of rows of the table, or of several together, which is private under add-remove (P19).
func (t *OpenedTable) Rows() (n int64) {
	for _, one := range t.Parts() {
		n += one.rows.Rows()
	}
	return n
}

// Open opens the table of a job, in files, in a snapshot or in a database. columns are those that will be
// read; none stands for all. memory bounds what the values may take; 0 stands for what the machine allows.
func Open(ctx context.Context, j *job.Job, columns []string, memory int64) (*table.Table, error) {
	memory = cmp.Or(memory, Memory())
	from := &j.Dataset.Source
	switch {
	case from.Snapshot != 0:
		return iceberg.Open(ctx, iceberg.Source{Path: from.Path, Snapshot: from.Snapshot}, spec(j, columns, memory))
	case from.Postgres.Empty():
		return table.Open(ctx, spec(j, columns, memory))
	}
	return database.Open(ctx, database.Source{Address: from.Postgres.Reveal(), Table: from.Table, Query: from.Query}, columns, memory)
}

// spec describes how the table of a job is opened. columns are those that will be read;
// none stands for all. In a CSV file a column is text, unless the job says what it
// holds.
func spec(j *job.Job, columns []string, memory int64) table.Spec {
	from := &j.Dataset.Source
	s := table.Spec{Path: from.Path, Memory: memory,
		CSV: table.CSV{Delimiter: from.Delimiter, Missing: from.Missing, Encoding: from.Encoding,
			Locale: table.Locale{Decimal: from.Decimal, Thousands: from.Thousands, Dates: from.Dates}, Kinds: map[string]table.Kind{},
			Contents: columns},
		Domains: table.Domains{}}
	s.Format = s.CSV.Format()
	for _, c := range j.Dataset.Columns {
		kind, ok := stored[c.Type]
		if c.Type == job.Number {
			kind, ok = table.Float, true
		}
		if c.Derived != nil || c.Lookup != nil || c.Joined != nil {
			continue
		}
		if ok {
			s.CSV.Kinds[c.Name] = kind
		}
		if len(c.Domain) > 0 {
			s.Domains[c.Name] = table.NewDomain(c.Domain)
		}
	}
	return s
}

// OpenTable opens the table and checks everything that can be checked without
// reading a private value: files, schema, pages, size, and the public frame.
func OpenTable(ctx context.Context, p *planned.Plan, memory int64) (*OpenedTable, error) {
	o, err := openAll(ctx, p, memory)
	if err != nil {
		return nil, err
	}
	if err := panelKeys(p, o); err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}

// Examine finds before the debit what could not be decoded after it (P21), except where an engine reads the rows.
func (o *OpenedTable) Examine(ctx context.Context, p *planned.Plan) error {
	for _, one := range o.Parts() {
		columns := p.Columns()
		if one.name != "" {
			columns = p.ColumnsOf(one.name)
		}
		if one.Pending() || p.Job.Engine.Elsewhere() {
			continue
		}
		if err := one.Table.Examine(ctx, columns); err != nil {
			return SourceFailure(ctx, p.Job.Of(one.name), err)
		}
	}
	return nil
}

// openAll opens the table of a plan, or all of them.
func openAll(ctx context.Context, p *planned.Plan, memory int64) (*OpenedTable, error) {
	if len(p.Job.Dataset.Tables) > 0 {
		return openTables(ctx, p, memory)
	}
	return openOne(ctx, p, p.Job, p.Columns(), p.Known(), memory)
}

// openOne opens a table as a job sees it. columns are those that are read, known those by which the table is known again.
func openOne(ctx context.Context, p *planned.Plan, j *job.Job, columns, known []string, memory int64) (*OpenedTable, error) {
	t, err := open(ctx, j, known, memory)
	if err != nil {
		return nil, SourceFailure(ctx, j, err)
	}
	if err := absentColumns(j, t, columns); err != nil {
		t.Close()
		return nil, err
	}
	o := &OpenedTable{Table: t, rows: t, memory: cmp.Or(memory, Memory()), units: map[string][]int32{}, refused: map[string]error{}}
	if err = o.shape(j, columns); err != nil {
		t.Close()
		return nil, err
	}
	if j.Dataset.Source.Query != "" {
		o.pending = func(ctx context.Context) error { return o.read(ctx, p, j, columns, known) }
		return o, nil
	}
	if err = o.contents(ctx, p, j, known); err != nil {
		t.Close()
		return nil, err
	}
	return o, nil
}

// open opens the table for a run. A query may fail on a value, and would tell that before the debit, so its columns alone
// are asked for (P33).
func open(ctx context.Context, j *job.Job, columns []string, memory int64) (*table.Table, error) {
	if from := &j.Dataset.Source; from.Query != "" {
		return database.Describe(ctx, database.Source{Address: from.Postgres.Reveal(), Query: from.Query}, columns)
	}
	return Open(ctx, j, columns, memory)
}

// Pending reports whether the rows are those of a query that nobody has run yet.
func (o *OpenedTable) Pending() bool {
	return o.pending != nil || slices.ContainsFunc(o.parts, (*OpenedTable).Pending)
}

// Load reads the rows of a query, which a run does after its debit (P33); of all other tables it does nothing. A run that
// asks again for releases that it made loads before the debit, and takes an error for other data: Load returns the same
// error again.
func (o *OpenedTable) Load(ctx context.Context) error {
	for _, one := range o.parts {
		if err := one.Load(ctx); err != nil {
			return err
		}
	}
	if o.pending != nil && o.failed == nil {
		if o.failed = o.pending(ctx); o.failed == nil {
			o.pending = nil
		}
	}
	return o.failed
}

// read runs the query and puts its rows in place.
func (o *OpenedTable) read(ctx context.Context, p *planned.Plan, j *job.Job, columns, known []string) error {
	t, err := Open(ctx, j, columns, o.memory)
	if err != nil {
		return err
	}
	o.Table.Close() // it had no rows
	o.Table, o.rows = t, t
	if err := o.shape(j, columns); err != nil || absentColumns(j, t, columns) != nil {
		return &table.Error{Code: table.CodeChanged, Detail: "the columns of the query are others than before the debit"}
	}
	if o.contents(ctx, p, j, known) != nil {
		return &table.Error{Code: table.CodeUnreachable, Detail: "the rows could not all be read"} // one code for all
	}
	return nil
}

// shape holds the columns of the table to what the job says of them, and reads the public tables. It reads no value.
func (o *OpenedTable) shape(j *job.Job, columns []string) (err error) {
	var wrong job.Problems
	for _, c := range o.Table.Columns() {
		declared, ok := j.Dataset.Column(c.Name)
		if !ok || !slices.Contains(columns, c.Name) {
			continue
		}
		if ok, why := Suits(declared, c); !ok {
			wrong = append(wrong, j.Problem(j.Path(job.Key("dataset.columns", c.Name)), "cannot be used as a "+string(declared.Type)+": "+why, ""))
		}
	}
	if len(wrong) > 0 {
		return wrong.Sort()
	}
	o.lookups, err = readLookups(j)
	return err
}

// contents finds the pages of the columns, and holds the rows to what is public of them.
func (o *OpenedTable) contents(ctx context.Context, p *planned.Plan, j *job.Job, columns []string) error {
	if len(columns) == 0 {
		// A job that counts rows reads no column. Its table is still known by what it holds.
		columns = o.Table.Usable()
	}
	var err error
	if o.Content, err = o.Table.Content(ctx, columns); err != nil { // verifies them
		return SourceFailure(ctx, j, err)
	}
	if s := j.Dataset.Slice; s != nil {
		if err = o.slice(ctx, s); err != nil {
			return SourceFailure(ctx, j, err)
		}
	}
	return o.held(ctx, p, j)
}

// held holds the rows to what is public of them, and finds the unit of each row for the draws that need it.
func (o *OpenedTable) held(ctx context.Context, p *planned.Plan, j *job.Job) (err error) {
	if j.Dataset.Folds() || j.Dataset.Cap != nil {
		return nil // how many units there are, and where they lie, is found after the debit
	}
	// Under replace-one the number of rows is public; under add-remove nothing is
	// said of it (P19).
	if j.Dataset.Relation == privacy.ReplaceOne && o.Rows() != j.Dataset.Size {
		return j.Wrong("dataset.size", "is not the number of rows of the table",
			"under replace-one the size is public: count the rows and say it")
	}
	if j.Engine.Elsewhere() {
		return nil // its machines find the unit of each row: CountFrames
	}
	for _, d := range p.Draws {
		if o.units[d.Name], o.refused[d.Name], err = findUnits(ctx, j, d, o.rows, o.Content); err != nil {
			return SourceFailure(ctx, j, err)
		}
		if err := matches(j, d, samplers.CountUnits(o.units[d.Name])); err != nil {
			return err
		}
	}
	return nil
}

// absentColumns refuses a table without some of the columns that the job reads, and
// names all of them; the place is that of the first.
func absentColumns(j *job.Job, t *table.Table, columns []string) error {
	var names, usable, wrong []string
	for _, c := range t.Columns() {
		names = append(names, c.Name)
		if c.Usable {
			usable = append(usable, c.Name)
		}
	}
	place := ""
	for _, name := range columns {
		if slices.Contains(usable, name) {
			continue
		}
		why := "no column " + name + " in the table"
		if i := slices.Index(names, name); i >= 0 {
			why = "column " + name + " cannot be used: " + t.Columns()[i].Reason
		} else if near := problem.NearestWord(name, usable); !t.FirstRowNames() && near != "" {
			why += " (one of its columns has a similar name)" // P33: where a table has no headings, its first row stands there
		} else {
			why += " (check --data lists its columns)"
		}
		wrong = append(wrong, why)
		if place == "" {
			place = job.Key("dataset.columns", name)
			if name == j.Dataset.Key.Column && !j.Has(place) {
				place = "dataset.unit.column"
			}
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	if !j.Has(place) {
		place = "dataset.columns" // a column of the design, which need not be declared
	}
	return failure.New(failure.ExitSource, "SOURCE_NO_SUCH_COLUMN", "%s: %s: %s; nothing was drawn and nothing debited", j.Pos(place),
		j.Path(place), strings.Join(wrong, "; "))
}

// SourceCode is the code word of a table's error: SOURCE_NOT_FOUND.
func SourceCode(e *table.Error) string {
	return "SOURCE_" + strings.ToUpper(strings.ReplaceAll(e.Code, "-", "_"))
}

// SourceFailure places what is wrong with the table before a row was read.
func SourceFailure(ctx context.Context, j *job.Job, err error) error {
	var e *table.Error
	switch {
	case ctx.Err() != nil:
		return failure.New(failure.ExitInterrupted, "INTERRUPTED", "the run was interrupted; nothing was drawn and nothing debited")
	case !errors.As(err, &e):
		return failure.New(failure.ExitSource, "SOURCE_UNREADABLE", "the table cannot be read; nothing was drawn and nothing debited")
	}
	key := "dataset.source"
	for _, said := range []string{"path", "iceberg", "query", "table"} {
		if k := "dataset.source." + said; j.Has(k) {
			key = k
		}
	}
	return failure.New(failure.ExitSource, SourceCode(e), "%s: %s: %s; nothing was drawn and nothing debited", j.Pos(key), key, e.Error())
}
