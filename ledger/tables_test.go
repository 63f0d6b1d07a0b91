package ledger

import (
	"strings"
	"testing"
)

// A table that one release took for private is no lookup of another one, whatever their data
// sets are called, and the other way round. Two that are under way at once are told apart by
// the second seal.
func TestTablesStayPrivate(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		ask := func(plan string, tables ...Table) Request {
			q := request(plan, 0.125)
			q.Tables = tables
			q.Account.Dataset += plan
			return q
		}
		mark := l.TableMark("place /data/persons.csv")
		private, public := Table{Name: "persons", Mark: mark}, Table{Name: "lookup p", Mark: mark, Public: true}
		sealed := func(k *Ticket) error { return l.Seal(background, k, "c", someFiles) }

		first, other := debit(t, l, ask("first", private)), debit(t, l, ask("other", public))
		// Without the check, which a run without tables leaves out, the second is sealed too.
		broken := debit(t, l, ask("broken", public))
		broken.Tables = nil
		if err := sealed(first); err != nil {
			t.Fatal(err)
		}
		if err := sealed(other); codeOf(err) != CodeSame || !strings.Contains(err.Error(), "lookup p was a private table") {
			t.Errorf("a lookup at the same time: %v", err)
		}
		if err := sealed(broken); err != nil {
			t.Errorf("the broken twin finds nothing: %v", err)
		}
		if _, err := l.Debit(background, ask("later", public)); codeOf(err) != CodeSame {
			t.Errorf("a lookup later: %v", err)
		}
		if err := sealed(debit(t, l, ask("again", private))); err != nil {
			t.Errorf("private again: %v", err)
		}

		if _, err := l.Debit(background, ask("both", Table{Name: "lookup q", Mark: l.TableMark("bytes 2"), Public: true}, Table{Name: "persons", Mark: l.TableMark("bytes 2")})); codeOf(err) != CodeSame || !strings.Contains(err.Error(), "lookup q is a private table of this job") {
			t.Errorf("a table that is private and a lookup: %v", err)
		}

		zones := l.TableMark("bytes 1")
		if err := sealed(debit(t, l, ask("zones", Table{Name: "zones", Mark: zones, Public: true}))); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Debit(background, ask("zones later", Table{Name: "zones", Mark: zones})); codeOf(err) != CodeSame || !strings.Contains(err.Error(), "was a lookup") {
			t.Errorf("a lookup that becomes private: %v", err)
		}
		verified(t, l)
		// Each refusal, at a debit or a seal, is a record (P40).
		var asked []string
		acts, err := l.Acts(background)
		for _, a := range acts {
			if a.What == "answer" {
				asked = append(asked, strings.TrimPrefix(a.Job, "job of "))
			}
		}
		if got := strings.Join(asked, ", "); err != nil || got != "other, later, both, zones later" {
			t.Errorf("answers to %s, %v", got, err)
		}

		// Nobody takes a use away.
		if _, err := rawDB(t, at).Exec("UPDATE dprelease_columns SET charged = '[]'"); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Debit(background, ask("edited", public)); codeOf(err) != CodeTampered {
			t.Errorf("a use that somebody took away: %v", err)
		}
	})
}
