package job

import (
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/say/problem"
)

// DataTable is one of several private tables of a data set (P32). Its Dataset holds what a job with one table says under
// dataset: where the rows are, their columns, and what becomes of several rows of a unit.
type DataTable struct {
	Name string
	Dataset
	Join []Named[[]string] // the columns that it takes from other tables, by table
}

// Joined says that a column of a table is made of the rows that the same unit has in another table (P32).
type Joined struct {
	Table string     // the other one
	Of    string     // its column, "" where rows are counted
	By    FoldBy     // how its values become one
	Where Expression // which of its rows count

	Derived bool   // it stands under derive, and not under join
	Canon   string // as a digest has it
}

// String writes the column as a job would under derive.
func (j *Joined) String() string {
	text := string(j.By) + "(" + j.Table
	if j.Of != "" {
		text += "." + j.Of
	}
	if j.Where.Said() {
		text += " where " + j.Where.Text
	}
	return text + ")"
}

// TableNames lists the tables of the data set, in the order of the job: one without a name where there is one table.
func (j *Job) TableNames() []string {
	if len(j.Dataset.Tables) == 0 {
		return []string{""}
	}
	names := make([]string, len(j.Dataset.Tables))
	for i := range names {
		names[i] = j.Dataset.Tables[i].Name
	}
	return names
}

// TableOf returns a table of the data set by its name.
func (d *Dataset) TableOf(name string) (*DataTable, bool) {
	i := slices.IndexFunc(d.Tables, func(t DataTable) bool { return t.Name == name })
	if i < 0 {
		return nil, false
	}
	return &d.Tables[i], true
}

// Of returns the job as a release from one of its tables sees it: with the rows and columns of that table. It is the job
// itself where the job has one table.
func (j *Job) Of(table string) *Job {
	t, ok := j.Dataset.TableOf(table)
	if !ok {
		return j
	}
	view, whole := *j, &j.Dataset
	d := t.Dataset
	d.ID, d.Relation, d.Size, d.AtLeast, d.Unit = whole.ID, whole.Relation, whole.Size, whole.AtLeast, whole.Unit
	d.Called, d.Frame, d.Population, d.Table = whole.Called, whole.Frame, whole.Population, t.Name
	d.Tables, d.Weights = whole.Tables, whole.Weights
	view.Dataset = d
	return &view
}

// WithCap returns the job with a cap that was found for a table, "" where there is one.
func (j *Job) WithCap(table string, rows int64) *Job {
	one := *j
	one.Dataset.Tables = slices.Clone(j.Dataset.Tables)
	d := &one.Dataset
	if t, ok := d.TableOf(table); ok {
		d = &t.Dataset
	}
	d.Cap = d.Cap.Found(rows)
	return &one
}

// First returns the job as the table of its population sees it: designs read the columns of that table.
func (j *Job) First() *Job { return j.Of(j.Dataset.Population) }

// MayVanish reports whether a unit of the population may have no row in the table that the job is seen from: only the table
// that defines a population keeps a row of each unit (P32).
func (d *Dataset) MayVanish() bool { return d.Table != "" && d.Table != d.Population }

// TableKeys are the keys that each of several tables has of its own.
var TableKeys = []string{"source", "unit", "columns", "lookups", "join", "derive", "fold", "cap"}

// Path is the path in the job of a key of the table that the job is seen from.
func (j *Job) Path(path string) string { return j.InTable(j.Dataset.Table, path) }

// InTable is the path in the job of a key that a table has under that path as if it were the only one: its dataset.columns.x
// stands under dataset.tables.NAME.columns.x.
func (j *Job) InTable(table, path string) string {
	rest, ok := strings.CutPrefix(path, "dataset.")
	if table == "" || !ok || !slices.ContainsFunc(TableKeys, func(key string) bool { return problem.Within(rest, key) }) {
		return path
	}
	return Key("dataset.tables", table) + "." + rest
}
