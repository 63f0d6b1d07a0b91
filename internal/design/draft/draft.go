package draft

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/run"
	"github.com/dprelease/dprelease/internal/say/failure"
)

// Source is the table of a first job.
type Source struct {
	Path      string
	Delimiter rune   // of CSV files; 0 means the one in the heading
	Folder    string // of the job: its paths begin there
}

// Mark is in each line in which something is to be filled in, and in no other.
const Mark = "# FILL IN: "

// Write returns a first job for a table.
func Write(ctx context.Context, s Source) ([]byte, error) {
	found := table.Found{}
	csv := table.CSV{Delimiter: s.Delimiter, Found: &found}
	columns, err := table.Schema(ctx, table.Spec{Path: s.Path, Format: csv.Format(), CSV: csv})
	var known *table.Error
	switch {
	case errors.As(err, &known):
		return nil, failure.New(failure.ExitSource, run.SourceCode(known), "%s",
			strings.Replace(known.Error(), table.SayDelimiter, "say it with --delimiter", 1))
	case err != nil:
		return nil, failure.As(err, failure.ExitSource, "SOURCE_UNREADABLE", "the table cannot be read")
	}
	if s.Delimiter == 0 {
		s.Delimiter = found.Delimiter
	}
	var b strings.Builder
	name := Named(s.Path, s.Folder)
	fmt.Fprintf(&b, head, name, s.text(name, found.Encoding))
	if !slices.ContainsFunc(columns, func(c table.Column) bool { return c.Usable && sayable(c.Name) }) {
		b.WriteString(" " + Mark + "the table has no column that can be used")
	}
	b.WriteByte('\n')
	if slices.ContainsFunc(columns, func(c table.Column) bool { return c.Text }) {
		b.WriteString(texts)
	}
	for _, c := range columns {
		column(&b, c)
	}
	b.WriteString(tail)
	return []byte(b.String()), nil
}

// Named returns how a job in a folder names its table.
func Named(path, folder string) string {
	from, err := filepath.Abs(folder)
	to, err2 := filepath.Abs(path)
	if strings.Contains(path, "://") || filepath.IsAbs(path) || err != nil || err2 != nil {
		return path
	}
	if rel, err := filepath.Rel(from, to); err == nil {
		return filepath.ToSlash(rel)
	}
	return to
}

// text returns the value of dataset.source.
func (s *Source) text(name, encoding string) string {
	text := "path: " + Quoted(name)
	if s.Delimiter != 0 {
		text += ", delimiter: " + Delimiter(s.Delimiter)
	}
	if encoding != "" {
		return "{" + text + ", encoding: " + encoding + "} # the names are not UTF-8: this encoding is a guess"
	}
	return "{" + text + "}"
}

// Delimiter writes what stands between two fields as a job does.
func Delimiter(d rune) string {
	if d == '\t' {
		return "tab"
	}
	return fmt.Sprintf("%q", d)
}

// Quoted writes a text as YAML on one line, for a place inside brackets.
func Quoted(text string) string {
	b, err := yaml.Marshal([]string{text})
	if err != nil {
		return strconv.Quote(text)
	}
	out := strings.TrimSuffix(strings.TrimPrefix(string(b), "- "), "\n")
	if out == "<<" || strings.ContainsAny(out, "\n") || out == text && strings.ContainsAny(out, ",[]{}#:") {
		return strconv.Quote(text)
	}
	return out
}

// sayable reports whether a job can hold a name.
func sayable(name string) bool {
	return utf8.RuneCountInString(name) <= 4096 && !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// column writes one column.
func column(b *strings.Builder, c table.Column) {
	name := Quoted(c.Name)
	switch {
	case !sayable(c.Name):
		fmt.Fprintf(b, "    # A column whose name no job can hold: rename it to use it.\n")
		return
	case !c.Usable:
		fmt.Fprintf(b, "    # %s cannot be used: %s\n", strconv.Quote(c.Name), c.Reason)
		return
	case c.Text:
		fmt.Fprintf(b, "    %s: %sa number, a category or another type\n", name, Mark)
		return
	}
	fmt.Fprintf(b, "    %s: # %s\n", name, what(c))
	switch c.Kind {
	case table.String:
		fmt.Fprintf(b, "      domain: %sthe values that count, such as [a, b]; or say type: text in its place, where only expressions "+
			"read the column\n", Mark)
	case table.Bool:
		b.WriteString("      domain: [\"false\", \"true\"]\n")
	case table.Date:
		b.WriteString("      type: date\n")
		return
	case table.Timestamp:
		b.WriteString("      type: timestamp\n")
		return
	default:
		fmt.Fprintf(b, "      lower: %sthe smallest value that counts; smaller ones are raised to it\n", Mark)
		fmt.Fprintf(b, "      upper: %sthe largest value that counts; larger ones are lowered to it\n", Mark)
	}
	if c.Nullable {
		b.WriteString("      missing: drop\n")
	}
	if c.Kind == table.String {
		b.WriteString("      outside: drop\n")
	}
}

// what describes the values that a column holds.
func what(c table.Column) string {
	text := map[table.Kind]string{table.Int: "whole numbers; codes are better a category: say domain in place of the bounds",
		table.Float: "numbers", table.Bool: "true or false",
		table.String: "texts", table.Decimal: "decimal numbers", table.Date: "days, which expressions read",
		table.Time: "times of day, in seconds", table.Timestamp: "points in time, which expressions read"}[c.Kind]
	if c.Nullable {
		text += "; some may be missing"
	}
	return text
}

const head = `# A first job for %s, made from the names and types of its columns. No value was read.
# The lines with FILL IN wait for you, and dprelease check lists what is left. Take nothing from the data: bounds, domains
# and sizes are public, and no noise covers them. docs/job.md explains every key.
version: 1
job: first
dataset:
  id: # FILL IN: a name for the data. It names the budget account, so the same data must always have the same id
  source: %s
  relation: # FILL IN: replace-one where everybody may know the number of rows, add-remove where that is secret
  # size: 6194 # the number of rows, under replace-one

  # Whose privacy is it? Without a unit, that of a single row. Where one person, household or firm has several rows, say
  # which column names it, and what becomes of its rows: fold makes one row of them, cap limits how many count. Nobody has to
  # know a good cap: the run chooses it in private, and groups says in how many groups of a release a person counts.
  # unit: {column: person, name: person}
  # fold: {fare: sum, borough: mode}
  # cap: {groups: 3, rows: {private: {epsilon: "0.05"}, at_most: 50}}

  # Delete the columns that you do not need. missing: drop leaves missing values out; {impute: VALUE} replaces them; refuse,
  # the default, promises that there are none, and a run that meets one has spent its budget. outside says the same of
  # values that are not in the domain.
  columns:`

const texts = `
    # Every column of a CSV file is text, unless the job says what it holds:
    #   {lower: 0, upper: 120, missing: drop}             a number
    #   {domain: [a, b], missing: drop, outside: drop}    a category
    # Where numbers or days are written otherwise, source says so: decimal: ",", thousands: ".", dates: "02.01.2006".
    #   {type: date}                                      a day that only expressions read; timestamp, bool and text likewise
`

const tail = `
budget:
  limit:
    epsilon: # FILL IN: the most that all releases from these data may ever spend together, such as 1
    # delta: 1e-6 # for noise of the Gaussian kind

# A job may draw a secret sample. For totals and means the whole table is nearly always more accurate: dprelease plan compares the two.
# samples:
#   some: {method: poisson, rate: 0.1}

releases:
  - name: rows
    mechanism: count
    guarantee:
      epsilon: # FILL IN: what this release may spend, such as 0.1
  # - {name: mean_age, from: some, mechanism: mean, params: {column: age}, where: "age >= 18", by: [region], guarantee: {epsilon: "0.1"}}

output: {dir: out}
`
