package ledger

import (
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/testdir"
)

// filled is a column of a slice with 10 rows, of a table with rows of them; digest is that of its values in the slice, ""
// while it is not known.
func filled(l *Ledger, name, digest string, rows int64) Column {
	c := Column{Name: name, Tag: l.Tag(name, rows), SliceTag: l.Tag(name, 10), SliceDigest: digest}
	if digest != "" {
		c.Digest = "stored " + digest
	}
	return c
}

// askSlice asks for a debit of a month whose columns are as given.
func askSlice(l *Ledger, plan, is string, columns ...Column) (Standing, error) {
	q := inMonth(plan, is, 0.125)
	q.Columns, q.Charges[0].Name = columns, plan
	if len(columns) > 0 && columns[0].Digest != "" {
		q.Content = plan
	}
	return asking(l, q)
}

// sealSlice charges a month for columns and seals its release.
func sealSlice(t *testing.T, l *Ledger, plan, is string, columns ...Column) {
	t.Helper()
	s, err := askSlice(l, plan, is, columns...)
	if err != nil || s.Ticket == nil {
		t.Fatalf("%s: %+v, %v", plan, s, err)
	}
	if err := l.Seal(background, s.Ticket, plan, someFiles); err != nil {
		t.Fatal(err)
	}
}

// The same rows under another slice value would have the limit of both slices (P26).
func TestSameRowsInAnotherSlice(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		sealSlice(t, l, "age", "2026-08", filled(l, "age", "a", 20))
		sealSlice(t, l, "sex", "2026-08", filled(l, "sex", "s", 20))
		sealSlice(t, l, "other rows", "2026-07", filled(l, "age", "other", 20), filled(l, "sex", "s7", 20))

		// The copied table has another length, and the month is rewritten.
		if s, err := askSlice(l, "copy", "2026-09", filled(l, "age", "", 10), filled(l, "sex", "", 10)); err != nil || !s.Compare {
			t.Fatalf("a slice with as many rows: %+v, %v", s, err)
		}
		_, err := askSlice(l, "copy", "2026-09", filled(l, "age", "a", 10), filled(l, "sex", "s", 10))
		if codeOf(err) != CodeSame {
			t.Fatalf("the same rows: %v", err)
		}
		for _, want := range []string{"month = 2026-09) was charged for the same rows under month = 2026-08", "each row would have the limit of both slices", "dprelease ledger separate --dataset people --relation replace-one --slices-by month --reason TEXT"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("says %q, want %q", err, want)
			}
		}
		if a, err := l.Account(background, month("2026-09")); err != nil || a.InSlice.Debits != 0 {
			t.Errorf("the refused slice has spent: %+v, %v", a, err)
		}
		// A column that identifies nothing makes no difference.
		flag := Column{Name: "flag", Tag: l.Tag("flag", 10), Digest: "f"}
		if _, err := askSlice(l, "copy with a flag", "2026-09", flag, filled(l, "age", "a", 10)); codeOf(err) != CodeSame {
			t.Errorf("with a column of one value: %v", err)
		}
		if s, err := askSlice(l, "flag", "2026-09", flag); err != nil || s.Ticket == nil {
			t.Errorf("such a column alone: %+v, %v", s, err)
		}
		// One column that differs shows other rows, also where each agrees with some slice.
		for _, sex := range []string{"s9", "s7"} {
			if s, err := askSlice(l, "rows with "+sex, "2026-09", filled(l, "age", "a", 10), filled(l, "sex", sex, 10)); err != nil || s.Ticket == nil {
				t.Errorf("other rows, sex %s: %+v, %v", sex, s, err)
			}
		}
		// The slice itself is read again, however its value is written; and so are equal values of another name.
		if s, err := askSlice(l, "again", "2026-08", filled(l, "age", "a", 20)); err != nil || s.Ticket == nil {
			t.Errorf("the same slice: %+v, %v", s, err)
		}
		if s, err := askSlice(l, "name", "2026-09", filled(l, "years", "a", 10)); err != nil || s.Ticket == nil {
			t.Errorf("a column of another name: %+v, %v", s, err)
		}
		verified(t, l)
		if err := l.Records(background, func(r Record) error {
			if strings.Contains(r.Body, "stored a") || strings.Contains(r.Body, l.Tag("age", 10)) {
				t.Errorf("record %d tells of a column: %s", r.Seq, r.Body)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
}

// Without the check of equal columns, each rewritten month would buy the same rows its own limit: a program that leaves
// out what the check compares spends three limits on them, and one that does not is stopped at the second.
func TestSkippedCheckBuysThreeLimits(t *testing.T) {
	for _, skips := range []bool{true, false} {
		l := open(t, "sqlite:"+testdir.New(t)+"/ledger.db")
		limits := 0
		for _, is := range []string{"2026-08", "2026-09", "2026-10"} {
			c := filled(l, "age", "a", 10)
			if skips {
				c.SliceTag, c.SliceDigest = "", ""
			}
			q := inMonth(is, is, 1)
			q.Columns, q.Content = []Column{c}, "rows of "+is
			s, err := asking(l, q)
			if codeOf(err) == CodeSame {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Seal(background, s.Ticket, q.Content, someFiles); err != nil {
				t.Fatal(err)
			}
			limits++
		}
		if want := map[bool]int{true: 3, false: 1}[skips]; limits != want {
			t.Errorf("skips the check: %v; the same rows have spent %d limits, want %d", skips, limits, want)
		}
	}
}

// One value has one slice, whoever writes it: a later spelling is no other slice.
func TestSameRowsUnderAnotherSpelling(t *testing.T) {
	l := open(t, "sqlite:"+testdir.New(t)+"/ledger.db")
	ask := func(plan, is string) (Standing, error) {
		q := inMonth(plan, is, 0.125)
		q.SliceKind, q.Columns, q.Content, q.Charges[0].Name = NumberSlices, []Column{filled(l, "age", "a", 10)}, plan, plan
		return asking(l, q)
	}
	s, err := ask("first", "1")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Seal(background, s.Ticket, "first", someFiles); err != nil {
		t.Fatal(err)
	}
	if s, err := ask("second", "1e0"); err != nil || s.Ticket == nil {
		t.Errorf("1e0: %+v, %v", s, err)
	}
	if _, err := ask("third", "2"); codeOf(err) != CodeSame {
		t.Errorf("2: %v", err)
	}
}

// Where the values are known only after the debit, as of a query, or where another run was faster, the seal refuses.
// A person can say that slices may be alike; the record is part of the chain.
func TestSlicesThatMayBeAlike(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		august, september := debit(t, l, inMonth("p8", "2026-08", 0.125)), debit(t, l, inMonth("p9", "2026-09", 0.125))
		august.Columns = []Column{filled(l, "age", "a", 10)}
		september.Columns = august.Columns
		if err := l.Seal(background, august, "8", someFiles); err != nil {
			t.Fatal(err)
		}
		if err := l.Seal(background, september, "9", someFiles); codeOf(err) != CodeSame {
			t.Fatalf("at the seal: %v", err)
		}
		if err := l.SeparateSlices(background, month(""), " "); codeOf(err) != CodeLimit {
			t.Errorf("without a reason: %v", err)
		}
		if err := l.SeparateSlices(background, people, "why"); codeOf(err) != CodeSame {
			t.Errorf("an account without slices: %v", err)
		}
		p := slicesOf(month(""))
		raw := rawDB(t, at)
		if _, err := raw.Exec(address(t, at).dialect().bind("INSERT INTO dprelease_separate (one, other) VALUES (?, ?)"), p[0], p[1]); err != nil {
			t.Fatal(err)
		}
		if err := l.Seal(background, september, "9", someFiles); codeOf(err) != CodeTampered {
			t.Errorf("a forged permission: %v", err)
		}
		if _, err := raw.Exec("DELETE FROM dprelease_separate"); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := l.SeparateSlices(background, month("2026-08"), "the same people answer every month"); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Seal(background, september, "9", someFiles); err != nil {
			t.Errorf("when it is meant: %v", err)
		}
		sealSlice(t, l, "p10", "2026-10", filled(l, "age", "a", 10))
		// It is a word on this account, and on no pair of accounts.
		if err := l.Separate(background, month("1"), month("2"), "why"); codeOf(err) != CodeSame {
			t.Errorf("one account named twice: %v", err)
		}
		verified(t, l)
		if _, err := raw.Exec("DELETE FROM dprelease_separate"); err != nil {
			t.Fatal(err)
		}
		if v, err := l.Verify(background, nil); err != nil || !strings.Contains(joined(v.Findings()), "separate accounts") {
			t.Errorf("verify without the permission: %v, %v", v.Findings(), err)
		}
	})
}

// Who empties or edits the list of columns does not get a second limit: the next debit is refused, and verify finds it.
func TestColumnsOfSlicesTrustTheChain(t *testing.T) {
	for name, statement := range map[string]string{
		"the list is gone":       "DELETE FROM dprelease_columns",
		"the list is empty":      "UPDATE dprelease_columns SET charged = '[]'",
		"of another slice":       `UPDATE dprelease_columns SET charged = REPLACE(charged, '2026-08', '2026-09')`,
		"of other values":        `UPDATE dprelease_columns SET charged = REPLACE(charged, '"slice_digest":"a"', '"slice_digest":"b"')`,
		"of another list's name": "UPDATE dprelease_columns SET name = 'x'",
	} {
		t.Run(name, func(t *testing.T) {
			onOne(t, func(t *testing.T, at string) {
				l := open(t, at)
				sealSlice(t, l, "august", "2026-08", filled(l, "age", "a", 10))
				if _, err := rawDB(t, at).Exec(statement); err != nil {
					t.Fatal(err)
				}
				if _, err := askSlice(l, "copy", "2026-09", filled(l, "age", "a", 10)); codeOf(err) != CodeTampered {
					t.Errorf("the same rows in another slice: %v", err)
				}
				if v, err := open(t, at).Verify(background, nil); err != nil || !strings.Contains(joined(v.Findings()), "tables: columns") {
					t.Errorf("verify: %v, %v", v.Findings(), err)
				}
			})
		})
	}
}
