package language

import (
	"errors"
	"math/big"
	"os"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/rows/formula"
	"github.com/dprelease/dprelease/internal/say/problem"
)

// lookups puts the columns of public tables among the others.
func (k *checker) lookups() {
	d := &k.j.Dataset
	for i := range d.Lookups {
		l := &d.Lookups[i]
		path := job.Key("dataset.lookups", l.Name)
		if _, ok := d.Column(l.On()); !ok && l.On() != "" && l.Path != "" {
			k.wrong(path, "declare it under dataset.columns, with a domain or a type", "%s is not a declared column", problem.Shown(l.On()))
		}
		k.publicUnits(path, l, d.Key.Column)
		l.SHA256 = k.digestOfFile(job.Key(path, "path"), l.Path)
		for _, c := range l.Columns {
			c.Lookup, c.Outside = l, job.Handling{Rule: job.Drop}
			if !k.taken(c) {
				d.Columns = append(d.Columns, c)
			}
		}
	}
}

// publicUnits finds a lookup by a column that names units, or their members, whose job does not say that
// everybody may know who is in it: a copy of a private table with one row more is not known again.
func (k *checker) publicUnits(path string, l *job.Lookup, of string) { // P32
	if of != "" && l.On() == of && !l.Public {
		k.wrong(path, "say public: true if everybody may know who is in it, and all that it says of them; else make it a table of the data "+
			"set (dataset.tables), and take its columns with join",
			"is looked up by %s, the column of the unit, and whoever is in a lookup is not protected", problem.Shown(of))
	}
}

// taken reports, and tells, that a column has the name of another.
func (k *checker) taken(c job.Column) bool {
	other, twice := k.j.Dataset.Column(c.Name)
	if twice {
		k.wrong(c.Path(), "give it another name", "has the name of another column (line %d)", k.j.Pos(other.Path()).Line)
	}
	return twice
}

// maxPublic bounds a public file of a job, in bytes.
const maxPublic = 256 << 20

// digestOfFile is the SHA-256, in hex, of the public file that a key names, "" where it cannot be read.
func (k *checker) digestOfFile(key, path string) string {
	if path == "" {
		return "" // told already
	}
	digest, err := file.Digest(path, maxPublic)
	if err != nil {
		var at *os.PathError
		if errors.As(err, &at) {
			err = at.Err // without the name of the file
		}
		k.wrong(key, "", "cannot be read: %s", err)
		return ""
	}
	return digest
}

// derived puts the computed columns among the others, each after those that it reads.
func (k *checker) derived() {
	d := &k.j.Dataset
	byName := make(map[string]job.Column, len(d.Derive))
	var names []string
	for _, c := range d.Derive {
		byName[c.Name] = c
		names = append(names, c.Name)
	}
	order, circle := formula.Order(names, func(name string) []string { return readsOf(byName[name].Derived) })
	if circle != nil {
		k.wrong(job.Key("dataset.derive", circle[0]), "", "is computed from itself: %s", strings.Join(circle, " reads "))
		return
	}
	for _, name := range order {
		k.derive(byName[name])
	}
}

// derive adds one computed column.
func (k *checker) derive(c job.Column) {
	d, from := &k.j.Dataset, c.Derived
	from.AfterFold = from.After == "fold"
	c.Outside = job.Handling{Rule: job.Drop}
	path := c.Path()
	if k.taken(c) {
		return
	}
	if from.AfterFold && !d.Folds() {
		k.wrong(job.Key(path, "after"), "say dataset.fold, or leave it out", "needs dataset.fold")
		return
	}
	const how = "say as: EXPRESSION, or bins: COLUMN with edges"
	switch {
	case from.As.Said() && from.Bins.Column != "":
		k.wrong(path, how, "says in two ways how it is computed")
		return
	case from.As.Said() && len(from.Edges) > 0:
		k.wrong(job.Key(path, "edges"), "add bins", "belongs to bins")
		return
	case from.As.Said() && k.misfolds(job.Key(path, "as"), &from.As):
		return
	case from.As.Said():
		k.expression(job.Key(path, "as"), &from.As, d.Readable(from.AfterFold))
		if from.As.Formula == nil {
			return
		}
		k.computed(path, &c)
	case from.Bins.Column != "":
		k.bins(path, &c)
	default:
		k.wrong(path, how, "does not say how it is computed")
		return
	}
	d.Columns = append(d.Columns, c)
}

// computed settles the type of a column from that of its expression.
func (k *checker) computed(path string, c *job.Column) {
	switch c.Derived.As.Formula.Type {
	case formula.Number:
		c.Holds = job.Number
	case formula.Bool:
		c.Domain = []string{"false", "true"}
	case formula.Text:
		if c.Holds = job.Text; c.Domain == nil {
			c.Domain = c.Derived.As.Formula.Domain
		}
	case formula.Date:
		c.Holds = job.Date
	default:
		c.Holds = job.Timestamp
	}
	switch {
	case (c.Holds == job.Text || c.Holds == job.Number) && c.Domain != nil || c.Holds == job.Number && (c.Lower != nil || c.Bounds != nil):
		c.Holds = "" // bounds and domains say it
	case c.Holds != job.Number && k.j.Has(job.Key(path, "lower")):
		k.wrong(job.Key(path, "lower"), "leave it out", "is for numbers, and the expression is not a number")
		c.Lower, c.Upper = nil, nil
	case c.Holds != job.Number && c.Bounds != nil:
		k.wrong(job.Key(path, "bounds"), "leave it out", "is for numbers, and the expression is not a number")
		c.Bounds = nil
	case c.Holds != job.Text && k.j.Has(job.Key(path, "domain")):
		k.wrong(job.Key(path, "domain"), "leave it out", "is for texts and whole numbers, and the expression is neither")
	}
}

// bins makes the domain of a column of bins.
func (k *checker) bins(path string, c *job.Column) {
	from := c.Derived
	k.refuse(path, []string{"lower", "upper", "bounds", "domain"}, "leave it out", "follows from the edges")
	c.Lower, c.Upper, c.Bounds, c.Domain = nil, nil, nil, nil
	known := k.j.Dataset.Readable(from.AfterFold)
	at := slices.IndexFunc(known, func(o formula.Column) bool { return o.Name == from.Bins.Column })
	if at < 0 {
		k.wrong(job.Key(path, "bins"), problem.DidYouMean(from.Bins.Column, namesOf(known)), "%s is not a column that can be read here",
			problem.Shown(from.Bins.Column))
	}
	from.Bins = formula.Bins{Column: from.Bins.Column}
	for i, e := range from.Edges {
		switch {
		case e.Open == "-inf" && i == 0:
			from.Bins.Below = true
			continue
		case e.Open == "inf" && i == len(from.Edges)-1:
			from.Bins.Above = true
			continue
		case e.Open != "":
			k.wrong(job.Item(job.Key(path, "edges"), i), "", "only the first edge may be -inf, and only the last one inf")
			return
		}
		if len(from.Bins.Edges) == 0 {
			from.Bins.Dates = e.Day
		}
		from.Bins.Edges = append(from.Bins.Edges, e.At)
		if e.Day != from.Bins.Dates {
			k.wrong(job.Item(job.Key(path, "edges"), i), "write all edges as numbers, or all as dates", "is of another type than the first edge")
			return
		}
	}
	if at >= 0 && len(from.Bins.Edges) > 0 && !from.Bins.Fit(known[at].Type) {
		hint := ""
		if known[at].Type == formula.Date || known[at].Type == formula.Timestamp {
			hint = "write the edges as dates: [2026-01-01, 2026-04-01]"
		}
		k.wrong(job.Key(path, "bins"), hint, "%s is a %s, which cannot be cut at these edges", problem.Shown(from.Bins.Column), known[at].Type)
	}
	if what, hint := from.Bins.Check(); what != "" {
		k.wrong(job.Key(path, "edges"), hint, "%s", what)
		return
	}
	c.Domain = from.Bins.Labels()
}

func namesOf(columns []formula.Column) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names
}

// levels checks what the job says of members of a unit and of groups of units.
func (k *checker) levels() {
	d := &k.j.Dataset
	for _, g := range d.Key.Groups {
		if g.Value == 1 {
			k.wrong(job.Key("dataset.unit.groups", g.Name), "leave it out", "must be at least 2: one unit is no group")
		}
	}
	m := d.Key.Members
	if m == nil {
		return
	}
	t, known := d.TableOf(m.Table)
	switch {
	case len(d.Tables) == 0 && d.Key.Rows > 0:
		k.wrong("dataset.unit.members", "leave it out", "is for units with several rows")
	case len(d.Tables) > 0 && !k.toldOf("dataset.unit.members.table") && !known:
		k.wrong("dataset.unit.members.table", hintOr(problem.DidYouMean(m.Table, k.j.TableNames()), "tables of the job", k.j.TableNames()),
			"%s is not a table of the job", problem.Shown(m.Table))
	case known && t.OneRow:
		k.wrong("dataset.unit.members.table", "name the table of the members", "is a table in which a unit has one row")
	}
}

// units checks what the job says of units with several rows.
func (k *checker) units() {
	d := &k.j.Dataset
	switch {
	case d.Key.Column != "" && d.Key.Rows == 0 && !d.Folds() && d.Cap == nil:
		k.wrong("dataset.unit", "say rows: 1 in it, or dataset.fold, or dataset.cap", "does not say what becomes of several rows of a unit")
	case d.Key.Column != "" && d.Key.Rows == 0:
		d.Unit = d.Key.Column // an account of its own: it protects more than a row
	}
	if d.Key.Rows > 0 && d.Key.Missing != job.NoUnitRefuse && d.Key.Missing != "" {
		k.wrong("dataset.unit.missing", "leave it out", "is for units with several rows: with rows: 1 every row names its unit")
	}
	for _, f := range d.Fold {
		k.fold(f)
	}
}

// severalValues refuses a column that says something of a unit, and is not folded.
const severalValues = "%s has no fold: a unit may have several values"

func (k *checker) fold(f job.Named[job.FoldBy]) {
	path := job.Key("dataset.fold", f.Name)
	c, ok := k.j.Dataset.Column(f.Name)
	if !ok {
		k.wrong(path, problem.DidYouMean(f.Name, columnNames(&k.j.Dataset, anyColumn)), "is not a declared column")
		return
	}
	number := c.Numeric()
	switch {
	case f.Value == "":
	case c.Derived != nil && c.Derived.AfterFold:
		k.wrong(path, "", "is computed after the fold")
	case !number && c.Domain == nil:
		k.wrong(path, "say its domain", "cannot be folded: it is neither a number nor a category")
	case f.Value == job.FoldSum || f.Value == job.FoldMean || f.Value == job.FoldCount:
		if !number {
			k.wrong(path, "derive a number from it, such as {as: \"1\", lower: 0, upper: 50}, and fold that", "is a category: %s is for numbers",
				f.Value)
		}
	case number && c.Lower == nil && f.Value != job.FoldMin && f.Value != job.FoldMax && f.Value != job.FoldCount:
		k.wrong(path, "say lower and upper of the folded value", "cannot be folded by %s: it has no bounds", f.Value)
	case f.Value == job.FoldMode && number:
		k.wrong(path, "cut it into bins, and fold those", "is a number: mode is for categories")
	case (f.Value == job.FoldAny || f.Value == job.FoldAll) && !c.Flag():
		k.wrong(path, "derive a condition, and fold that", "is not true or false: %s is for columns with the domain [false, true]", f.Value)
	}
}

// selectable reports whether the values of a column may be selected, and remembers it: one
// column of a release may.
func (k *checker) selectable(at string, c *job.Column, unlisted *string) bool {
	switch {
	case *unlisted != "":
		k.wrong(at, "say the domain of one of them, or derive one column from both",
			"%s and %s have no public list of values, and the values of one column can be selected", problem.Shown(*unlisted), problem.Shown(c.Name))
		return false
	case c.Holds == job.Bool:
		k.wrong(at, `say domain: ["false", "true"] instead of its type`, "%s is true or false: its values are known", problem.Shown(c.Name))
		return false
	case c.Lower != nil:
		k.wrong(at, "cut it into bins", "%s is a number with bounds: no value of it is a group", problem.Shown(c.Name))
		return false
	}
	*unlisted = c.Name
	return true
}

// atMost is the largest number of values in the column without a list.
func (k *checker) atMost(r *job.Release) int64 {
	if o := k.j.Keyed(r); o != nil {
		return o.Keys.Most()
	}
	return 1
}

// rowsOf checks which rows a release counts, and its groups.
func (k *checker) rowsOf(i int, r *job.Release) {
	path := job.Item("releases", i)
	d := &k.j.Dataset
	k.condition(job.Key(path, "where"), &r.Where, false)
	if d.Folds() {
		k.condition(job.Key(path, "having"), &r.Having, true)
	}
	if r.Other != "" && len(r.By) == 0 {
		k.wrong(job.Key(path, "other"), "add by", "is the name of a group, and there are no groups")
	}
	cells, unlisted := big.NewInt(1), ""
	for n, name := range r.By {
		at := job.Item(job.Key(path, "by"), n)
		c, ok := d.Column(name)
		switch {
		case name == "":
		case !ok:
			k.wrong(at, problem.DidYouMean(name, columnNames(d, func(c *job.Column) bool { return c.Domain != nil })), "%s is not a declared column",
				problem.Shown(name))
		case c.Domain == nil && !k.j.Has(job.Key(c.Path(), "domain")) && r.Keys != nil && k.selectable(at, &c, &unlisted):
			cells.Mul(cells, big.NewInt(max(1, k.atMost(r))))
		case c.Domain == nil && !k.j.Has(job.Key(c.Path(), "domain")) && r.Keys != nil:
		case c.Domain == nil && !k.j.Has(job.Key(c.Path(), "domain")):
			k.wrong(at, "cut numbers into bins, or say a domain, or say keys to have the values selected in private",
				"%s is not a category: groups need a public list of values", problem.Shown(name))
		case d.Unfolded(name):
			k.wrong(at, "say in dataset.fold how it is folded", severalValues, problem.Shown(name))
		default:
			cells.Mul(cells, big.NewInt(int64(max(1, len(c.Domain)))))
			if slices.Contains(c.Domain, r.Other) && r.Other != "" {
				k.wrong(job.Key(path, "other"), "take another word", "%s is a value of %s", problem.Shown(r.Other), problem.Shown(name))
			}
		}
	}
	most := big.NewInt(job.MaxCells)
	if unlisted != "" {
		most = big.NewInt(job.MaxKeyed)
	}
	k.keys(i, r)
	k.suppress(i, r.Suppress)
	if cells.Cmp(most) > 0 && unlisted != "" {
		k.wrong(job.Key(path, "by"), "say a smaller keys.at_most, or group by fewer columns",
			"makes up to %s groups, and a release with keys has at most %d", cells, job.MaxKeyed)
	} else if cells.Cmp(most) > 0 {
		k.wrong(job.Key(path, "by"), "group by fewer columns, or by coarser ones", "makes %s groups, and a release has at most %d",
			cells, job.MaxCells)
	}
}

func (k *checker) condition(path string, e *job.Expression, folded bool) {
	k.expression(path, e, k.j.Dataset.Readable(folded))
	if e.Formula != nil && e.Formula.Type != formula.Bool {
		k.wrong(path, "compare it with something", "must be true or false, and it is a %s", e.Formula.Type)
		e.Formula = nil
	}
}

// columnNames are the names of some columns.
func columnNames(d *job.Dataset, some func(*job.Column) bool) (names []string) {
	for _, c := range columnsIn(d, some) {
		names = append(names, c.Name)
	}
	return names
}

func anyColumn(*job.Column) bool { return true }
