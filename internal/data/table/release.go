package table

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/dprelease/dprelease/plugins/columns"
)

// Release is the output of one release of a job: a small table of columns, each with exactly one kind of values. The writers below
// produce the same bytes for the same release every time, so that a release can be named by the digest of its file.
type Release struct {
	Columns []columns.Column
}

// rows checks a release and returns the number of its rows. A value that is not finite is refused: no noise makes a
// release infinite, so it stands for a mistake, and JSON could not hold it.
func (r *Release) rows() (int, error) {
	bad := func(name, what string) (int, error) {
		return 0, fail(CodeUsage, "", "release column "+name+" "+what)
	}
	if len(r.Columns) == 0 {
		return 0, fail(CodeUsage, "", "a release needs a column")
	}
	seen := make(map[string]bool)
	n := r.Columns[0].Len()
	for i := range r.Columns {
		c := &r.Columns[i]
		set := 0
		for _, have := range []bool{c.Float64 != nil, c.Int64 != nil, c.Texts != nil} {
			if have {
				set++
			}
		}
		switch {
		case c.Name == "" || !utf8.ValidString(c.Name) || strings.ContainsRune(c.Name, 0):
			return bad(c.Name, "has no valid name")
		case seen[c.Name]:
			return bad(c.Name, "occurs twice")
		case set != 1:
			return bad(c.Name, "must have exactly one kind of values")
		case c.Len() != n || c.Blank != nil && len(c.Blank) != n:
			return bad(c.Name, "does not have as many values as the first")
		}
		seen[c.Name] = true
		for k, v := range c.Float64 {
			if !c.Hidden(k) && (math.IsNaN(v) || math.IsInf(v, 0)) {
				return bad(c.Name, "holds a value that is not finite")
			}
		}
		for k, v := range c.Texts {
			if !c.Hidden(k) && !utf8.ValidString(v) {
				return bad(c.Name, "holds text that is not UTF-8")
			}
		}
	}
	return n, nil
}
