package ledger

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func seedFor(t *testing.T, a Address) *Seed {
	t.Helper()
	s, err := NewSeed(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A ledger that was made in memory is, once it is placed, one as Open makes it: with
// a log, whole, for its owner alone, and with nothing beside it.
func TestSeed(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "new")
	a := sqliteAddress("l.db", dir)
	s := seedFor(t, a)
	if _, err := os.Stat(dir); err == nil {
		t.Fatal("a seed left something behind")
	}
	if err := s.Place(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v: %v", entries, err)
	}
	if info, err := os.Stat(a.sqlite); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v: %v", info.Mode(), err)
	}
	l, err := Open(ctx, a, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var mode, whole string
	if err := l.conn.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil || mode != "wal" {
		t.Errorf("journal mode %q: %v", mode, err)
	}
	if err := l.conn.QueryRowContext(ctx, "PRAGMA integrity_check").Scan(&whole); err != nil || whole != "ok" {
		t.Errorf("integrity %q: %v", whole, err)
	}
	v, err := l.Verify(ctx, nil)
	if err != nil || len(v.Findings()) > 0 {
		t.Errorf("%v: %v", v, err)
	}
	if other := seedFor(t, a); bytes.Equal(other.image, s.image) {
		t.Error("two ledgers are the same")
	}
}

// Whoever is first founds the ledger; nobody writes over it.
func TestSeedIsPlacedOnce(t *testing.T) {
	ctx := context.Background()
	a := sqliteAddress("l.db", t.TempDir())
	ids := make([]string, 8)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			if s, err := NewSeed(ctx, a); err != nil {
				t.Error(err)
			} else if err := s.Place(); err != nil {
				t.Error(err)
			}
			l, err := Open(ctx, a, Options{Create: true})
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = l.ID()
			l.Close()
		})
	}
	all.Wait()
	for _, id := range ids {
		if id == "" || id != ids[0] {
			t.Errorf("ledgers %v", ids)
		}
	}
}

// Where there is no place for a ledger, Open says why.
func TestSeedWithoutPlace(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := seedFor(t, sqliteAddress("l.db", file)).Place(); err == nil {
		t.Error("a ledger was placed inside a file")
	}
	if _, err := NewSeed(context.Background(), Address{postgres: "postgres://x/y"}); err == nil {
		t.Error("a seed for a server")
	}
}
