package job

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/dprelease/dprelease/internal/job/lang"
	"github.com/dprelease/dprelease/internal/rows/formula"
	"github.com/dprelease/dprelease/privacy"
)

// DataTable is one of several private tables of a data set (P32). Its Dataset holds what a job with one table says under
// dataset: where the rows are, their columns, and what becomes of several rows of a unit.
type DataTable struct {
	Name string
	Dataset
	Join []Named[[]string] // the columns that it takes from other tables, by table

	pos map[string]Pos // the places of the job, with the keys of the table as if it were the only one
}

// Joined says that a column of a table is made of the rows that the same unit has in another table (P32).
type Joined struct {
	Table string     // the other one
	Of    string     // its column, "" where rows are counted
	By    FoldBy     // how its values become one
	Where Expression // which of its rows count

	derived bool   // it stands under derive, and not under join
	text    string // as a digest has it
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

// Several reports whether the data set has several tables.
func (d *Dataset) Several() bool { return len(d.Tables) > 0 }

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
	d.UnitName, d.UnitPlural, d.Frame, d.Population, d.Table = whole.UnitName, whole.UnitPlural, whole.Frame, whole.Population, t.Name
	d.Tables = whole.Tables
	view.Dataset, view.pos = d, t.pos
	return &view
}

// First returns the job as the table of its population sees it: designs read the columns of that table.
func (j *Job) First() *Job { return j.Of(j.Dataset.Population) }

// MayVanish reports whether a unit of the population may have no row in the table that the job is seen from: only the table
// that defines a population keeps a row of each unit (P32).
func (d *Dataset) MayVanish() bool { return d.Table != "" && d.Table != d.Population }

// full is the path of a key of a table in the job: what a table sees as dataset.columns.x stands under
// dataset.tables.NAME.columns.x.
func (t *DataTable) full(path string) string {
	rest, ok := strings.CutPrefix(path, "dataset.")
	at := strings.IndexAny(rest, ".[")
	if at < 0 {
		at = len(rest)
	}
	if !ok || !slices.Contains(tableKeys(), rest[:at]) {
		return path
	}
	return lang.Key("dataset.tables", t.Name) + "." + rest
}

// tableKeys are the keys of a table.
func tableKeys() (names []string) {
	for _, d := range dataTable().nested {
		names = append(names, d.name)
	}
	return names
}

// same describes a key of a table: it means what it means for the only table.
func same(key string) string { return "As dataset." + key + " for a single table" }

func dataTable() kind[DataTable] {
	return object(
		key("source", source(), func(t *DataTable) *Source { return &t.Source }, same("source"), required()),
		key("unit", object(
			key("column", text(), func(u *Unit) *string { return &u.Column },
				"The column of this table that names the unit of a row, where it has another name than dataset.unit.column", example("patient")),
			key("rows", oneRow(), func(u *Unit) *int64 { return &u.Rows },
				"A unit has at most one row in this table: the run fails with DATA_UNIT where it has two. Other tables may then take columns from it", example("1")),
			key("missing", choice(NoUnitRefuse, NoUnitDrop, NoUnitOwn), func(u *Unit) *NoUnit { return &u.Missing },
				"What becomes of a row whose unit is null: refuse asserts that there is none, drop leaves it out, own makes it a unit of its own, without a partner in any table", otherwise(string(NoUnitRefuse))),
		), func(t *DataTable) *Unit { return &t.Key }, "The unit of the rows of this table").with(func(t *DataTable) any {
			return canon{"column": t.Key.Column, "missing": t.Key.Missing, "one_row": t.OneRow}
		}),
		key("columns", named(column(), "NAME", checkText, func(c *Column, n string) { c.Name = n }),
			func(t *DataTable) *[]Column { return &t.Columns }, same("columns"), required()).with(func(t *DataTable) any {
			return factsByName(column(), t.columnsOf(func(c *Column) bool { return c.Lookup == nil && c.Derived == nil && c.Joined == nil }))
		}),
		key("lookups", named(lookup(), "NAME", checkName, func(l *Lookup, n string) { l.Name = n }),
			func(t *DataTable) *[]Lookup { return &t.Lookups }, same("lookups")).with(func(t *DataTable) any { return t.lookupFacts() }),
		key("join", byName(taken(), "TABLE", checkName), func(t *DataTable) *[]Named[[]string] { return &t.Join },
			"Columns that the rows take from another table, by its name: those of the row that the same unit has there. They are missing where it has none", example("{persons: [age_band, region]}")),
		key("derive", named(derived(), "NAME", checkText, func(c *Column, n string) { c.Name, c.Derived = n, derivedOf(c) }),
			func(t *DataTable) *[]Column { return &t.derive },
			"Columns that are computed from others, by name. as may also fold the rows that the same unit has in another table: count(visits where year == 2025), sum(visits.cost)").with(func(t *DataTable) any {
			return factsByName(derived(), t.derivedFacts())
		}),
		key("fold", byName(foldBy(), "COLUMN", checkText), func(t *DataTable) *[]Named[FoldBy] { return &t.Fold }, same("fold")).with(func(t *DataTable) any {
			if t.OneRow {
				return nil // it follows
			}
			declared := byName(foldBy(), "COLUMN", checkText)
			return declared.fact(&t.Fold)
		}),
		key("cap", optional(capped()), func(t *DataTable) **Cap { return &t.Cap }, same("cap")),
	)
}

// taken is a list of columns. A mapping, as a join by another column would need, is refused with the reason.
func taken() kind[[]string] {
	k := distinct(list(text(), 1))
	read := k.read
	k.read = func(c *cursor, p lang.Place, into *[]string) bool {
		if p.Node.Kind == yaml.MappingNode { // P32
			return c.Wrong(p, "write the columns as a list, [age_band, region], which joins by the unit; or fold the other table by the unit, under derive; or make a public lookup of what everybody may know",
				"must be a list of columns, not a mapping: private tables are joined by the unit alone, because by another column one row would change the rows of many units")
		}
		return read(c, p, into)
	}
	return k
}

// derivedFacts are the columns under derive, those that fold another table with their text.
func (d *Dataset) derivedFacts() (is []Column) {
	for _, c := range d.Columns {
		switch {
		case c.Joined != nil && c.Joined.derived:
			c.Derived = &Derived{As: Expression{canon: c.Joined.text}, After: "rows"}
			is = append(is, c)
		case c.Derived != nil:
			is = append(is, c)
		}
	}
	return is
}

// tables checks a data set of several tables.
func (k *checker) tables() {
	d := &k.j.Dataset
	const one = "is for a data set with one table"
	k.refuse("dataset", []string{"source", "columns", "lookups", "derive", "fold", "cap"}, "say it in the table, under dataset.tables", one)
	k.refuse("dataset", []string{"slice", "collected", "weights"}, "leave it out, or release from one table in a job of its own", one)
	if k.j.Engine.Elsewhere() {
		k.wrong("engine", "leave it out: the tables are read on this machine", one)
	}
	switch {
	case d.Key.Column == "":
		k.wrong("dataset.unit", "say unit: {column: …, name: …}: the tables are joined by it", "names no column")
	case d.Key.Rows > 0:
		k.wrong("dataset.unit.rows", "say it in a table, under dataset.tables", one)
	default:
		d.Unit = d.Key.Column
	}
	if k.j.Has("dataset.unit.missing") {
		k.wrong("dataset.unit.missing", "say unit: {missing: …} in a table, under dataset.tables", one)
	}
	if d.Population != "" || k.j.Has("dataset.population") {
		if _, ok := d.TableOf(d.Population); !ok {
			k.wrong("dataset.population", lang.DidYouMean(d.Population, k.tableNames()), "%s is not a table of the job", lang.Shown(d.Population))
		}
	} else if d.Relation == privacy.ReplaceOne {
		k.wrong("dataset.population", "say which table has a row of every unit", "is missing: dataset.size counts the units of one table")
	}
	for _, s := range k.j.Samples {
		at := lang.Key(lang.Key("samples", s.Name), "method")
		switch {
		case d.Population == "" && (s.Method == Multistage || s.Method == Stratified):
			k.wrong(at, "say dataset.population: the table whose columns say where a unit lies", "%s draws units by the columns of one table, and the data set has several", s.Method)
		case s.Keep || s.Method == Kept:
			k.wrong(lang.Key("samples", s.Name), "draw a sample of this job's own", "a draw from several tables cannot be kept for other jobs")
		}
	}
	for i := range d.Tables {
		t := &d.Tables[i]
		if t.Key.Column == "" {
			t.Key.Column = d.Key.Column
		}
		if t.Key.Missing == "" {
			t.Key.Missing = NoUnitRefuse
		}
		t.Key.Name, t.Key.Plural = d.Key.Name, d.Key.Plural
		t.places(k.j.pos)
	}
	k.names("tables", len(d.Tables), func(i int) (string, string) {
		return d.Tables[i].Name, lang.Key("dataset.tables", d.Tables[i].Name)
	})
	for _, t := range d.Tables {
		for _, l := range t.Lookups {
			for _, other := range d.Tables { // P32
				if l.Path != "" && filepath.Clean(l.Path) == filepath.Clean(other.Source.Path) {
					k.wrong(lang.Key(lang.Key(lang.Key("dataset.tables", t.Name), "lookups"), l.Name), "take columns from it with join", "is table %s of the job, which is private: whoever is in a lookup is not protected", other.Name)
				}
			}
		}
	}
	for i := range d.Tables { // first what each table says by itself
		k.within(&d.Tables[i], func(t *checker) {
			t.source()
			t.plainTable()
			t.lookups()
			t.fileColumns()
			t.ownDerived()
			t.columns()
		})
	}
	own := slices.Clone(d.Tables) // what a table takes from others stays in it
	for i := range own {
		own[i].Columns = slices.Clone(own[i].Columns)
	}
	for i := range d.Tables {
		k.within(&d.Tables[i], func(t *checker) {
			taken := t.joins(&d.Tables[i], own)
			t.foldedTables(own)
			late := t.restDerived()
			for n := range t.j.Dataset.Columns {
				if c := &t.j.Dataset.Columns[n]; late[c.Name] && !taken[c.Name] {
					t.column(c)
				}
			}
			t.oneRowTable()
			t.units()
		})
	}
}

func (k *checker) tableNames() (names []string) {
	for _, t := range k.j.Dataset.Tables {
		names = append(names, t.Name)
	}
	return names
}

// places finds the keys of the table, as the job with this table alone would have them.
func (t *DataTable) places(all map[string]Pos) {
	t.pos = maps.Clone(all)
	prefix := lang.Key("dataset.tables", t.Name) + "."
	for path, at := range all {
		if rest, ok := strings.CutPrefix(path, prefix); ok {
			t.pos["dataset."+rest] = at
		}
	}
	if at, ok := all[strings.TrimSuffix(prefix, ".")]; ok {
		t.pos["dataset"] = at
	}
}

// within checks one table as if it were the only one, and says where in the job a problem is.
func (k *checker) within(t *DataTable, do func(*checker)) {
	view := k.j.Of(t.Name)
	view.Dataset.Unit = "" // units is not to settle it
	one := &checker{j: view}
	for _, p := range k.told {
		if rest, ok := strings.CutPrefix(p.Path, lang.Key("dataset.tables", t.Name)+"."); ok {
			p.Path = "dataset." + rest
			one.told = append(one.told, p)
		}
	}
	do(one)
	t.Dataset = view.Dataset
	t.Dataset.Tables = nil
	for _, p := range one.found {
		p.Path = t.full(p.Path)
		k.found = append(k.found, p)
	}
}

// plainTable refuses what is for a data set with one table.
func (k *checker) plainTable() {
	const why = "is for a data set with one table"
	for _, c := range k.j.Dataset.Columns {
		k.refuse(c.path(), []string{"bounds", "measure"}, "say lower and upper, or release from one table in a job of its own", why)
		if k.j.Dataset.MayVanish() || k.j.Dataset.Key.Rows == 0 {
			k.refuse(c.path(), []string{"immutable"}, "leave it out: it is for the table that dataset.population names, where a unit has one row", "is for a column that every unit has")
		}
	}
	for _, c := range k.j.Dataset.derive {
		k.refuse(lang.Key("dataset.derive", c.Name), []string{"bounds"}, "say lower and upper, or release from one table in a job of its own", why)
	}
	k.refuse("dataset.cap", []string{"measure"}, "leave it out, or measure it in a job with this table alone", why)
}

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
		for _, c := range d.derive {
			needs := foldsTable(c.Derived.As.Text)
			for _, from := range readsOf(&c) {
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
func readsOf(c *Column) []string {
	switch {
	case foldsTable(c.Derived.As.Text):
		return nil
	case c.Derived.As.Said():
		return formula.Reads(c.Derived.As.Text)
	}
	return []string{c.Derived.Bins.Column}
}

// ownDerived computes the columns that need no other table, and restDerived the others. Both keep what is left to do.
func (k *checker) ownDerived() {
	d, foreign := &k.j.Dataset, k.foreign()
	all := d.derive
	d.derive = slices.DeleteFunc(slices.Clone(all), func(c Column) bool { return foreign[c.Name] })
	k.derived()
	d.derive = slices.DeleteFunc(slices.Clone(all), func(c Column) bool { return !foreign[c.Name] })
}

// restDerived returns the names of what it adds.
func (k *checker) restDerived() map[string]bool {
	d, late := &k.j.Dataset, map[string]bool{}
	for _, c := range d.derive {
		late[c.Name] = true
	}
	d.derive = slices.DeleteFunc(d.derive, func(c Column) bool { return foldsTable(c.Derived.As.Text) })
	k.derived()
	return late
}

// joins adds the columns that a table takes from others, and returns their names.
func (k *checker) joins(t *DataTable, own []DataTable) map[string]bool {
	taken := map[string]bool{}
	for _, j := range t.Join {
		path := lang.Key("dataset.join", j.Name)
		from, ok := k.partner(path, j.Name, own)
		if !ok {
			continue
		}
		for i, name := range j.Value {
			at := lang.Item(path, i)
			c, ok := k.takes(at, from, name)
			if !ok {
				continue
			}
			by := from.FoldOf(name)
			switch {
			case by != "":
			case from.Key.Rows == 0:
				k.wrong(at, "fold it: derive: {"+name+": {as: \"max("+from.Name+"."+name+")\"}}; or say unit: {rows: 1} in "+from.Name+" if a unit has one row there; or name "+from.Name+" as the table of the release, and join this one to it",
					"%s may have several rows of a unit, and this row takes one value", from.Name)
				continue
			case c.Type == Category:
				by = FoldMode
			default:
				by = FoldMax
			}
			if by == FoldCount {
				k.wrong(at, "write it under derive", "%s is folded by count there", lang.Shown(name))
				continue
			}
			c.Joined = &Joined{Table: from.Name, Of: name, By: by}
			k.put(at, c, taken)
		}
	}
	return taken
}

// put adds a column of another table.
func (k *checker) put(at string, c Column, taken map[string]bool) {
	c.Derived, c.Lookup, c.Heading, c.Assume, c.Immutable = nil, nil, "", nil, false
	c.Missing, c.Outside = Handling{Rule: Drop}, Handling{Rule: Drop}
	if other, twice := k.j.Dataset.Column(c.Name); twice {
		k.wrong(at, "give it another name: derive: {NAME: {as: \"max("+c.Joined.Table+"."+c.Joined.Of+")\"}}", "%s has the name of another column (line %d)", lang.Shown(c.Name), k.j.Pos(other.path()).Line)
		return
	}
	taken[c.Name] = true
	k.j.Dataset.Columns = append(k.j.Dataset.Columns, c)
}

// partner finds the other table of a join.
func (k *checker) partner(path, name string, own []DataTable) (*DataTable, bool) {
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
	k.wrong(path, hintOr(lang.DidYouMean(name, names), "tables of the job", names), "%s is not a table of the job", lang.Shown(name))
	return nil, false
}

// takes finds the column that a table has of its own.
func (k *checker) takes(at string, from *DataTable, name string) (Column, bool) {
	c, ok := from.Column(name)
	whole, _ := k.j.Dataset.TableOf(from.Name)
	said := slices.ContainsFunc(whole.Join, func(j Named[[]string]) bool { return slices.Contains(j.Value, name) }) ||
		slices.ContainsFunc(whole.derive, func(c Column) bool { return c.Name == name })
	switch {
	case !ok && said:
		k.wrong(at, "take it from the table where it comes from", "%s is no column of the rows of %s: it comes from another table, or needs one", lang.Shown(name), from.Name)
	case !ok:
		k.wrong(at, lang.DidYouMean(name, from.names()), "%s is not a column of %s", lang.Shown(name), from.Name)
	case c.Derived != nil && c.Derived.AfterFold:
		k.wrong(at, "", "%s is computed after the fold", lang.Shown(name))
		return c, false
	case c.Type != Number && c.Type != Category:
		k.wrong(at, "derive a number or a category from it in "+from.Name+", and take that", "%s is a %s: only numbers and categories go from one table to another", lang.Shown(name), c.Type)
		return c, false
	}
	return c, ok
}

func (d *Dataset) names() (names []string) {
	for _, c := range d.Columns {
		names = append(names, c.Name)
	}
	return names
}

// folding is the form of a fold of another table: count(visits), sum(visits.cost where year == 2025).
var folding = regexp.MustCompile(`(?s)^\s*(count|sum|mean|min|max|any|all|mode)\(\s*([A-Za-z0-9][A-Za-z0-9_-]*)\s*(?:\.\s*([^\s()]+)\s*)?(?:\swhere\s+(.+))?\)\s*$`)

// foldsTable reports whether the text of a derived column folds another table. No function of expressions takes a bare
// table, and their functions of these names take two arguments.
func foldsTable(text string) bool {
	m := folding.FindStringSubmatch(text)
	return m != nil && !strings.Contains(m[3], ",") && (m[1] == string(FoldCount) || m[3] != "")
}

// foldedTables adds the columns that fold the rows which the same unit has in another table.
func (k *checker) foldedTables(own []DataTable) {
	for _, c := range k.j.Dataset.derive {
		if !foldsTable(c.Derived.As.Text) {
			continue
		}
		path := lang.Key("dataset.derive", c.Name)
		at := lang.Key(path, "as")
		m := folding.FindStringSubmatch(c.Derived.As.Text)
		by, column, where := FoldBy(m[1]), m[3], m[4]
		from, ok := k.partner(at, m[2], own)
		if !ok {
			continue
		}
		if c.Derived.After == "fold" || c.Derived.Bins.Column != "" {
			k.wrong(path, "say as alone", "folds another table, which needs nothing else")
			continue
		}
		j := &Joined{Table: from.Name, Of: column, By: by, derived: true, text: string(by) + "(" + from.Name}
		of := Column{Type: Number}
		if column != "" {
			if of, ok = k.takes(at, from, column); !ok {
				continue
			}
			j.text += "." + column
		}
		if where != "" {
			j.Where = Expression{Text: where, at: c.Derived.As.at, folded: c.Derived.As.folded}
			j.Where.at.Column += strings.Index(c.Derived.As.Text, where)
			k.expression(at, &j.Where, from.Readable(false))
			if j.Where.Formula != nil && j.Where.Formula.Type != formula.Bool {
				k.wrong(at, "compare it with something", "the condition must be true or false, and it is a %s", j.Where.Formula.Type)
			}
			if j.Where.Formula == nil || j.Where.Formula.Type != formula.Bool {
				continue
			}
			j.text += " where " + j.Where.Formula.Canonical()
		}
		j.text += ")"
		c.Joined = j
		if !k.foldedType(path, &c, &of) {
			continue
		}
		if c.Missing.Rule == Drop {
			c.Missing = Handling{Rule: Drop}
		}
		lower, upper, missing := c.Lower, c.Upper, c.Missing
		k.put(at, c, map[string]bool{})
		if n := len(k.j.Dataset.Columns) - 1; k.j.Dataset.Columns[n].Name == c.Name {
			k.j.Dataset.Columns[n].Lower, k.j.Dataset.Columns[n].Upper, k.j.Dataset.Columns[n].Missing = lower, upper, missing
		}
	}
}

// foldedType settles what a column that folds another table holds.
func (k *checker) foldedType(path string, c, of *Column) bool {
	numbers := of.Type == Number
	at := lang.Key(path, "as")
	switch by := c.Joined.By; {
	case by == FoldCount:
		c.Holds = Number
	case numbers && by != FoldMode && by != FoldAny && by != FoldAll:
		c.Holds = Number
	case !numbers && (by == FoldMode || by == FoldMin || by == FoldMax), !numbers && (by == FoldAny || by == FoldAll) && of.flag():
		k.refuse(path, []string{"domain", "lower", "upper"}, "leave it out: it is that of "+of.Name, "is known")
		c.Holds, c.Domain, c.Lower, c.Upper = "", of.Domain, nil, nil
		return true
	default:
		k.wrong(at, "see dataset.fold for what goes with what", "%s cannot be folded by %s", lang.Shown(of.Name), by)
		return false
	}
	k.refuse(path, []string{"domain"}, "leave it out", "is for texts, and %s gives a number", c.Joined.By)
	if c.Lower == nil && c.Upper == nil && (c.Joined.By == FoldSum || c.Joined.By == FoldMean) {
		k.wrong(path, "say lower and upper of the folded value", "needs bounds: %s is added up exactly between them", c.Joined.By)
		return false
	}
	if c.Lower != nil && c.Upper != nil {
		c.Holds = ""
	}
	return true
}

// tableOf checks which table a release counts.
func (k *checker) tableOf(i int, r *Release) bool {
	path := lang.Key(lang.Item("releases", i), "table")
	_, ok := k.j.Dataset.TableOf(r.Table)
	switch known := k.tableNames(); {
	case !k.j.Dataset.Several():
		return !k.refuse(lang.Item("releases", i), []string{"table"}, "leave it out; a sample is named by from", "is for a data set with several tables")
	case r.Table == "":
		if !k.toldOf(path) {
			k.wrong(path, hintOr("", "tables of the job", known), "is missing: the data set has several tables")
		}
	case !ok:
		k.wrong(path, hintOr(lang.DidYouMean(r.Table, known), "tables of the job", known), "%s is not a table of the job", lang.Shown(r.Table))
	}
	return ok
}

// oneRowTable folds a table in which a unit has one row: what is made of that row is its value.
func (k *checker) oneRowTable() {
	d := &k.j.Dataset
	if d.Key.Rows == 0 || d.Folds() {
		return // units tells of both
	}
	d.OneRow = true
	for i := range d.Columns {
		switch c := &d.Columns[i]; {
		case c.Derived != nil && c.Derived.AfterFold:
		case c.Type == Category && len(c.Domain) > 0:
			d.Fold = append(d.Fold, Named[FoldBy]{c.Name, FoldMode})
		case c.number():
			d.Fold = append(d.Fold, Named[FoldBy]{c.Name, FoldMax})
		}
	}
	if len(d.Fold) == 0 {
		k.wrong("dataset.columns", "declare one, or derive it", "has neither a number nor a category, so nothing can be released from the table")
	}
	d.Key.Rows = 0 // the fold says it from here on
}
