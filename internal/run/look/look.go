package look

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/internal/rows/units"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/privacy"
	"github.com/dprelease/dprelease/privacy/rational"
)

// Look is the view of somebody who may see the table: private facts, without any noise.
// It must go to a terminal or to a private file, and never into a release (P19).
type Look struct {
	Warning string `json:"confidential"`
	Version int    `json:"version"`
	Job     struct {
		Name   string `json:"name"`
		Digest string `json:"digest"`
	} `json:"job"`
	Record   string       `json:"record"` // whether the ledger knows of the look
	Rows     int64        `json:"rows"`
	Declared string       `json:"declared_rows"`
	Columns  []LookColumn `json:"columns"`
	Others   []string     `json:"other_columns"`
	Units    *UnitFacts   `json:"units,omitempty"`
	// UnitRows say how many rows a unit has, where it may have several; Dropped says how many
	// the cap leaves out of each release.
	UnitRows *units.UnitFacts `json:"unit_rows,omitempty"`
	Dropped  []run.CapDrop    `json:"rows_dropped_by_cap,omitempty"`
	Draws    []LookDraw       `json:"draws"`
	Releases []LookRelease    `json:"releases"`
	Failures []LookedFailure  `json:"a_run_would_fail"`
	Tables   []LookTable      `json:"tables,omitempty"` // one by one, where the data set has several
}

// LookColumn is a declared column and what the table holds in it.
type LookColumn struct {
	Name     string           `json:"name"`
	Declared string           `json:"declared"`
	Stored   string           `json:"stored"`
	Missing  int64            `json:"missing"`
	Unread   int64            `json:"missing_not_of_its_type"` // texts of a CSV file; Missing counts them, too
	Commas   int64            `json:"missing_decimal_commas"`  // of these, numbers with a decimal comma
	Fields   int64            `json:"missing_delimiters"`      // of these, texts with the delimiter of another file
	Below    int64            `json:"below"`
	Above    int64            `json:"above"`
	Outside  int64            `json:"outside"`
	Foreign  map[string]int64 `json:"foreign,omitempty"` // the first of the values outside the domain

	Holds job.ColumnType `json:"-"` // as the job says
}

// LookDraw is a draw that has a public frame or strata.
type LookDraw struct {
	Name    string   `json:"name"`
	Outside int64    `json:"rows_in_no_unit"`
	Units   int      `json:"units"`
	Differ  []string `json:"units_that_differ,omitempty"`
	Strata  []string `json:"strata,omitempty"`
}

// LookRelease counts the rows of the table that a release reads, or its units where units are folded.
type LookRelease struct {
	Release  string      `json:"release"`
	Units    bool        `json:"units,omitempty"`
	Rows     int64       `json:"rows"`
	Filtered int64       `json:"left_out_by_a_condition"`
	Left     int64       `json:"left_out_by_a_value_that_is_missing_or_not_listed"`
	Clipped  int64       `json:"with_a_value_beyond_its_bounds"`
	Groups   *LookGroups `json:"groups,omitempty"`
}

// LookGroups counts the groups of a release that the table holds.
type LookGroups struct {
	By       []string `json:"by"`
	Possible int64    `json:"possible"`
	Held     int64    `json:"held"`
	Smallest int64    `json:"smallest"`
}

// LookedFailure is a code with which a run of the job would end.
type LookedFailure struct {
	Code string `json:"code"`
	Why  string `json:"why"`
}

// maxForeign is the most values outside a domain that a look names, and the most units.
const maxForeign = 20

// Take looks at the tables of a job before anything is spent. The ledger has its record before the first row is read. The
// error says that nothing could be looked at; what would make a run fail is in the answer.
func Take(ctx context.Context, p *planned.Plan, record func() (string, error)) (*Look, error) {
	var viewers []*viewer
	for _, name := range p.Tables() {
		seen := p.Seen(name)
		t, err := run.Open(ctx, seen.Job, p.ColumnsOf(name), 0)
		if err != nil {
			return nil, run.SourceFailure(ctx, seen.Job, err)
		}
		defer t.Close()
		viewers = append(viewers, &viewer{plan: seen, table: t, reads: p.ColumnsOf(name)})
	}
	l := newLook(p)
	var err error
	if l.Record, err = record(); err != nil {
		return nil, err
	}
	broken := false
	if len(p.Job.Dataset.Tables) > 0 {
		l.Tables = make([]LookTable, len(viewers))
	}
	for i, v := range viewers {
		if v.look = l; len(l.Tables) > 0 {
			l.Tables[i] = LookTable{Name: p.Tables()[i], Look: *newLook(p)}
			v.look = &l.Tables[i].Look
		}
		v.look.Rows, v.look.Record = v.table.Rows(), l.Record
		v.look.size(v.plan.Job)
		if err := v.view(ctx); err != nil {
			return nil, run.SourceFailure(ctx, v.plan.Job, err)
		}
		broken = broken || v.broken
	}
	if !broken {
		if err := l.shapes(ctx, viewers, p); err != nil {
			return nil, run.SourceFailure(ctx, p.Job, err)
		}
	}
	for _, t := range l.Tables {
		l.Rows += t.Rows
		l.Declared = t.Declared
		for _, f := range t.Failures {
			l.Failures = append(l.Failures, LookedFailure{f.Code, "table " + t.Name + ": " + f.Why})
		}
	}
	return l, nil
}

func newLook(p *planned.Plan) *Look {
	l := &Look{Warning: "private facts, no differential privacy: never publish this", Version: 1,
		Columns: []LookColumn{}, Others: []string{}, Draws: []LookDraw{}, Releases: []LookRelease{}, Failures: []LookedFailure{}}
	l.Job.Name, l.Job.Digest = p.Job.Name, p.Job.Digest()
	return l
}

// LookTable is one of several tables, and how its units meet the other tables.
type LookTable struct {
	Name string `json:"name"`
	Look
	Without map[string]int64 `json:"units_without_a_row_in"`
}

func (l *Look) fails(code, format string, args ...any) {
	l.Failures = append(l.Failures, LookedFailure{code, fmt.Sprintf(format, args...)})
}

func (l *Look) size(j *job.Job) {
	d := &j.Dataset
	switch {
	case d.Relation == privacy.ReplaceOne:
		l.Declared = fmt.Sprintf("dataset.size: %d", d.Size)
		if l.Rows != d.Size && !d.Folds() && d.Cap == nil && d.Slice == nil {
			l.fails("INVALID_JOB", "dataset.size is %d, and the table has %d rows", d.Size, l.Rows)
		}
	case d.AtLeast > 0:
		l.Declared = fmt.Sprintf("dataset.at_least: %d", d.AtLeast)
		if l.Rows < d.AtLeast && !d.Folds() && d.Cap == nil && d.Slice == nil {
			l.fails("SAMPLE_TOO_FEW_ROWS", "dataset.at_least is %d, and the table has %d rows", d.AtLeast, l.Rows)
		}
	default:
		l.Declared = "secret"
	}
}

// declaredText describes a column as the job declares it.
func declaredText(c job.Column) string {
	if c.Plain() {
		return string(c.Type) + ", for expressions"
	}
	if c.Type == job.Number {
		return fmt.Sprintf("number from %s to %s", rational.Format(c.Lower), rational.Format(c.Upper))
	}
	text := strings.Join(c.Domain, ", ")
	if len(c.Domain) > 12 {
		text = strings.Join(c.Domain[:12], ", ") + ", …"
	}
	return fmt.Sprintf("category of %d values: %s", len(c.Domain), text)
}

// unreadText explains missing values that are not missing in the file.
func (c *LookColumn) unreadText() string {
	if c.Unread == 0 {
		return ""
	}
	text := fmt.Sprintf(", %d of them texts that are no %s", c.Unread, c.Holds)
	if c.Holds == job.Number {
		text += " (a number has a decimal point and no thousands separator, unless the job says decimal or thousands)"
	}
	return text
}

// unusable explains why most of a column of numbers is no number, "" where most of it is. It
// quotes nothing of the table. // P33
func (c *LookColumn) unusable(rows int64) string {
	if c.Holds != job.Number || 2*c.Unread <= rows {
		return ""
	}
	reason := "a text that stands for a missing value, such as n/a, has to be named in dataset.source.missing; or the column is another one"
	switch {
	case 2*c.Commas > c.Unread:
		reason = "they have commas: say dataset.source.decimal: \",\", or thousands: \",\""
	case 2*c.Fields > c.Unread:
		reason = "they hold several fields: dataset.source.delimiter names another character than the one between the fields"
	}
	return fmt.Sprintf("column %s: %d of %d values are texts that are no number, so what is released of it would be about the others; %s",
		c.Name, c.Unread, rows, reason)
}

// MarshalJSON is the look for programs.
func (l *Look) MarshalJSON() ([]byte, error) {
	type plain Look
	return json.Marshal((*plain)(l))
}
