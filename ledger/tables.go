package ledger

import ()

// Table is a job's use of a table: as private rows, or as a lookup, which is public. Mark is
// made under the ledger's key, of where the table is or of its bytes (P19).
type Table struct {
	Name   string // for messages
	Mark   string
	Public bool
}

// TableMark makes the mark of a table from what it is known by.
func (l *Ledger) TableMark(known string) string { return l.mark("dprelease table 1\n" + known) }

// The uses of a table stand beside those of columns, under its mark.
const (
	usedPrivate = "private table"
	usedPublic  = "public table"
)

func (m Table) use(account int64) columnUse {
	if m.Public {
		return columnUse{Account: account, Tag: usedPublic}
	}
	return columnUse{Account: account, Tag: usedPrivate}
}

// stays refuses a table that was private and is to be public, or the other way round, whatever
// the data sets are called. It refuses one that is to be both, too.
//
// # Contract
//
// Of all sealed releases of a ledger, none takes a table for public that it, or another one, takes
// for private, as far as their marks tell. A promise about its rows that one release makes holds
// beside the other (P32). Proof: tables.proof.md.
func (t *tx) stays(tables []Table) error { // P32
	var marks []Column
	private := map[string]bool{}
	for _, m := range tables {
		marks = append(marks, Column{Name: m.Mark})
		private[m.Mark] = private[m.Mark] || !m.Public
	}
	for _, m := range tables {
		if m.Public && private[m.Mark] {
			return refuse(CodeSame, "%s is a private table of this job, and whoever is in a lookup is not protected: take columns from it "+
				"with join, as a table of the data set", m.Name)
		}
	}
	used, err := t.columns(marks)
	if err != nil {
		return err
	}
	for _, m := range tables {
		for _, u := range used[digestOf([]byte(m.Mark))].uses {
			switch {
			case m.Public && u.Tag == usedPrivate:
				return refuse(CodeSame, "%s was a private table of an earlier release, and whoever is in a lookup is not protected: "+
					"take columns from it with join, as a table of the data set", m.Name)
			case !m.Public && u.Tag == usedPublic:
				return refuse(CodeSame, "%s was a lookup of an earlier release, which protected nobody in it, and cannot become private", m.Name)
			}
		}
	}
	return nil
}
