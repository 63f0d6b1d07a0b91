package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/testkit/testdir"
	"github.com/dprelease/dprelease/privacy"
)

// released makes a ledger with three releases and returns what stands on disk.
func released(t *testing.T, l *Ledger, plans ...string) (seen []Seen) {
	t.Helper()
	for _, p := range plans {
		k := debit(t, l, request(p, 0.125))
		if err := l.Seal(background, k, "c", someFiles); err != nil {
			t.Fatal(err)
		}
		if err := l.Publish(background, k.Release); err != nil {
			t.Fatal(err)
		}
		s := Seen{Where: "out/" + p, Mark: Mark{k.Ledger, k.Seq, k.Head}}
		for _, f := range someFiles {
			s.Files = append(s.Files, Sum{f.Path, digestOf(f.Data)})
		}
		seen = append(seen, s)
	}
	return seen
}

// Every way in which a ledger or a release can be tampered with is found, and
// nothing is found where nothing was.
func TestVerifyFinds(t *testing.T) {
	statements := func(all ...string) func(t *testing.T, at string, seen []Seen) []Seen {
		return func(t *testing.T, at string, seen []Seen) []Seen {
			db := rawDB(t, at)
			for _, s := range all {
				if _, err := db.Exec(s); err != nil {
					t.Fatal(err)
				}
			}
			return seen
		}
	}
	onDisk := func(f func(s *Seen)) func(t *testing.T, at string, seen []Seen) []Seen {
		return func(_ *testing.T, _ string, seen []Seen) []Seen { f(&seen[1]); return seen }
	}
	for _, c := range []struct {
		name, code string
		tamper     func(t *testing.T, at string, seen []Seen) []Seen
	}{
		{"nothing", "", onDisk(func(*Seen) {})},
		{"a cost is lowered", FoundChain, statements(`UPDATE dprelease_records SET body = REPLACE(body, '"cost":["1/8"', '"cost":["1/9"') WHERE kind = 'debit'`)},
		{"a record is taken out", FoundChain, statements("DELETE FROM dprelease_records WHERE seq = 5")},
		{"the end is cut off", FoundTables, statements("DELETE FROM dprelease_records WHERE seq > 8")},
		{"the end is cut off with the head", FoundTables, statements("DELETE FROM dprelease_records WHERE seq > 8", "UPDATE dprelease_head SET seq = 8, hash = (SELECT hash FROM dprelease_records WHERE seq = 8)")},
		{"the end is cut off everywhere", FoundRolledBack, statements("DELETE FROM dprelease_records WHERE seq > 8", "DELETE FROM dprelease_releases WHERE id > 8",
			restated("accounts", `"debits":2,"spent":["1/4","0"]`), "UPDATE dprelease_head SET seq = 8, hash = (SELECT hash FROM dprelease_records WHERE seq = 8)")},
		{"a spend is lowered", FoundTables, statements(restated("accounts", `"spent":["0","0"]`))},
		{"a limit is raised without a record", FoundTables, statements(restated("accounts", `"limit":{"epsilon":"100","delta":"0"}`))},
		{"a release is put in", FoundTables, statements("INSERT INTO dprelease_releases (id, account, slice, plan, state, holder, token, lease_until) VALUES (999, 2, '', 'x', 'sealed', '', 1, 0)")},
		{"a state is changed", FoundTables, statements("UPDATE dprelease_releases SET state = 'abandoned' WHERE id = 3")},
		{"stored bytes are changed", FoundStored, statements("UPDATE dprelease_archives SET archive = (SELECT archive FROM dprelease_archives WHERE release = 3) WHERE release = 6",
			"DELETE FROM dprelease_archives WHERE release = 9")},
		{"bytes are put in", FoundTables, statements("INSERT INTO dprelease_archives SELECT 999, archive FROM dprelease_archives WHERE release = 3")},
		{"a failure is put in", FoundTables, statements(`INSERT INTO dprelease_failures VALUES (999, '', '{"exit":3,"code":"X","message":""}')`)},
		{"a failure of what was published", FoundTables, statements(`INSERT INTO dprelease_failures VALUES (3, '', '{"exit":3,"code":"X","message":""}')`)},
		{"a folder is to be removed", FoundTables, statements("INSERT INTO dprelease_leftovers VALUES (999, 2, 'host', '/home')")},
		{"a folder of what was published is to be removed", FoundTables, statements("INSERT INTO dprelease_leftovers VALUES (3, 2, 'host', '/home')")},
		{"a file is changed", FoundAltered, onDisk(func(s *Seen) { s.Files[0].SHA256 = digestOf([]byte("other")) })},
		{"a file is gone", FoundAltered, onDisk(func(s *Seen) { s.Files = s.Files[1:] })},
		{"a release of another ledger", FoundUndebited, onDisk(func(s *Seen) { s.Ledger = strings.Repeat("0", 32) })},
		{"a release without a ledger", FoundUndebited, onDisk(func(s *Seen) { s.Mark = Mark{} })},
		{"a release of a copy", FoundForked, onDisk(func(s *Seen) { s.Head = strings.Repeat("0", 64) })},
		{"a release on no debit", FoundUndebited, onDisk(func(s *Seen) { s.Seq = 2; s.Head = "" })},
	} {
		t.Run(c.name, func(t *testing.T) {
			onOne(t, func(t *testing.T, at string) {
				l := open(t, at)
				seen := released(t, l, "p", "q", "r")
				if c.name == "a release on no debit" {
					l.Records(background, func(r Record) error {
						if r.Seq == 2 {
							seen[1].Head = r.Hash
						}
						return nil
					})
					seen[1].Seq = 2
				} else {
					l.Close()
					seen = c.tamper(t, at, seen)
				}
				l = open(t, at)
				v, err := l.Verify(background, seen)
				if err != nil {
					t.Fatal(err)
				}
				found := joined(v.Findings())
				if c.code == "" && found != "" || c.code != "" && !strings.Contains(found, c.code+":") {
					t.Errorf("found %q, want %q", found, c.code)
				}
			})
		})
	}
}

// A ledger that saw a newer release says so in its chain: nobody takes that back, and nobody
// claims it, by a row.
func TestRefusalIsInTheChain(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		released(t, l, "p")
		change := func(statement string) {
			t.Helper()
			if _, err := rawDB(t, at).Exec(statement); err != nil {
				t.Fatal(err)
			}
		}
		found := func() string {
			v, err := l.Verify(background, nil)
			if err != nil {
				t.Fatal(err)
			}
			return joined(v.Findings())
		}
		change("UPDATE dprelease_head SET refused = 'me: an old copy'")
		if _, err := l.Debit(background, request("q", 0.125)); codeOf(err) != CodeTampered || !strings.Contains(found(), "no record says") {
			t.Errorf("a refusal that somebody wrote: %v, %s", err, found())
		}
		change("UPDATE dprelease_head SET refused = ''")
		refused := func(lift bool, reason, code string) {
			t.Helper()
			if _, err := l.Refuse(background, lift, reason); codeOf(err) != code {
				t.Errorf("refused, or lifted: %v", err)
			}
		}
		refused(true, "why", CodeRefused)
		refused(false, " ", CodeLimit)
		refused(false, "an old copy", "")
		refused(false, "twice", CodeRefused)
		verified(t, l)
		if _, err := l.Debit(background, request("q", 0.125)); codeOf(err) != CodeRefused || !strings.Contains(err.Error(), "me: an old copy") {
			t.Errorf("an old copy: %v", err)
		}
		if _, err := l.Charge(background, people, Elsewhere{Costs: costs("1/8", ""), Reason: "why"}); codeOf(err) != CodeRefused {
			t.Errorf("a charge to an old copy: %v", err)
		}
		change("UPDATE dprelease_head SET refused = ''")
		if _, err := l.Debit(background, request("q", 0.125)); codeOf(err) != CodeTampered || !strings.Contains(found(), "leaves it out") {
			t.Errorf("a refusal that was taken back: %v, %s", err, found())
		}
		change("UPDATE dprelease_head SET refused = 'me: an old copy'")
		refused(true, "it was the newest", "")
		verified(t, l)
		debit(t, l, request("q", 0.125))
		change("UPDATE dprelease_head SET refused = 'me: an old copy'")
		if _, err := l.Debit(background, request("r", 0.125)); codeOf(err) != CodeTampered {
			t.Errorf("a refusal that is put back after it was lifted: %v", err)
		}
	})
}

// A report that somebody wrote by hand, or one that is newer than the ledger, refuses the runs that see
// it, many at once too. It writes nothing: without it, the ledger is used as before.
func TestManyFindAnOldCopy(t *testing.T) {
	for range 6 {
		onBoth(t, func(t *testing.T, at string) {
			l := open(t, at)
			released(t, l, "p")
			next := Seen{Where: "out", Mark: Mark{Ledger: l.ID(), Head: "x"}}
			if err := rawDB(t, at).QueryRow("SELECT max(seq) + 1 FROM dprelease_records").Scan(&next.Seq); err != nil {
				t.Fatal(err)
			}
			var all sync.WaitGroup
			for range 8 {
				l := open(t, at)
				all.Go(func() {
					if err := l.Witness(background, next); codeOf(err) != CodeRolledBack {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if err := l.Witness(background, Seen{Where: "out", Mark: Mark{Ledger: l.ID(), Seq: 999999, Head: "x"}}); codeOf(err) != CodeRolledBack {
				t.Error(err)
			}
			if c, err := l.Clock(background); err != nil || c.Record != next.Seq-1 {
				t.Errorf("the ledger ends at record %d, %v", c.Record, err)
			}
			debit(t, l, request("q", 0.125))
			verified(t, l)
		})
	}
}

// A ledger that was copied and written to in two places is found from either.
func TestVerifyFindsCopies(t *testing.T) {
	at := "sqlite:" + filepath.Join(testdir.New(t), "ledger.db")
	l := open(t, at)
	seen := released(t, l, "p")
	b := save(t, at)
	seen = append(seen, released(t, l, "q")...)
	other := open(t, "sqlite:"+b.copy)
	time.Sleep(time.Millisecond)
	more := released(t, other, "r")
	for _, led := range []*Ledger{l, other} {
		v, err := led.Verify(background, append(append([]Seen{}, seen...), more...))
		if err != nil || !strings.Contains(joined(v.Findings()), FoundForked) {
			t.Errorf("found %v, %v", v.Findings(), err)
		}
	}
	for range 2 {
		if err := other.Witness(background, seen[1]); codeOf(err) != CodeRolledBack {
			t.Errorf("the copy: %v", err)
		}
	}
}

// An exported chain is checked without its ledger, and every change of a byte of
// it is found.
func TestExportedChain(t *testing.T) {
	l := open(t, "sqlite:"+filepath.Join(testdir.New(t), "ledger.db"))
	seen := released(t, l, "p", "q")
	if _, err := l.SetLimit(background, people, change(limit("5", "1/1000"), true, "why")); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	if err := l.Records(background, func(r Record) error { return e.Encode(r) }); err != nil {
		t.Fatal(err)
	}
	v, err := ReadChain(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	v.Compare(seen)
	if len(v.Findings()) > 0 || v.Head().Ledger != l.ID() {
		t.Fatalf("%v", v.Findings())
	}
	for i := range b.Bytes() {
		changed := bytes.Clone(b.Bytes())
		if changed[i] == '\n' {
			continue
		}
		changed[i] ^= 1
		v, err := ReadChain(bytes.NewReader(changed))
		if err == nil && len(v.Findings()) == 0 {
			t.Fatalf("byte %d makes no difference: %q", i, changed[max(0, i-20):i+20])
		}
	}
}

func FuzzReadChain(f *testing.F) {
	l := open(f, "sqlite:"+filepath.Join(f.TempDir(), "ledger.db"))
	debit(f, l, request("p", 0.5))
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	if err := l.Records(background, func(r Record) error { return e.Encode(r) }); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(`{"seq":1,"kind":"debit","body":"{}","prev":"","hash":""}`))
	f.Add([]byte(`{"seq":-5,"kind":"account","body":"{\"filter\":\"rdp\",\"orders\":[1e308]}"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := ReadChain(bytes.NewReader(b)); err == nil {
			v.Compare([]Seen{{Mark: Mark{v.Head().Ledger, v.Head().Seq, v.Head().Head}}})
		}
	})
}

// Read-only folders and files: a fixed error, and nothing is written.
func TestReadOnly(t *testing.T) {
	dir := testdir.New(t)
	at := "sqlite:" + filepath.Join(dir, "ledger.db")
	l := open(t, at)
	released(t, l, "p")
	l.Close()
	l = open(t, at)
	if _, err := l.conn.ExecContext(background, "PRAGMA query_only = ON"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Debit(background, request("q", 0.1)); codeOf(err) != CodeReadOnly {
		t.Errorf("a debit on a read-only ledger: %v", err)
	}
	if _, err := l.Debit(background, request("q", 0.1)); codeOf(err) != CodeBroken {
		t.Errorf("and again: %v", err)
	}
	before, err := os.ReadFile(filepath.Join(dir, "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	shown, err := Open(background, address(t, at), Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer shown.Close()
	if all, err := shown.Accounts(background); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
	after, _ := os.ReadFile(filepath.Join(dir, "ledger.db"))
	if !bytes.Equal(before, after) {
		t.Error("reading changed the file")
	}
}

func ExampleAccount_Admit() {
	a := &Account{Key: people, Opening: Opening{Filter: Basic, Limit: limit("3", "1/1000000")}}
	a.Spent = append(a.Spent, limit("5/2", "0").Epsilon, limit("0", "0").Epsilon)
	fmt.Println(a.Admit(privacy.Cost{limit("1", "0").Epsilon, limit("0", "0").Epsilon}, nil, nil))
	// Output: BUDGET_EXCEEDED: the account of data set people (row, replace-one) allows ε 3, δ 0.000001: the job needs ε 1 and 0.5 is left, 0.5 too little; a job that costs at most 0.5 times as much would fit, for example this one with all its guarantees multiplied by that
}

// How a run failed, and the folder that a killed one left, are no finding until somebody changes them.
func TestVerifySeesWhatIsBesideTheChain(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		l := open(t, at)
		q := request("p", 0.125)
		q.Host, q.Folder = "host", "/out/.new"
		debit(t, l, q)
		if err := l.End(background, debit(t, l, request("q", 0.125)), &Failure{Exit: 3, Code: "SOURCE_CHANGED", Message: "a < b"}); err != nil {
			t.Fatal(err)
		}
		verified(t, l)
		for statement, back := range map[string]string{
			"UPDATE dprelease_failures SET failure = '{}'":                  `UPDATE dprelease_failures SET failure = '{"exit":3,"code":"SOURCE_CHANGED","message":"a < b"}'`,
			"UPDATE dprelease_leftovers SET account = account + 1":          "UPDATE dprelease_leftovers SET account = account - 1",
			"UPDATE dprelease_leftovers SET release = release + 100":        "UPDATE dprelease_leftovers SET release = release - 100",
			"UPDATE dprelease_failures SET release = release + 100":         "UPDATE dprelease_failures SET release = release - 100",
			`UPDATE dprelease_failures SET failure = failure || ' '`:        `UPDATE dprelease_failures SET failure = TRIM(failure)`,
			`UPDATE dprelease_failures SET failure = failure || '{"a": 1}'`: `UPDATE dprelease_failures SET failure = REPLACE(failure, '{"a": 1}', '')`,
		} {
			db := rawDB(t, at)
			if _, err := db.Exec(statement); err != nil {
				t.Fatal(err)
			}
			v, err := l.Verify(background, nil)
			if err != nil || !strings.Contains(joined(v.Findings()), FoundTables+":") {
				t.Errorf("%s: %v, %v", statement, v, err)
			}
			if _, err := db.Exec(back); err != nil {
				t.Fatal(err)
			}
			verified(t, l)
		}
	})
}
