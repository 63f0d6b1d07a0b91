package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/ledgercheck"
	"github.com/dprelease/dprelease/internal/testkit/postgrestest"
	"github.com/dprelease/dprelease/internal/testkit/testdir"
)

// fault fails one step of a database driver.
type fault struct {
	n     int   // which step, from 1; 0 for none
	err   error // with what
	after bool  // after the step was carried out, as when an answer is lost
	steps int
}

// step carries out do, unless it is this step's turn to fail.
func (f *fault) step(do func() error) error {
	f.steps++
	if f.steps != f.n {
		return do()
	}
	if f.after {
		if err := do(); err != nil {
			return err
		}
	}
	return f.err
}

// faultConnector opens connections whose every step can fail.
type faultConnector struct {
	driver driver.Driver
	dsn    string
	fault  *fault
}

func (c faultConnector) Driver() driver.Driver { return c.driver }

func (c faultConnector) Connect(context.Context) (driver.Conn, error) {
	var conn driver.Conn
	err := c.fault.step(func() (err error) {
		conn, err = c.driver.Open(c.dsn)
		return err
	})
	if err != nil {
		if conn != nil {
			conn.Close()
		}
		return nil, err
	}
	return &faultConn{conn, c.fault}, nil
}

type faultConn struct {
	driver.Conn
	fault *fault
}

func (c *faultConn) ExecContext(ctx context.Context, q string, args []driver.NamedValue) (r driver.Result, err error) {
	err = c.fault.step(func() (err error) {
		r, err = c.Conn.(driver.ExecerContext).ExecContext(ctx, q, args)
		return err
	})
	return r, err
}

func (c *faultConn) QueryContext(ctx context.Context, q string, args []driver.NamedValue) (driver.Rows, error) {
	var rows driver.Rows
	err := c.fault.step(func() (err error) {
		rows, err = c.Conn.(driver.QueryerContext).QueryContext(ctx, q, args)
		return err
	})
	if err != nil {
		if rows != nil {
			rows.Close()
		}
		return nil, err
	}
	return &faultRows{rows, c.fault}, nil
}

func (c *faultConn) CheckNamedValue(v *driver.NamedValue) error {
	if k, ok := c.Conn.(driver.NamedValueChecker); ok {
		return k.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

type faultRows struct {
	driver.Rows
	fault *fault
}

func (r *faultRows) Next(to []driver.Value) error {
	return r.fault.step(func() error { return r.Rows.Next(to) })
}

// faulty makes a ledger's driver fail.
func faulty(f *fault) func(*Options) {
	return func(o *Options) {
		o.database = func(a Address) (*sql.DB, error) {
			db, err := sql.Open(a.dialect().driver, a.dsn())
			if err != nil {
				return nil, err
			}
			defer db.Close()
			return sql.OpenDB(faultConnector{db.Driver(), a.dsn(), f}), nil
		}
	}
}

// life is a whole run in this process; what becomes visible goes to show.
func life(at Address, f *fault, again bool, value string, show func(ledgercheck.Output)) (how string, err error) {
	o := Options{Create: true}
	if f != nil {
		faulty(f)(&o)
	}
	l, err := Open(background, at, o)
	if err != nil {
		return "", err
	}
	defer l.Close()
	defer func() {
		// An error that is not a refusal leaves a handle that does nothing more.
		var known *Error
		if err != nil && errors.As(err, &known) && !refusals[known.Code] {
			if _, again := l.Look(background, "p", ""); codeOf(again) != CodeBroken {
				err = fmt.Errorf("after %s the handle goes on: %v", known.Code, again)
			}
		}
	}()
	q := request("p", 0.25)
	q.Again = again
	s, err := asking(l, q)
	if err == nil && s.Compare {
		q.Content = "c"
		s, err = asking(l, q)
	}
	if err != nil {
		return "", err
	}
	var files []File
	id := int64(0)
	switch {
	case s.Found != nil:
		how, id = "found", s.Found.ID
		if files, err = l.Output(background, id); err != nil {
			return "", err
		}
	case s.Ticket != nil:
		how, id = "made", s.Ticket.Release
		mark := fmt.Sprintf("%d %s", s.Ticket.Seq, s.Ticket.Head)
		files = []File{{Path: "value", Data: []byte(value)}, {Path: "mark", Data: []byte(mark)}}
		if err := l.Seal(background, s.Ticket, "c", files); err != nil {
			return "", err
		}
	default:
		return "busy", nil
	}
	out := ledgercheck.Output{Plan: "p", Content: "c", Value: string(files[0].Data)}
	if _, err := fmt.Sscanf(string(files[1].Data), "%d %s", &out.Seq, &out.Head); err != nil {
		return "", err
	}
	show(out)
	return how, l.Publish(background, id)
}

var refusals = map[string]bool{CodeUnfinished: true, CodeExhausted: true, CodeLease: true, CodeLocked: true, CodeMissing: true}

// die makes the holder of every lease look dead: the process that ran it is this one.
func die(t testing.TB, at string) {
	t.Helper()
	db := rawDB(t, at)
	defer db.Close()
	if _, err := db.Exec("UPDATE dprelease_releases SET holder = '', lease_until = 0"); err != nil {
		t.Fatal(err)
	}
}

// Every step of the driver fails once, before and after it was carried out, and
// with a full disk; after each the books are right, nothing undebited is visible,
// and the next runs end with one output.
func TestEveryStepFails(t *testing.T) {
	onBoth(t, func(t *testing.T, at string) {
		fresh := copies(t, at)
		count := &fault{}
		if how, err := life(address(t, fresh()), count, false, "v", func(ledgercheck.Output) {}); err != nil || how != "made" {
			t.Fatalf("%s, %v", how, err)
		}
		if count.steps < 30 {
			t.Fatalf("only %d steps", count.steps)
		}
		kinds := []fault{{err: syscall.EIO}, {err: syscall.EIO, after: true}, {err: syscall.ENOSPC}, {err: driver.ErrBadConn, after: true}}
		if strings.HasPrefix(at, "postgres") {
			kinds = kinds[:2] // what an error says makes no difference there
		}
		if testing.Short() {
			kinds = kinds[1:2]
		}
		failed := 0
		for n := 1; n <= count.steps; n++ {
			for i, f := range kinds {
				if strings.HasPrefix(at, "postgres") && i != n%len(kinds) {
					continue // to the server it is the same whether one step ends badly or the next begins so
				}
				f.n = n
				at := fresh()
				var visible []ledgercheck.Output
				show := func(o ledgercheck.Output) { visible = append(visible, o) }
				_, err := life(address(t, at), &f, false, "first", show)
				if err != nil {
					failed++
					if code := codeOf(err); len(code) > 40 {
						t.Fatalf("step %d, %v: %v", n, f, err)
					}
				}
				if before, ok := tryRecovered(t, at); ok {
					for _, wrong := range ledgercheck.Check(before, visible, nil) {
						t.Fatalf("step %d, %v: %s", n, f, wrong)
					}
					die(t, at)
					how, err := life(address(t, at), nil, false, "second", show)
					if err != nil && codeOf(err) != CodeUnfinished {
						t.Fatalf("step %d, %v: then %v", n, f, err)
					}
					if how == "made" && len(before.Debits) > 1 { // one is of another plan
						t.Fatalf("step %d, %v: drawn again without being told to", n, f)
					}
					if _, err = life(address(t, at), nil, true, "third", show); err != nil {
						t.Fatalf("step %d, %v: at last %v", n, f, err)
					}
					if len(visible) == 0 {
						t.Fatalf("step %d, %v: no output", n, f)
					}
					for _, wrong := range ledgercheck.Check(recovered(t, at), visible, before.Spent) {
						t.Fatalf("step %d, %v: %s", n, f, wrong)
					}
				}
			}
		}
		t.Logf("%d steps, %d runs failed", count.steps, failed)
		if failed < count.steps/2 {
			t.Error("few runs failed: the test shows little")
		}
	})
}

// tryRecovered is recovered, where there is a ledger.
func tryRecovered(t testing.TB, at string) (ledgercheck.State, bool) {
	t.Helper()
	l, err := Open(background, address(t, at), Options{ReadOnly: true})
	if codeOf(err) == CodeMissing {
		return ledgercheck.State{Spent: new(big.Rat), Limit: new(big.Rat)}, true
	}
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	return recovered(t, at), true
}

// copies returns a maker of ledgers that are all the same: with one account.
func copies(t *testing.T, at string) func() string {
	t.Helper()
	l := open(t, at)
	debit(t, l, request("other", 0.125))
	l.Close()
	return copyOf(t, at)
}

// copyOf returns a maker of copies of a ledger that nobody has open.
func copyOf(t *testing.T, at string) func() string {
	t.Helper()
	if a := address(t, at); a.sqlite != "" {
		whole, err := os.ReadFile(a.sqlite)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		return func() string {
			n++
			path := filepath.Join(testdir.New(t), fmt.Sprintf("copy%d.db", n))
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			return "sqlite:" + path
		}
	}
	to := clone(t, at)
	// The same schema each time, filled anew: its tables cost more than their rows. The locks wait for what a lost
	// connection had begun.
	again := onTables("LOCK TABLE %[2]s.%[3]s;", at, to) + onTables("DELETE FROM %[2]s.%[3]s; INSERT INTO %[2]s.%[3]s SELECT * FROM %[1]s.%[3]s;", at, to)
	return func() string {
		onServer(t, again)
		return to
	}
}

// clone copies a schema of the server.
func clone(t testing.TB, at string) string {
	t.Helper()
	to := postgrestest.New(t)
	onServer(t, onTables("CREATE TABLE %[2]s.%[3]s (LIKE %[1]s.%[3]s INCLUDING ALL); INSERT INTO %[2]s.%[3]s SELECT * FROM %[1]s.%[3]s;", at, to))
	return to
}

// onTables fills in a statement for each table of a ledger: the schemas of two addresses, and the table.
func onTables(statement, from, to string) string {
	var all strings.Builder
	for _, table := range []string{"version", "head", "records", "accounts", "releases", "nodes", "tree", "archives", "failures", "columns", "separate", "leftovers", "slices", "keys"} {
		fmt.Fprintf(&all, statement, schemaOf(from), schemaOf(to), "dprelease_"+table)
	}
	return all.String()
}

// schemaOf is the schema that an address names.
func schemaOf(at string) string {
	_, name, _ := strings.Cut(at, "search_path=")
	return name
}

// The stored bytes are those that were sealed, whatever they are.
func TestArchive(t *testing.T) {
	for _, files := range [][]File{nil, someFiles, {{Path: "e", Mode: 0o644, Data: []byte{}}, {Path: "ü b", Mode: 0o600, Data: make([]byte, 70000)}}} {
		b, err := pack(files)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := pack(files)
		got, err := unpack(b)
		if err != nil || !reflect.DeepEqual(got, files) || string(again) != string(b) {
			t.Errorf("%v: %v, %v", files, got, err)
		}
	}
	for _, name := range []string{"", "..", "a/b", "/a", "."} {
		if _, err := pack([]File{{Path: name}}); err == nil {
			t.Errorf("%q was packed", name)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	b, _ := pack(someFiles)
	f.Add(b)
	f.Add(b[:700])
	f.Fuzz(func(t *testing.T, b []byte) {
		files, err := unpack(b)
		for _, x := range files {
			if err != nil || !plain(x.Path) || len(x.Data) > len(b) {
				t.Fatal("more than was there")
			}
		}
	})
}
