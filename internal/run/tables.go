package run

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"slices"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/job"
	"github.com/dprelease/dprelease/internal/planned"
)

// Several tables of one data set (P32). All that joins them is the unit: an index numbers the units of all tables at once,
// by one equality, and from then on each table is folded or capped by these numbers. A value that a row takes from another
// table is that of its own unit.

// openTables opens the tables that a plan reads, that of the population first.
func openTables(ctx context.Context, p *planned.Plan, memory int64) (*OpenedTable, error) {
	names := p.Tables()
	o := &OpenedTable{memory: cmp.Or(memory, Memory()) / int64(len(names))}
	for _, name := range names {
		view := p.Job.Of(name)
		columns := p.ColumnsOf(name)
		one, err := openOne(ctx, p, view, columns, columns, o.memory)
		if err != nil {
			o.Close()
			return nil, err
		}
		one.name, one.shares = name, true
		o.parts = append(o.parts, one)
	}
	if err := o.comparable(p.Job); err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}

// comparable refuses tables whose keys cannot be compared: one says text and another whole numbers, or a key is neither.
// "007" is not 7, and what a key is follows from the tables and the job alone.
func (o *OpenedTable) comparable(j *job.Job) error {
	first, text := "", false
	for _, t := range o.parts {
		view := j.Of(t.name)
		key := view.Dataset.Key.Column
		c, _ := t.Table.Column(key)
		at := "dataset.tables." + t.name
		if !t.shares {
			continue // its units are in no other table
		}
		if m := view.Dataset.Key.Members; view.Dataset.Key.Member != "" {
			if err := o.sameMembers(j, c, m, at); err != nil {
				return err
			}
			continue
		}
		switch {
		case !keyKinds[c.Kind]:
			return j.Wrong(at, "has a "+c.Kind.String()+" in the column of the unit, "+key, "tables are joined by texts or whole numbers")
		case first != "" && text != (c.Kind == table.String):
			is := map[bool]string{true: "texts", false: "numbers"}
			hint := "write both files with one type"
			if c.Text || o.parts[0].textual(j) {
				hint = "in a CSV file the job says what the column holds: columns: {" + key + ": {type: number}} for whole numbers; " +
					"without it they are texts"
			}
			return j.Wrong(at, "has "+is[c.Kind == table.String]+" in the column of the unit, and table "+first+" has "+is[text]+
				": “007” is not 7", hint)
		case first == "":
			first, text = t.name, c.Kind == table.String
		}
	}
	return nil
}

// sameMembers refuses a column of members that cannot be compared with that of their table.
func (o *OpenedTable) sameMembers(j *job.Job, c table.Column, m *job.Members, at string) error {
	i := slices.IndexFunc(o.parts, func(p *OpenedTable) bool { return p.name == m.Table })
	of, _ := o.parts[i].Table.Column(m.Column)
	if keyKinds[c.Kind] && keyKinds[of.Kind] && (c.Kind == table.String) == (of.Kind == table.String) {
		return nil
	}
	return j.Wrong(at, "has "+c.Kind.String()+" in the column of the member, and table "+m.Table+" has "+of.Kind.String()+
		": “007” is not 7",
		"write both files with one type; in a CSV file columns: {"+m.Column+": {type: number}} says that they are whole numbers, "+
			"and without it they are texts")
}

// textual reports whether the key of a table is stored as text.
func (o *OpenedTable) textual(j *job.Job) bool {
	c, _ := o.Table.Column(j.Of(o.name).Dataset.Key.Column)
	return c.Text
}

// Parts returns the tables one by one: the table itself where there is one.
func (o *OpenedTable) Parts() []*OpenedTable {
	if len(o.parts) > 0 {
		return o.parts
	}
	return []*OpenedTable{o}
}

// Name is the table's name in the job, "" where it is the only one.
func (o *OpenedTable) Name() string { return o.name }

// Fingerprint identifies the data: the content of each table, under its name.
func (o *OpenedTable) Fingerprint(ctx context.Context, key table.Key) (table.Fingerprint, error) {
	if len(o.parts) == 0 {
		return o.Content.Fingerprint(ctx, key)
	}
	mac := hmac.New(sha256.New, key[:])
	mac.Write([]byte("dprelease tables 1\n"))
	for _, t := range o.parts {
		f, err := t.Content.Fingerprint(ctx, key)
		if err != nil {
			return f, err
		}
		mac.Write([]byte(t.name + "\n"))
		mac.Write(f[:])
	}
	return table.Fingerprint(mac.Sum(nil)), nil
}

// Ahead reads what scans do not note.
func (o *OpenedTable) Ahead(ctx context.Context) error {
	for _, t := range o.Parts() {
		if err := t.Content.Ahead(ctx); err != nil {
			return err
		}
	}
	return nil
}
