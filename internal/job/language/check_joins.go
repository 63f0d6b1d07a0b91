package language

import (
	"regexp"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/rows/formula"
	"github.com/dprelease/dprelease/internal/say/problem"
)

// foreign are the names of the columns that need other tables, and those that are computed from them.
func (k *checker) foreign() map[string]bool {
	d, is := &k.j.Dataset, map[string]bool{}
	t, _ := d.TableOf(d.Table)
	for _, j := range t.Join {
		for _, name := range j.Value {
			is[name] = true
		}
	}
	for again := true; again; {
		again = false
		for _, c := range d.Derive {
			needs := foldsTable(c.Derived.As.Text)
			for _, from := range readsOf(c.Derived) {
				needs = needs || is[from]
			}
			if needs && !is[c.Name] {
				is[c.Name], again = true, true
			}
		}
	}
	return is
}

// readsOf are the columns that a derived column names.
func readsOf(d *job.Derived) []string {
	switch {
	case foldsTable(d.As.Text):
		return nil
	case d.As.Said():
		return formula.Reads(d.As.Text)
	}
	return []string{d.Bins.Column}
}

// ownDerived computes the columns that need no other table, and restDerived the others. Both keep what is left to do.
func (k *checker) ownDerived() {
	d, foreign := &k.j.Dataset, k.foreign()
	all := d.Derive
	d.Derive = slices.DeleteFunc(slices.Clone(all), func(c job.Column) bool { return foreign[c.Name] })
	k.derived()
	d.Derive = slices.DeleteFunc(slices.Clone(all), func(c job.Column) bool { return !foreign[c.Name] })
}

func (k *checker) restDerived() {
	d := &k.j.Dataset
	d.Derive = slices.DeleteFunc(d.Derive, func(c job.Column) bool { return foldsTable(c.Derived.As.Text) })
	k.derived()
}

// joins adds the columns that a table takes from others.
func (k *checker) joins(t *job.DataTable, own []job.DataTable) {
	for _, j := range t.Join {
		path := job.Key("dataset.join", j.Name)
		from, ok := k.partner(path, j.Name, own)
		if !ok {
			continue
		}
		for i, name := range j.Value {
			at := job.Item(path, i)
			c, ok := k.takes(at, from, name)
			if !ok {
				continue
			}
			by := from.FoldOf(name)
			switch {
			case by != "":
			case from.Key.Rows == 0:
				k.wrong(at, "fold it: derive: {"+name+": {as: \"max("+from.Name+"."+name+")\"}}; or say unit: {rows: 1} in "+from.Name+
					" if a unit has one row there; or name "+from.Name+" as the table of the release, and join this one to it",
					"%s may have several rows of a unit, and this row takes one value", from.Name)
				continue
			case c.Type == job.Category:
				by = job.FoldMode
			default:
				by = job.FoldMax
			}
			if by == job.FoldCount {
				k.wrong(at, "write it under derive", "%s is folded by count there", problem.Shown(name))
				continue
			}
			if c.Bounds != nil {
				k.wrong(at, "fold it: derive: {"+name+"_there: {as: \"max("+from.Name+"."+name+")\", bounds: …}}, or say lower and upper there",
					"the bounds of %s are found in private there, for the rows of %s alone", problem.Shown(name), from.Name)
				continue
			}
			c.Joined, c.Missing = &job.Joined{Table: from.Name, Of: name, By: by}, job.Handling{Rule: job.Drop}
			k.put(at, c)
		}
	}
}

// put adds a column of another table.
func (k *checker) put(at string, c job.Column) {
	c.Derived, c.Lookup, c.Heading, c.Assume, c.Immutable, c.Measure = nil, nil, "", nil, false, nil
	c.Outside = job.Handling{Rule: job.Drop}
	if other, twice := k.j.Dataset.Column(c.Name); twice {
		k.wrong(at, "give it another name: derive: {NAME: {as: \"max("+c.Joined.Table+"."+c.Joined.Of+")\"}}",
			"%s has the name of another column (line %d)", problem.Shown(c.Name), k.j.Pos(other.Path()).Line)
		return
	}
	k.j.Dataset.Columns = append(k.j.Dataset.Columns, c)
}

// partner finds the other table of a join.
func (k *checker) partner(path, name string, own []job.DataTable) (*job.DataTable, bool) {
	var names []string
	for i := range own {
		if own[i].Name == name && name != k.j.Dataset.Table {
			return &own[i], true
		}
		names = append(names, own[i].Name)
	}
	if name == k.j.Dataset.Table {
		k.wrong(path, "fold the rows of a unit with fold, or limit them with cap", "is the table itself")
		return nil, false
	}
	k.wrong(path, hintOr(problem.DidYouMean(name, names), "tables of the job", names), "%s is not a table of the job", problem.Shown(name))
	return nil, false
}

// takes finds the column that a table has of its own.
func (k *checker) takes(at string, from *job.DataTable, name string) (job.Column, bool) {
	c, ok := from.Column(name)
	switch {
	case !ok && k.said(from, name):
		k.wrong(at, "take it from the table where it comes from",
			"%s is no column of the rows of %s: it comes from another table, or needs one", problem.Shown(name), from.Name)
	case !ok:
		k.wrong(at, problem.DidYouMean(name, columnNames(&from.Dataset, anyColumn)), "%s is not a column of %s", problem.Shown(name), from.Name)
	case c.Derived != nil && c.Derived.AfterFold:
		k.wrong(at, "", "%s is computed after the fold", problem.Shown(name))
		return c, false
	case c.Type != job.Number && c.Type != job.Category:
		k.wrong(at, "derive a number or a category from it in "+from.Name+", and take that",
			"%s is a %s: only numbers and categories go from one table to another", problem.Shown(name), c.Type)
		return c, false
	}
	return c, ok
}

// said reports whether a table has a column that comes from another table, or needs one.
func (k *checker) said(from *job.DataTable, name string) bool {
	whole, _ := k.j.Dataset.TableOf(from.Name)
	_, own := from.Column(name)
	return !own && (slices.ContainsFunc(whole.Join, func(j job.Named[[]string]) bool { return slices.Contains(j.Value, name) }) ||
		slices.ContainsFunc(whole.Derive, func(c job.Column) bool { return c.Name == name }))
}

// readsTaken refuses a condition on the rows of a table that reads what they take from another one.
func (k *checker) readsTaken(at string, where *job.Expression, from *job.DataTable) bool {
	for _, name := range formula.Reads(where.Text) {
		if k.said(from, name) {
			k.wrong(at, "take it from the table where it comes from, and say the condition where this column is used",
				"%s is no column of the rows of %s: it comes from another table, or needs one", problem.Shown(name), from.Name)
			return true
		}
	}
	return false
}

// folding is the form of a fold of another table: count(visits), sum(visits.cost where year == 2025).
var folding = regexp.MustCompile(
	`(?s)^\s*(count|sum|mean|min|max|any|all|mode)\(\s*([A-Za-z0-9][A-Za-z0-9_-]*)\s*(?:\.\s*([^\s()]+)\s*)?(?:\swhere\s+(.+))?\)\s*$`)

// foldsTable reports whether the text of a derived column folds another table. No function of expressions takes a bare
// table, and their functions of these names take two arguments.
func foldsTable(text string) bool {
	m := folding.FindStringSubmatch(text)
	return m != nil && !strings.Contains(m[3], ",") && (m[1] == string(job.FoldCount) || m[3] != "")
}

// quotes are the texts of an expression.
var quotes = regexp.MustCompile(`'[^']*'|"[^"]*"`)

// misfolds refuses an expression that reads another table in a form that none is folded in, and says the form.
func (k *checker) misfolds(path string, e *job.Expression) bool {
	d := &k.j.Dataset
	text := quotes.ReplaceAllString(e.Text, "''")
	for _, t := range d.Tables {
		reads := regexp.MustCompile(`(^|[^\w.-])` + regexp.QuoteMeta(t.Name) + `(\s*\.\s*[\pL_]|\s*[,)]|\s+(where|if)\b)`)
		if _, own := d.Column(t.Name); own || t.Name == d.Table || !reads.MatchString(text) {
			continue
		}
		k.wrong(path, "derive a column with {as: \"count("+t.Name+" where CONDITION)\"}, or {as: \"sum("+t.Name+".COLUMN)\"}, mean, min, "+
			"max, mode, any or all; others compute with it",
			"%s is another table, which only a fold of its own reads", t.Name)
		return true
	}
	return false
}

// foldedTables adds the columns that fold the rows which the same unit has in another table.
func (k *checker) foldedTables(own []job.DataTable) {
	for _, c := range k.j.Dataset.Derive {
		if !foldsTable(c.Derived.As.Text) {
			continue
		}
		path := job.Key("dataset.derive", c.Name)
		at := job.Key(path, "as")
		m := folding.FindStringSubmatch(c.Derived.As.Text)
		by, column, where := job.FoldBy(m[1]), m[3], m[4]
		from, ok := k.partner(at, m[2], own)
		if !ok {
			continue
		}
		if c.Derived.After == "fold" || c.Derived.Bins.Column != "" {
			k.wrong(path, "say as alone", "folds another table, which needs nothing else")
			continue
		}
		j := &job.Joined{Table: from.Name, Of: column, By: by, Derived: true, Canon: string(by) + "(" + from.Name}
		of := job.Column{Type: job.Number}
		if column != "" {
			if of, ok = k.takes(at, from, column); !ok {
				continue
			}
			j.Canon += "." + column
		}
		if where != "" {
			j.Where = job.Expression{Text: where, At: c.Derived.As.At, Folded: c.Derived.As.Folded}
			j.Where.At.Column += strings.Index(c.Derived.As.Text, where)
			if k.readsTaken(at, &j.Where, from) {
				continue
			}
			k.expression(at, &j.Where, from.Readable(false))
			if j.Where.Formula != nil && j.Where.Formula.Type != formula.Bool {
				k.wrong(at, "compare it with something", "the condition must be true or false, and it is a %s", j.Where.Formula.Type)
			}
			if j.Where.Formula == nil || j.Where.Formula.Type != formula.Bool {
				continue
			}
			j.Canon += " where " + j.Where.Formula.Canonical()
		}
		j.Canon += ")"
		if c.Joined = j; k.foldedType(path, &c, &of) {
			k.put(at, c)
		}
	}
}

// foldedType settles what a column that folds another table holds.
func (k *checker) foldedType(path string, c, of *job.Column) bool {
	numbers := of.Type == job.Number
	at := job.Key(path, "as")
	switch by := c.Joined.By; {
	case by == job.FoldCount:
		c.Holds = job.Number
	case numbers && by != job.FoldMode && by != job.FoldAny && by != job.FoldAll:
		c.Holds = job.Number
	case !numbers && (by == job.FoldMode || by == job.FoldMin || by == job.FoldMax),
		!numbers && (by == job.FoldAny || by == job.FoldAll) && of.Flag():
		k.refuse(path, []string{"domain", "lower", "upper"}, "leave it out: it is that of "+of.Name, "is known")
		c.Holds, c.Domain, c.Lower, c.Upper = "", of.Domain, nil, nil
		return true
	default:
		k.wrong(at, "see dataset.fold for what goes with what", "%s cannot be folded by %s", problem.Shown(of.Name), by)
		return false
	}
	k.refuse(path, []string{"domain"}, "leave it out", "is for texts, and %s gives a number", c.Joined.By)
	if c.Lower == nil && c.Upper == nil && c.Bounds == nil && (c.Joined.By == job.FoldSum || c.Joined.By == job.FoldMean) {
		k.wrong(path, "say lower and upper of the folded value", "needs bounds: %s is added up exactly between them", c.Joined.By)
		return false
	}
	if c.Lower != nil && c.Upper != nil || c.Bounds != nil {
		c.Holds = ""
	}
	return true
}
