package marginals

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/plugins/marginals/residual"
	"github.com/dprelease/dprelease/plugins/sdk"
)

const schema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "columns": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 200,
                "uniqueItems": true}],
                "description": "category columns with public domains; all tables of up to ways of them are released, the total too"},
    "ways":    {"type": "integer", "minimum": 1, "maximum": 8, "default": 2, "description": "the most columns of one table"},
    "tables":  {"type": "array", "items": {"type": "array", "items": {"type": "string"}, "maxItems": 8, "uniqueItems": true},
                "maxItems": 10000,
                "description": "tables to release, each a list of columns or of levels of hierarchies; an empty list is the total. ` +
	`Beside columns, or instead of them"},
    "objective": {"enum": ["least-largest", "every-marginal", "every-cell"], "default": "least-largest",
                "description": "what is made small: the largest variance of all tables, the sum of the variances of the tables, ` +
	`or that of all cells"},
    "weights": {"type": "object", "additionalProperties": {"type": "number", "exclusiveMinimum": 0, "maximum": 1000000},
                "description": "how much the variance of a table counts in the objective, by its name: ` +
	`the columns with commas between, or total; 1 otherwise"},
    "hierarchies": {"type": "array", "maxItems": 20, "items": {"type": "object", "additionalProperties": false,
                    "required": ["column", "levels"], "properties": {
        "column": {"type": "string", "description": "the finest level: a category column"},
        "levels": {"type": "array", "minItems": 1, "maxItems": 8,
                   "description": "the levels above it, the coarsest first",
                   "items": {"type": "object", "additionalProperties": false, "required": ["name"],
          "properties": {
            "name":   {"type": "string", "minLength": 1, "maxLength": 100},
            "prefix": {"type": "integer", "minimum": 1, "maximum": 1000,
                       "description": "the value of this level is so many first characters of the finest one"},
            "map":    {"type": "object", "additionalProperties": {"type": "string"},
                       "description": "the value of this level for each value of the finest one"}}}}}},
                "description": "columns whose values are nested, such as counties in states; ` +
	`tables of every level are released and add up"},
    "finish":  {"enum": ["none", "whole"], "default": "none",
                "description": "whole also releases counts that are whole, not negative, and add up exactly in all tables"}
  }
}`

type params struct {
	Columns     sdk.Names          `json:"columns"`
	Ways        int                `json:"ways"`
	Tables      [][]string         `json:"tables"`
	Objective   string             `json:"objective"`
	Weights     map[string]float64 `json:"weights"`
	Hierarchies []hierarchy        `json:"hierarchies"`
	Finish      string             `json:"finish"`
}

const (
	// mostTables and mostNumbers bound a release.
	mostTables  = 1 << 18
	mostNumbers = 1 << 22
)

// family are the tables of a release in the words of the job.
type family struct {
	params
	dimensions []dimension
	tables     []residual.Table
	weights    []float64
	widest     int // columns of the widest table
}

func parse(raw json.RawMessage, public sdk.Public) (*family, error) {
	f := &family{}
	if err := sdk.DecodeParams(raw, &f.params); err != nil {
		return nil, err
	}
	if f.Ways == 0 {
		f.Ways = 2
	}
	if len(f.Columns) == 0 && len(f.Tables) == 0 {
		return nil, errors.New("columns: name the columns whose tables are released, or list the tables")
	}
	names := slices.Clone([]string(f.Columns))
	for _, t := range f.Tables {
		for _, name := range t {
			names = append(names, f.finest(name))
		}
	}
	for _, name := range names {
		if f.find(name) >= 0 {
			continue
		}
		d, err := f.dimension(public, name)
		if err != nil {
			return nil, err
		}
		f.dimensions = append(f.dimensions, d)
	}
	seen := map[string]bool{}
	for _, h := range f.Hierarchies {
		if f.find(h.Column) < 0 {
			return nil, fmt.Errorf("hierarchies: %q is a column of no table", h.Column)
		}
	}
	for _, d := range f.dimensions {
		for _, l := range d.levels {
			if seen[l.name] || l.name == totalName {
				return nil, fmt.Errorf("hierarchies: there are two columns or levels named %q", l.name)
			}
			seen[l.name] = true
		}
	}
	if err := f.list(); err != nil {
		return nil, err
	}
	return f, f.weigh()
}

// finest is the column of a level.
func (f *family) finest(name string) string {
	for _, h := range f.Hierarchies {
		for _, l := range h.Levels {
			if l.Name == name {
				return h.Column
			}
		}
	}
	return name
}

// find is the dimension of a column, or -1.
func (f *family) find(column string) int {
	return slices.IndexFunc(f.dimensions, func(d dimension) bool { return d.column.Name == column })
}

// list finds the tables: all of up to so many columns, at every level, and those that the
// job lists.
func (f *family) list() error {
	seen := map[string]bool{}
	add := func(t residual.Table) {
		if name := f.name(t); !seen[name] {
			seen[name] = true
			f.tables, f.widest = append(f.tables, slices.Clone(t)), max(f.widest, len(t))
		}
	}
	var t residual.Table
	var step func(from int)
	step = func(from int) {
		if add(t); len(t) == f.Ways {
			return
		}
		for d := from; d < len(f.Columns) && len(f.tables) <= mostTables; d++ { // the columns are the first dimensions
			for l := range f.dimensions[d].levels {
				t = append(t, residual.Part{Attribute: d, Level: l + 1})
				step(d + 1)
				t = t[:len(t)-1]
			}
		}
	}
	if len(f.Columns) > 0 {
		step(0)
	}
	for _, names := range f.Tables {
		t = t[:0]
		for _, name := range names {
			d := f.find(f.finest(name))
			level := slices.IndexFunc(f.dimensions[d].levels, func(l level) bool { return l.name == name })
			t = append(t, residual.Part{Attribute: d, Level: level + 1})
		}
		slices.SortFunc(t, func(a, b residual.Part) int { return a.Attribute - b.Attribute })
		for i := 1; i < len(t); i++ {
			if t[i].Attribute == t[i-1].Attribute {
				return fmt.Errorf("tables: %s names two levels of %s", strings.Join(names, ","), f.dimensions[t[i].Attribute].column.Name)
			}
		}
		add(t)
	}
	if len(f.tables) > mostTables {
		return fmt.Errorf("ways: there are more than %d tables", mostTables)
	}
	return nil
}

const totalName = "total"

// name is the name of a table in the release.
func (f *family) name(t residual.Table) string {
	if len(t) == 0 {
		return totalName
	}
	var names []string
	for _, p := range t {
		names = append(names, f.dimensions[p.Attribute].levels[p.Level-1].name)
	}
	return strings.Join(names, ",")
}

// weigh finds the weights of the tables by their names, in which columns may come in any
// order.
func (f *family) weigh() error {
	f.weights = make([]float64, len(f.tables))
	used := 0
	sorted := func(name string) string {
		parts := strings.Split(name, ",")
		slices.Sort(parts)
		return strings.Join(parts, ",")
	}
	given := map[string]float64{}
	for name, w := range f.Weights {
		if !(w > 0) || w > 1e6 {
			return fmt.Errorf("weights: that of %q must be above 0 and at most 1000000", name)
		}
		given[sorted(name)] = w
	}
	for i, t := range f.tables {
		f.weights[i] = 1
		if len(given) == 0 {
			continue
		}
		if w, ok := given[sorted(f.name(t))]; ok {
			f.weights[i] = w
			used++
		}
	}
	if used < len(f.Weights) {
		for name := range f.Weights {
			if !slices.ContainsFunc(f.tables, func(t residual.Table) bool { return sorted(f.name(t)) == sorted(name) }) {
				return fmt.Errorf("weights: no table is named %q; join its columns with commas", name)
			}
		}
		return errors.New("weights: a table is named twice")
	}
	return nil
}
