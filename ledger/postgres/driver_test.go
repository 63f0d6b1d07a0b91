package postgres_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dprelease/dprelease/internal/testkit/postgrestest"
	"github.com/dprelease/dprelease/ledger/postgres"
)

func open(t *testing.T) *sql.DB {
	t.Helper()
	s, err := postgrestest.Start()
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(s.Remove)
	db, err := sql.Open(postgres.Name, s.URL("public"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// TestValuesComeBack: what is stored is what is read, in every type that the ledger has; errors keep their codes, and a
// context that ends ends a statement.
func TestValuesComeBack(t *testing.T) {
	db := open(t)
	if _, err := db.Exec("create table v (n bigint, t text, b bytea, w timestamptz, y boolean); create index on v (n)"); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 26, 16, 5, 6, 789_000_000, time.UTC)
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	type row struct {
		n sql.NullInt64
		t sql.NullString
		b []byte
		w sql.NullTime
		y sql.NullBool
	}
	for i, want := range []row{
		{},
		{n: sql.NullInt64{Int64: math.MinInt64, Valid: true}, t: sql.NullString{Valid: true}, b: []byte{}, w: sql.NullTime{Time: at, Valid: true}, y: sql.NullBool{Valid: true}},
		{n: sql.NullInt64{Int64: 7, Valid: true}, t: sql.NullString{String: "$1 'quoted' \\ \"ü\"\n", Valid: true}, b: every, y: sql.NullBool{Bool: true, Valid: true}},
	} {
		if _, err := db.Exec("delete from v where n is not null or n is null"); err != nil {
			t.Fatal(err)
		}
		done, err := db.Exec("insert into v values ($1, $2, $3, $4, $5)", want.n, want.t, want.b, want.w, want.y)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := done.RowsAffected(); n != 1 || err != nil {
			t.Error(n, err)
		}
		var got row
		if err := db.QueryRow("select n, t, b, w, y from v").Scan(&got.n, &got.t, &got.b, &got.w, &got.y); err != nil {
			t.Fatal(err)
		}
		if got.n != want.n || got.t != want.t || !bytes.Equal(got.b, want.b) || (got.b == nil) != (want.b == nil) || !got.w.Time.Equal(want.w.Time) || got.w.Valid != want.w.Valid || got.y != want.y {
			t.Errorf("row %d: %+v, not %+v", i, got, want)
		}
	}
	var n int
	if err := db.QueryRow("select n from v where n = $1", 99).Scan(&n); !errors.Is(err, sql.ErrNoRows) {
		t.Error(err)
	}
	// Bytes may stand for a text, as they are.
	var text string
	if err := db.QueryRow("select $1::text", []byte("as it is")).Scan(&text); err != nil || text != "as it is" {
		t.Error(text, err)
	}
	var server *pgconn.PgError
	if _, err := db.Exec("insert into nothing values ($1)", 1); !errors.As(err, &server) || server.Code != "42P01" {
		t.Error(err)
	}
	if _, err := db.Query("select 1 / (n - n) from v"); !errors.As(err, &server) || server.Code != "22012" {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := db.ExecContext(ctx, "select pg_sleep(60)"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	rows, err := db.Query("select generate_series(1, 1000)")
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for rows.Next() {
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || sum != 500_500 {
		t.Error(sum, err)
	}
}
