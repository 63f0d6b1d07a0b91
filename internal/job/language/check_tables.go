package language

import (
	"maps"
	"path/filepath"
	"slices"

	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/say/problem"
	"github.com/dprelease/dprelease/privacy"
)

// tables checks a data set of several tables.
func (k *checker) tables() {
	d := &k.j.Dataset
	if len(d.Tables) == 0 {
		k.oneTable()
		return
	}
	if d.Unit = d.Key.Column; d.Unit == "" {
		k.wrong("dataset.unit", "say unit: {column: …, name: …}: the tables are joined by it", "names no column")
	}
	if d.Population != "" || k.j.Has("dataset.population") {
		if _, ok := d.TableOf(d.Population); !ok {
			k.wrong("dataset.population", problem.DidYouMean(d.Population, k.j.TableNames()),
				"%s is not a table of the job", problem.Shown(d.Population))
		}
	} else if d.Relation == privacy.ReplaceOne {
		k.wrong("dataset.population", "say which table has a row of every unit", "is missing: dataset.size counts the units of one table")
	}
	for i := range d.Tables {
		t := &d.Tables[i]
		if t.Key.Member != "" {
			k.byMember(t)
		}
		if t.Key.Column == "" {
			t.Key.Column = d.Key.Column
		}
		if t.Key.Missing == "" {
			t.Key.Missing = job.NoUnitRefuse
		}
		t.Key.UnitWords = d.Key.UnitWords
	}
	k.names("tables", len(d.Tables), func(i int) (string, string) {
		return d.Tables[i].Name, job.Key("dataset.tables", d.Tables[i].Name)
	})
	for _, t := range d.Tables {
		for i := range t.Lookups {
			l := &t.Lookups[i]
			if m := d.Key.Members; m != nil && m.Column != t.Key.Column {
				k.publicUnits(job.Key(job.Key(job.Key("dataset.tables", t.Name), "lookups"), l.Name), l, m.Column)
			}
			for _, other := range d.Tables { // P32
				if l.Path != "" && filepath.Clean(l.Path) == filepath.Clean(other.Source.Path) {
					k.wrong(job.Key(job.Key(job.Key("dataset.tables", t.Name), "lookups"), l.Name), "take columns from it with join",
						"is table %s of the job, which is private: whoever is in a lookup is not protected", other.Name)
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
			checked := len(t.j.Dataset.Columns)
			t.joins(&d.Tables[i], own)
			t.foldedTables(own)
			t.restDerived()
			for n := range t.j.Dataset.Columns[checked:] {
				if c := &t.j.Dataset.Columns[checked+n]; c.Joined == nil || c.Joined.Derived {
					t.column(c)
				}
			}
			t.oneRowTable()
			t.units()
		})
	}
}

// byMember settles a table whose rows name a member of the unit.
func (k *checker) byMember(t *job.DataTable) { // P32
	m, at := k.j.Dataset.Key.Members, job.Key("dataset.tables", t.Name)+".unit"
	if t.Key.Column != "" {
		k.wrong(at+".member", "leave out column or member", "and column say in two ways whose a row is")
	}
	switch {
	case m == nil || m.Table == "" || m.Column == "":
		k.wrong(at+".member", "say members: {name: …, table: …, column: …} under dataset.unit",
			"needs a table that says which unit a member belongs to")
	case m.Table == t.Name:
		k.wrong(at+".member", "leave it out: the table has a column of the unit", "is for other tables than that of the members")
	case k.j.Dataset.Population == t.Name:
		k.wrong(at+".member", "name another table as dataset.population", "is not for the table of the population")
	case t.Key.Missing == job.NoUnitOwn:
		k.wrong(at+".missing", "say drop, or refuse", "own would make a unit of a row whose member is in no unit")
	}
	t.Key.Column, t.Key.Members = t.Key.Member, m
}

// each checks the tables one after the other, each as if it were the only one.
func (k *checker) each(do func(*checker)) {
	if len(k.j.Dataset.Tables) == 0 {
		do(k)
	}
	for i := range k.j.Dataset.Tables {
		k.within(&k.j.Dataset.Tables[i], do)
	}
}

// within checks one table as if it were the only one, and says where in the job a problem is.
func (k *checker) within(t *job.DataTable, do func(*checker)) {
	view := k.j.Of(t.Name)
	view.Dataset.Unit = "" // units is not to settle it
	do(k.as(view))
	t.Dataset = view.Dataset
	t.Dataset.Tables = nil
}

// plainTable refuses what is for a data set with one table.
func (k *checker) plainTable() {
	for _, c := range k.j.Dataset.Columns {
		if k.j.Dataset.MayVanish() || k.j.Dataset.Key.Rows == 0 {
			k.refuse(c.Path(), []string{"immutable"},
				"leave it out: it is for the table that dataset.population names, where a unit has one row", "is for a column that every unit has")
		}
	}
}

// tableOf checks which table a release counts.
func (k *checker) tableOf(i int, r *job.Release) bool {
	path := job.Key(job.Item("releases", i), "table")
	_, ok := k.j.Dataset.TableOf(r.Table)
	switch known := k.j.TableNames(); {
	case len(k.j.Dataset.Tables) == 0:
		return !k.j.Has(path)
	case r.Table == "":
		if !k.toldOf(path) {
			k.wrong(path, hintOr("", "tables of the job", known), "is missing: the data set has several tables")
		}
	case !ok:
		k.wrong(path, hintOr(problem.DidYouMean(r.Table, known), "tables of the job", known),
			"%s is not a table of the job", problem.Shown(r.Table))
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
		case c.Type == job.Category && len(c.Domain) > 0:
			d.Fold = append(d.Fold, job.Named[job.FoldBy]{Name: c.Name, Value: job.FoldMode})
		case c.Numeric():
			d.Fold = append(d.Fold, job.Named[job.FoldBy]{Name: c.Name, Value: job.FoldMax})
		}
	}
	if len(d.Fold) == 0 {
		k.wrong("dataset.columns", "declare one, or derive it", "has neither a number nor a category, so nothing can be released from the table")
	}
	d.Key.Rows = 0 // the fold says it from here on
}

// askedOfTables adds the releases that keys of each table ask for: what finds bounds, and what measures pay for. They count
// the rows of that table, and are charged with all others.
func (k *checker) askedOfTables() {
	k.each(func(t *checker) {
		t.j.Releases = k.j.Releases
		t.measures()
		t.searches()
		k.j.Releases = t.j.Releases
	})
}

// own are the releases from the table that the job is seen from: all of them where the data set is one table.
func (k *checker) own() []job.Release {
	return slices.DeleteFunc(slices.Clone(k.j.Releases), func(r job.Release) bool { return r.Table != k.j.Dataset.Table })
}

// weightsOfTables holds each table from which a weighted release comes to what dataset.weights says: the weight of a row is in
// a column of its table, its own or that of its unit in another one.
func (k *checker) weightsOfTables() {
	w, seen := k.j.Dataset.Weights, map[string]bool{}
	if w == nil {
		return
	}
	for _, r := range k.j.Releases {
		if k.j.Dataset.WeightsOf(&r) != nil {
			seen[r.Table] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		if t, ok := k.j.Dataset.TableOf(name); ok {
			if _, has := t.Column(w.Column); !has {
				k.wrong("dataset.weights.column", "take it from the table that has it: join: {TABLE: ["+w.Column+"]} in "+name+
					"; or say weights: none in its releases", "%s is not a column of table %s", problem.Shown(w.Column), name)
				continue
			}
			k.as(k.j.Of(name)).weights("dataset.weights", w)
		}
	}
}
