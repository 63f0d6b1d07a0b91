package ledger

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/postgrestest"
	"github.com/dprelease/dprelease/internal/testdir"
	"github.com/dprelease/dprelease/privacy"
)

// past are the versions of the tables before this one; testdata has a ledger of each, on
// each database, that the program of that version wrote.
var past = []string{"v1", "v2", "v3"}

func fixture(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// onPast runs a test on a ledger of every past version, on SQLite or on both databases.
func onPast(t *testing.T, databases int, f func(t *testing.T, name, at string)) {
	for _, v := range past {
		t.Run(v+"/sqlite", func(t *testing.T) {
			path := filepath.Join(testdir.New(t), "ledger.db")
			if err := os.WriteFile(path, fixture(t, v+"-sqlite.db.gz"), 0o600); err != nil {
				t.Fatal(err)
			}
			f(t, v+"-sqlite", "sqlite:"+path)
		})
		if databases == 1 {
			continue
		}
		t.Run(v+"/postgres", func(t *testing.T) {
			at := postgrestest.New(t)
			db := rawDB(t, at)
			for _, s := range strings.Split(string(fixture(t, v+"-postgres.sql.gz")), ";\n") {
				if _, err := db.Exec(s); err != nil {
					t.Fatalf("%.80s: %v", s, err)
				}
			}
			f(t, v+"-postgres", at)
		})
	}
}

// Every past format is brought up to date: what was spent, limited, released, sampled and
// recorded stays, the chain says so, and what was released is found again.
func TestUpgradeOfEveryFormat(t *testing.T) {
	if len(past)+1 != len(schema) {
		t.Fatalf("testdata has %d past versions of the tables, there are %d", len(past), len(schema)-1)
	}
	onPast(t, 2, func(t *testing.T, name, at string) {
		var said struct {
			Ledger   string
			Accounts []struct {
				Dataset, Unit, Relation, Filter string
				Debits                          int64
				Spends                          []Spend
				Samples                         []struct{ ID string }
			}
		}
		b, err := os.ReadFile(filepath.Join("testdata", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &said); err != nil {
			t.Fatal(err)
		}
		before := map[string][]string{} // records, and what they must still be
		raw := rawDB(t, at)
		rows, err := raw.Query("SELECT hash, body FROM dprelease_records ORDER BY seq")
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var hash, body string
			if err := rows.Scan(&hash, &body); err != nil {
				t.Fatal(err)
			}
			before["hash"], before["body"] = append(before["hash"], hash), append(before["body"], body)
		}
		rows.Close()
		if _, err := Open(background, address(t, at), Options{ReadOnly: true}); codeOf(err) != CodeVersion {
			t.Fatalf("read only: %v", err)
		}
		l := open(t, at)
		verified(t, l)
		if l.ID() != said.Ledger {
			t.Errorf("ledger %s, was %s", l.ID(), said.Ledger)
		}
		n := 0
		var last Record
		err = l.Records(background, func(r Record) error {
			if n < len(before["hash"]) && (r.Hash != before["hash"][n] || r.Body != before["body"][n]) {
				t.Errorf("record %d was touched", r.Seq)
			}
			n, last = n+1, r
			return nil
		})
		if err != nil || n != len(before["hash"])+1 || last.Kind != kindUpgrade {
			t.Fatalf("%d records, the last is %s: %v", n, last.Kind, err)
		}
		var up upgradeBody
		if err := decode(last.Body, &up); err != nil || up.From != 1+indexOf(name) || up.To != len(schema) || len(up.After) != len(said.Accounts) || up.By != "me" {
			t.Errorf("the record of the upgrade: %s, %v", last.Body, err)
		}
		accounts, err := l.Accounts(background)
		if err != nil || len(accounts) != len(said.Accounts) {
			t.Fatalf("%v, %v", accounts, err)
		}
		for i, a := range accounts {
			w := said.Accounts[i]
			for k := range w.Spends {
				w.Spends[k].Charges, w.Spends[k].By = nil, "" // v1 and v2 said neither
			}
			if a.Dataset != w.Dataset || a.Unit != w.Unit || a.Relation.String() != w.Relation || a.Filter != w.Filter || a.Debits != w.Debits {
				t.Errorf("account %+v, was %+v", a, w)
			}
			spends, err := l.Spends(background, a.ID)
			if err != nil {
				t.Fatal(err)
			}
			sum := make(privacy.Cost, len(a.Spent))
			for j := range sum {
				sum[j] = new(big.Rat)
			}
			for k := range spends {
				spends[k].Charges, spends[k].By = nil, ""
				cost, err := parseRats(spends[k].Cost)
				if err != nil {
					t.Fatal(err)
				}
				for j := range cost {
					sum[j].Add(sum[j], cost[j])
				}
				// What was released is found again by the same plan and content.
				if s := spends[k]; s.State == Published {
					r, files := found(t, l, s.Release)
					if r.ID != s.Release || len(files) == 0 {
						t.Errorf("release %d: found %+v", s.Release, r)
					}
				}
			}
			if len(spends)+len(w.Spends) > 0 && !reflect.DeepEqual(spends, w.Spends) {
				t.Errorf("spends %+v, were %+v", spends, w.Spends)
			}
			for j := range sum {
				if sum[j].Cmp(a.Spent[j]) != 0 {
					t.Errorf("%s: spent %s, the debits are %s", a.Key, a.Spent[j], sum[j])
				}
			}
			samples, err := l.Samples(background, a.ID)
			if err != nil || len(samples) != len(w.Samples) {
				t.Errorf("samples %v, %v", samples, err)
			}
			for _, s := range samples {
				if s.Ready && !s.Collected() {
					if rows, err := l.Rows(background, s.ID); err != nil || len(rows) == 0 {
						t.Errorf("rows of sample %s: %v", s.ID, err)
					}
				}
			}
		}
		// It goes on: a debit, a limit, and the same again from another handle.
		q := request("new", 0.125)
		q.Account = accounts[0].Key
		q.Account.Dataset = "new"
		q.Content = "c" // a ledger of an earlier version asks what a new account's data are
		k := debit(t, l, q)
		if err := l.Seal(background, k, "c", someFiles); err != nil {
			t.Fatal(err)
		}
		l.Close()
		other := open(t, at)
		if s, err := other.Debit(background, q); err != nil || s.Found == nil {
			t.Errorf("%+v, %v", s, err)
		}
		verified(t, other)
		var b2 bytes.Buffer
		e := json.NewEncoder(&b2)
		if err := other.Records(background, func(r Record) error { return e.Encode(r) }); err != nil {
			t.Fatal(err)
		}
		if v, err := ReadChain(&b2); err != nil || len(v.Findings()) > 0 {
			t.Errorf("the exported chain: %v, %v", v.Findings(), err)
		}
		withSchema(t, schema[:len(schema)-1], func() {
			if _, err := Open(background, address(t, at), Options{}); codeOf(err) != CodeVersion {
				t.Errorf("an older program: %v", err)
			}
		})
	})
}

// indexOf is the version of a fixture's tables, less that of the oldest one.
func indexOf(name string) int {
	for i, v := range past {
		if strings.HasPrefix(name, v+"-") {
			return i
		}
	}
	return -1
}

func found(t *testing.T, l *Ledger, id int64) (*Release, []File) {
	t.Helper()
	var r *Release
	if err := l.read(background, func(t *tx) (err error) { r, err = t.release(id); return err }); err != nil || r == nil {
		t.Fatalf("release %d: %+v, %v", id, r, err)
	}
	s, err := l.Look(background, r.Plan, r.Content)
	if err != nil || s.Found == nil {
		t.Fatalf("release %d: %+v, %v", id, s, err)
	}
	files, err := l.Output(background, s.Found.ID)
	if err != nil {
		t.Fatal(err)
	}
	return s.Found, files
}

// Tables that do not follow from their chain are not brought up to date, and nothing of
// them is changed.
func TestUpgradeRefusesTampering(t *testing.T) {
	databases := 2
	if testing.Short() {
		databases = 1
	}
	for what, statement := range map[string]string{
		"spent":   `UPDATE dprelease_accounts SET spent = '["0","0"]' WHERE filter = 'basic'`,
		"a limit": "UPDATE dprelease_accounts SET limit_epsilon = '100'",
		"stored bytes, which say what neighbours keep": "UPDATE dprelease_releases SET archive = NULL",
		"a record":  "DELETE FROM dprelease_records WHERE seq = 5",
		"a release": "DELETE FROM dprelease_releases WHERE id = (SELECT MIN(id) FROM dprelease_releases)",
	} {
		t.Run(what, func(t *testing.T) {
			onPast(t, databases, func(t *testing.T, name, at string) {
				raw := rawDB(t, at)
				if _, err := raw.Exec(statement); err != nil {
					t.Fatal(err)
				}
				if strings.HasPrefix(name, "v3-") && strings.HasPrefix(what, "stored bytes") {
					open(t, at) // the chain says what neighbours keep, and nothing is read from the bytes
					return
				}
				_, err := Open(background, address(t, at), Options{})
				if codeOf(err) != CodeTampered || !strings.Contains(err.Error(), "cannot be brought up to date") {
					t.Fatalf("%v", err)
				}
				var version int
				if err := raw.QueryRow("SELECT version FROM dprelease_version").Scan(&version); err != nil || version == len(schema) {
					t.Errorf("version %d, %v", version, err)
				}
			})
		})
	}
}

// A run of an older program that is at work keeps the tables as they are; when it has
// ended they are brought up to date. A program that opened them before writes no more.
func TestUpgradeWaitsForRuns(t *testing.T) {
	onPast(t, 2, func(t *testing.T, _, at string) {
		raw := rawDB(t, at)
		do := func(statement string, args ...any) {
			t.Helper()
			if _, err := raw.Exec(address(t, at).dialect().bind(statement), args...); err != nil {
				t.Fatal(err)
			}
		}
		do("UPDATE dprelease_releases SET lease_until = ?, holder = '' WHERE state = 'debited'", time.Now().Add(time.Hour).UnixMicro())
		if _, err := Open(background, address(t, at), Options{}); codeOf(err) != CodeLocked || !strings.Contains(err.Error(), "run of that is at work") {
			t.Fatalf("while a run is at work: %v", err)
		}
		do("UPDATE dprelease_releases SET lease_until = 0 WHERE state = 'debited'")
		verified(t, open(t, at))
		// The first statement of every write of the older programs.
		for _, column := range []string{"content_key", "secret"} {
			if _, err := raw.Exec("SELECT ledger, " + column + ", seq, hash, at, refused FROM dprelease_head WHERE one = 1"); err == nil {
				t.Error("an older program that has the ledger open could go on writing")
			}
		}
	})
}
