package ledger

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/privacy"
)

// A failure that its content causes is known again on that content, and only there; it
// stands in no record.
func TestFailureIsBoundToItsContent(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		q := request("p", 0.25)
		k := debit(t, l, q)
		if err := l.End(background, k, &Failure{Exit: 6, Code: "DATA_MISSING", Message: "column age", Content: "bad"}); err != nil {
			t.Fatal(err)
		}
		look := func(content string) Standing {
			s, err := l.Look(background, "p", content)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		if s := look(""); !s.Compare || s.Unfinished {
			t.Errorf("content unknown: %+v", s)
		}
		if s := look("bad"); !s.Hopeless() || s.Failed.Code != "DATA_MISSING" || s.Failed.Message != "column age" || s.Failed.Exit != 6 {
			t.Errorf("the same content: %+v", s)
		}
		q.Content, q.Again = "bad", true
		if s, err := asking(l, q); err != nil || !s.Hopeless() || s.Ticket != nil {
			t.Errorf("spend again on the same content: %+v, %v", s, err)
		}
		if s := look("mended"); s.Unfinished || s.Hopeless() || s.Compare {
			t.Errorf("another content: %+v", s)
		}
		q.Content, q.Again = "mended", false
		k = debit(t, l, q)
		if s := look("bad"); !s.Busy {
			t.Errorf("while another run is at work: %+v", s)
		}
		if err := l.End(background, k, &Failure{Exit: 5, Code: "PLUGIN_CRASHED"}); err != nil {
			t.Fatal(err)
		}
		s := look("mended")
		if !s.Unfinished || s.Hopeless() || !strings.Contains(s.Refusal().Message, "PLUGIN_CRASHED") {
			t.Errorf("a failure of no content: %+v", s)
		}
		if s := look("bad"); !s.Hopeless() {
			t.Errorf("the first content, later: %+v", s)
		}
		if err := l.Records(background, func(r Record) error {
			if strings.Contains(r.Body, "DATA_") || strings.Contains(r.Body, "PLUGIN_") {
				t.Errorf("record %d tells how a run failed: %s", r.Seq, r.Body)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		verified(t, l)
	})
}

// Under replace-one with several tables a unit is sure to have a row in the population's table alone. Jobs with
// another population, or on one table, protect other pairs of neighbours.
func TestAccountKeepsARow(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		n := 0
		ask := func(dataset string, keeps ...string) string {
			n++
			q := request(fmt.Sprint("plan", n), 0.125)
			q.Account.Dataset, q.Keeps = dataset, keeps
			_, err := l.Debit(background, q)
			return codeOf(err)
		}
		persons, visits := RowIn("persons"), RowIn("visits")
		for i, c := range []struct {
			dataset string
			keeps   []string
			code    string
		}{
			{"several", []string{persons}, ""},
			{"several", []string{persons}, ""},
			{"several", []string{visits}, CodeKept},
			{"several", []string{persons, visits}, CodeKept},
			{"several", nil, CodeKept},
			{"several", []string{persons, "region"}, CodeKept},
			{"one", nil, ""},
			{"one", nil, ""},
			{"one", []string{persons}, CodeKept},
		} {
			if got := ask(c.dataset, c.keeps...); got != c.code {
				t.Errorf("case %d: %q, not %q", i, got, c.code)
			}
		}
		several, one := people, people
		several.Dataset, one.Dataset = "several", "one"
		if _, err := l.SetKeeps(background, one, []string{persons}, "decided"); codeOf(err) != CodeKept {
			t.Errorf("earlier jobs read a table without a name: %v", err)
		}
		if _, err := l.SetKeeps(background, several, []string{visits}, "decided"); err != nil {
			t.Error(err)
		}
		if got := ask("several", visits); got != "" {
			t.Errorf("neighbours keep a row in both tables: %s", got)
		}
		verified(t, l)
	})
}

// The first job decides which columns its account keeps; a job with another one is
// refused until a person says, for a reason that is recorded, that the account keeps
// that as well.
func TestAccountKeepsColumns(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		ask := func(plan string, keeps ...string) error {
			q := request(plan, 0.125)
			q.Keeps = keeps
			_, err := l.Debit(background, q)
			return err
		}
		if err := ask("first", "region", "region"); err != nil {
			t.Fatal(err)
		}
		if err := ask("none"); err != nil {
			t.Errorf("a job that keeps nothing: %v", err)
		}
		if err := ask("other", "region", "school"); codeOf(err) != CodeKept || !strings.Contains(err.Error(), "dprelease ledger keep --columns region,school") {
			t.Errorf("a job that keeps more: %v", err)
		}
		if _, err := l.SetKeeps(background, people, []string{"school"}, " "); codeOf(err) != CodeLimit {
			t.Errorf("without a reason: %v", err)
		}
		if keeps, err := l.SetKeeps(background, people, []string{"school"}, "decided"); err != nil || fmt.Sprint(keeps) != "[region school]" {
			t.Errorf("%v, %v", keeps, err)
		}
		if _, err := l.SetKeeps(background, people, []string{"region"}, "decided"); codeOf(err) != CodeKept {
			t.Errorf("columns are taken away: %v", err)
		}
		if err := ask("other", "region", "school"); err != nil {
			t.Error(err)
		}
		verified(t, l)

		// An account that a person opened without a word on it.
		other := people
		other.Dataset = "others"
		a, err := l.OpenAccount(background, other, Opening{Filter: Basic, Limit: limit("1", "0")})
		if err != nil {
			t.Fatal(err)
		}
		if a.Keeps != nil {
			t.Errorf("before the first job: %v", a.Keeps)
		}
		q := request("others", 0.125)
		q.Account, q.Keeps = other, []string{"school"}
		if k := debit(t, l, q); fmt.Sprint(k.Account.Keeps) != "[school]" {
			t.Errorf("keeps %v", k.Account.Keeps)
		}
		// And one that it opened for nobody who keeps anything.
		other.Dataset = "strict"
		if _, err := l.OpenAccount(background, other, Opening{Filter: Basic, Limit: limit("1", "0"), Keeps: []string{}}); err != nil {
			t.Fatal(err)
		}
		q.Plan, q.Account = "strict", other
		if _, err := l.Debit(background, q); codeOf(err) != CodeKept {
			t.Errorf("an account that keeps nothing: %v", err)
		}
		verified(t, l)
	})
}

// A second account for data that another was charged for does not open silently, and
// columns that overlap are enough to see it.
func TestSecondAccountForTheSameData(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		column := func(name, digest string) Column { return Column{Name: name, Tag: l.Tag(name, 10), Digest: digest} }
		q := request("first", 0.125)
		q.Columns = []Column{column("x", ""), column("y", "")}
		k := debit(t, l, q)
		k.Columns = []Column{column("x", "dx"), column("y", "dy")}
		if err := l.Seal(background, k, "xy", someFiles); err != nil {
			t.Fatal(err)
		}
		other := people
		other.Relation = privacy.AddRemove
		ask := func(columns ...Column) (Standing, error) {
			q := request("second", 0.125)
			q.Account, q.Columns = other, columns
			if columns[0].Digest != "" {
				q.Content = "c"
			}
			return asking(l, q)
		}
		if s, err := ask(column("y", ""), column("z", "")); err != nil || !s.Compare {
			t.Fatalf("a column of that name and length: %+v, %v", s, err)
		}
		_, err := ask(column("y", "dy"), column("z", "dz"))
		if codeOf(err) != CodeSame || strings.Contains(err.Error(), "column") || !strings.Contains(err.Error(), "ledger separate --dataset people --relation add-remove --from people --from-relation replace-one") {
			t.Fatalf("the same column: %v", err)
		}
		if a, err := l.Account(background, other); err != nil || a != nil {
			t.Errorf("an account was opened: %v, %v", a, err)
		}
		p := pair(other.name(), people.name())
		raw := rawDB(t, at)
		if _, err := raw.Exec(address(t, at).dialect().bind("INSERT INTO dprelease_separate (one, other) VALUES (?, ?)"), p[0], p[1]); err != nil {
			t.Fatal(err)
		}
		if _, err := ask(column("y", "dy"), column("z", "dz")); codeOf(err) != CodeTampered {
			t.Errorf("a forged permission: %v", err)
		}
		if _, err := raw.Exec("DELETE FROM dprelease_separate"); err != nil {
			t.Fatal(err)
		}
		if err := l.Separate(background, other, people, ""); codeOf(err) != CodeLimit {
			t.Errorf("without a reason: %v", err)
		}
		if err := l.Separate(background, people, people, "x"); codeOf(err) != CodeSame {
			t.Errorf("one account: %v", err)
		}
		s, err := ask(column("y", "another"), column("z", "dz"))
		if err != nil || s.Ticket == nil {
			t.Fatalf("other data: %+v, %v", s, err)
		}
		// It turns out while the table is read.
		s.Ticket.Columns = []Column{column("x", "dx")}
		if err := l.Seal(background, s.Ticket, "c", someFiles); codeOf(err) != CodeSame {
			t.Errorf("at the seal: %v", err)
		}
		for range 2 {
			if err := l.Separate(background, other, people, "two papers"); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Seal(background, s.Ticket, "c", someFiles); err != nil {
			t.Errorf("at the seal, when it is meant: %v", err)
		}
		verified(t, l)
		if err := l.Records(background, func(r Record) error {
			if strings.Contains(r.Body, `"dx"`) || strings.Contains(r.Body, l.Tag("x", 10)) {
				t.Errorf("record %d tells of a column: %s", r.Seq, r.Body)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := rawDB(t, at).Exec("DELETE FROM dprelease_separate"); err != nil {
			t.Fatal(err)
		}
		if v, err := l.Verify(background, nil); err != nil || !strings.Contains(joined(v.Findings()), "separate accounts") {
			t.Errorf("verify: %v, %v", v.Findings(), err)
		}
		if _, err := rawDB(t, at).Exec("DELETE FROM dprelease_columns"); err != nil {
			t.Fatal(err)
		}
		if v, err := l.Verify(background, nil); err != nil || !strings.Contains(joined(v.Findings()), "tables: columns") {
			t.Errorf("verify without the columns: %v, %v", v.Findings(), err)
		}
		q = request("fourth", 0.125)
		q.Account.Dataset, q.Columns = "third", []Column{column("x", "")}
		if _, err := l.Debit(background, q); codeOf(err) != CodeTampered {
			t.Errorf("the columns are gone, and a third account asks: %v", err)
		}
		q = request("third", 0.125)
		q.Account, q.Columns, q.Content = other, []Column{column("x", "dx")}, "third"
		if _, err := l.Debit(background, q); codeOf(err) != CodeTampered {
			t.Errorf("a permission that is gone: %v", err)
		}
	})
}
