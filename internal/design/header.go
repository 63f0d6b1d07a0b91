package design

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/design/draft"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/job/language"
)

// header holds the names and types of a table's columns.
type header struct {
	Path    string // as the job names it
	Columns []table.Column
	Problem string
	Ask     bool // nobody has said yet that its first line is one
	changes []Change
}

// named reports whether a file keeps the names of its columns apart from its rows, as its name says.
func named(path string) bool {
	return slices.Contains([]string{".parquet", ".arrow", ".feather", ".ipc"}, strings.ToLower(filepath.Ext(path)))
}

// header reads the header of the table that a job names, and no value. Of a CSV file it reads the first line, if the
// person says that it is one.
func (s *Session) header(ctx context.Context, root *yaml.Node, said bool) header {
	source := func(key string) string { return text(root, "dataset", "source", key) }
	h := header{Path: source("path")}
	if h.Path == "" || strings.Contains(h.Path, "://") || strings.Contains(h.Path, "$") {
		return h
	}
	if h.Ask = !named(h.Path) && !said; h.Ask {
		return h
	}
	path, found := h.Path, table.Found{}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(s.Path), filepath.FromSlash(path))
	}
	csv := table.CSV{Found: &found, Encoding: source("encoding")}
	csv.Delimiter, _ = language.ParseDelimiter(source("delimiter")) // a check says what is wrong with it
	columns, err := table.Schema(ctx, table.Spec{Path: path, Format: csv.Format(), CSV: csv})
	var known *table.Error
	switch {
	case errors.As(err, &known):
		h.Problem = known.Error()
		return h
	case err != nil:
		h.Problem = "the table cannot be read"
		return h
	}
	h.Columns = columns
	add := func(key, value string) {
		if value != "" && source(key) == "" {
			h.changes = append(h.changes, Change{Path: []string{"dataset", "source", key}, Value: value})
		}
	}
	if d := found.Delimiter; d != 0 && d != ',' {
		add("delimiter", draft.Delimiter(d))
	}
	add("encoding", found.Encoding)
	return h
}

// contradicts returns what the names and types of the columns say against the job, which names columns by hand.
func (h header) contradicts(root *yaml.Node) (out job.Problems) {
	wrong := func(n *yaml.Node, message, hint string, path ...string) {
		out = append(out, job.Problem{Pos: job.Pos{Line: n.Line}, Path: at(path...), Message: message, Hint: hint})
	}
	for _, c := range h.changes {
		key := c.Path[len(c.Path)-1]
		wrong(find(root, "dataset", "source"), "the first line of the table says otherwise", "say "+key+": "+c.Value, "dataset", "source")
	}
	if len(h.Columns) == 0 {
		return out
	}
	check := func(n *yaml.Node, name string, number bool, path ...string) {
		i := slices.IndexFunc(h.Columns, func(c table.Column) bool { return c.Name == name })
		switch {
		case i < 0:
			wrong(n, "the table has no such column", "", path...)
		case !h.Columns[i].Usable:
			wrong(n, "cannot be used: "+h.Columns[i].Reason, "", path...)
		case number && h.Columns[i].Kind == table.String && !h.Columns[i].Text:
			wrong(n, "is text in the table, and not a number", "say a domain", path...)
		}
	}
	for _, name := range keys(find(root, "dataset", "columns")) {
		n := find(root, "dataset", "columns", name)
		check(n, name, find(n, "lower") != nil || find(n, "upper") != nil, "dataset", "columns", name)
	}
	if n := find(root, "dataset", "unit", "column"); n != nil {
		check(n, n.Value, false, "dataset", "unit", "column")
	}
	return out
}
