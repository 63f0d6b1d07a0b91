package table

import (
	"math"
	"strings"
	"unicode/utf8"
)

// Release is the output of one release of a job: a small table of plain columns. The writers below produce the same bytes for the
// same release every time, so that a release can be named by the digest of its file.
type Release struct {
	Columns []ReleaseColumn
}

// ReleaseColumn is one column of a release. Exactly one of Float64, Int64 and Text is set; Valid is nil when no value
// is missing, else as long as the values.
type ReleaseColumn struct {
	Name    string
	Float64 []float64
	Int64   []int64
	Text    []string
	Valid   []bool
}

func (c *ReleaseColumn) len() int { return max(len(c.Float64), len(c.Int64), len(c.Text)) }

func (c *ReleaseColumn) null(i int) bool { return c.Valid != nil && !c.Valid[i] }

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
	n := r.Columns[0].len()
	for i := range r.Columns {
		c := &r.Columns[i]
		set := 0
		for _, have := range []bool{c.Float64 != nil, c.Int64 != nil, c.Text != nil} {
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
		case c.len() != n || c.Valid != nil && len(c.Valid) != n:
			return bad(c.Name, "does not have as many values as the first")
		}
		seen[c.Name] = true
		for k, v := range c.Float64 {
			if !c.null(k) && (math.IsNaN(v) || math.IsInf(v, 0)) {
				return bad(c.Name, "holds a value that is not finite")
			}
		}
		for k, v := range c.Text {
			if !c.null(k) && !utf8.ValidString(v) {
				return bad(c.Name, "holds text that is not UTF-8")
			}
		}
	}
	return n, nil
}
