package ledger

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/postgrestest"
	"github.com/dprelease/dprelease/internal/testkit/testdir"
)

// pieces counts the pieces of a text of 8 bytes that stand in some file below a folder whose path
// holds in.
func pieces(t *testing.T, folder, in, text string) (n int) {
	t.Helper()
	var all [][]byte
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(path, in) {
			return nil // the server removes files meanwhile
		}
		b, err := os.ReadFile(path)
		all = append(all, b)
		if os.IsNotExist(err) {
			err = nil
		}
		return err
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("%d files, %v", len(all), err)
	}
	for i := 0; i+8 <= len(text); i += 8 {
		for _, b := range all {
			if bytes.Contains(b, []byte(text[i:i+8])) {
				n++
				break
			}
		}
	}
	return n
}

// twoPanels releases a wave of the panels a and b, and returns the key of each.
func twoPanels(t *testing.T, l *Ledger, at string) (a, b string) {
	t.Helper()
	for _, name := range []string{"a", "b"} {
		debit(t, l, drawnWave(name, name, 1, 1))
	}
	for name, own := range map[string]*string{"a": &a, "b": &b} {
		id := PanelID(drawnWave("x", name, 1, 1).Account, name, true)
		if err := rawDB(t, at).QueryRow("SELECT own FROM dprelease_keys WHERE node = '" + id + "'").Scan(own); err != nil || len(*own) != 64 {
			t.Fatalf("%d digits, %v", len(*own), err)
		}
	}
	return a, b
}

// After a panel is closed no file of a SQLite ledger holds a piece of its key, its log included,
// while others have the ledger open. Where one of them reads, the log cannot be emptied: that is said.
func TestClosedPanelLeavesNoKeyInSQLite(t *testing.T) {
	dir := testdir.New(t)
	at := "sqlite:" + dir + "/l.db"
	l := open(t, at)
	a, b := twoPanels(t, l, at)
	if n := pieces(t, dir, "l.db", a); n != 8 {
		t.Fatalf("%d of 8 pieces are there before: the test shows nothing", n)
	}
	reader := rawDB(t, at)
	reading, err := reader.Begin()
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := reading.QueryRow("SELECT COUNT(*) FROM dprelease_keys").Scan(&n); err != nil || n != 2 {
		t.Fatal(n, err)
	}
	hurried := open(t, at, func(o *Options) { o.LockWait = 1 })
	account := drawnWave("x", "a", 1, 1).Account
	if _, err := hurried.ClosePanel(background, account, "a", "over"); codeOf(err) != CodeLocked || !strings.Contains(err.Error(), "still holds the key") {
		t.Errorf("closed while somebody reads: %v", err)
	}
	if n := pieces(t, dir, "l.db", a); n != 8 {
		t.Errorf("%d of 8 pieces while somebody reads", n)
	}
	reading.Rollback()
	if _, err := hurried.ClosePanel(background, account, "a", "over"); err != nil {
		t.Fatal(err)
	}
	if n, other := pieces(t, dir, "l.db", a), pieces(t, dir, "l.db", b); n != 0 || other != 8 {
		t.Errorf("%d of 8 pieces are left, and %d of the other panel's", n, other)
	}
	debit(t, l, seen(1, drawnWave("b2", "b", 2, 1)))
	verified(t, l)
}

// After a panel is closed no table of PostgreSQL holds a piece of its key, without any vacuum. Its
// log does, as the command says, until the server removes the segments: that is how docs/ledger.md
// has it done.
func TestClosedPanelLeavesNoKeyInPostgres(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server of its own")
	}
	srv, err := postgrestest.Start()
	if err != nil {
		t.Skip(err)
	}
	defer srv.Remove()
	at := srv.URL("public")
	l := open(t, at)
	a, b := twoPanels(t, l, at)
	flush := func() {
		t.Helper()
		if err := srv.Exec("CHECKPOINT"); err != nil {
			t.Fatal(err)
		}
	}
	flush()
	if n := pieces(t, srv.Data(), "/base/", a); n != 8 {
		t.Fatalf("%d of 8 pieces are there before: the test shows nothing", n)
	}
	kept, err := l.ClosePanel(background, drawnWave("x", "a", 1, 1).Account, "a", "over")
	if err != nil || !strings.Contains(kept, "log") {
		t.Fatal(kept, err)
	}
	flush()
	if n, other := pieces(t, srv.Data(), "/base/", a), pieces(t, srv.Data(), "/base/", b); n != 0 || other != 8 {
		t.Errorf("%d of 8 pieces are left in tables, and %d of the other panel's", n, other)
	}
	if n := pieces(t, srv.Data(), "/pg_wal/", a); n != 8 {
		t.Errorf("%d of 8 pieces are in the log: say less in docs/ledger.md", n)
	}
	if err := srv.Exec("ALTER SYSTEM SET wal_recycle = off", "SELECT pg_reload_conf(), pg_sleep(1)", "SELECT pg_switch_wal()", "CHECKPOINT"); err != nil {
		t.Fatal(err)
	}
	if n := pieces(t, srv.Data(), "", a); n != 0 {
		t.Errorf("%d of 8 pieces are left", n)
	}
	debit(t, l, seen(1, drawnWave("b2", "b", 2, 1)))
	verified(t, l)
}
