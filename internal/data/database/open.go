package database

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/ledger/postgres"
)

// Source names the rows to read: Table, as name or schema.name, or the rows of Query.
type Source struct {
	Address      string
	Table, Query string
}

// Open reads the named columns of all rows, or all columns that can be read if none is named. If a named column is not
// there or cannot be used, it reads no row, and the columns of the table say why. memory bounds later scans.
func Open(ctx context.Context, s Source, columns []string, memory int64) (*table.Table, error) {
	return fetch(ctx, s, columns, memory, true)
}

// Describe opens the table without rows: its columns alone. It judges a query as Open does, and reads no value, so it may
// come before a debit (P33).
func Describe(ctx context.Context, s Source, columns []string) (*table.Table, error) {
	return fetch(ctx, s, columns, 0, false)
}

// fetch judges the source in a transaction, and reads its columns with all rows or with none.
func fetch(ctx context.Context, s Source, columns []string, memory int64, filled bool) (*table.Table, error) {
	c, _, err := postgres.Config(s.Address)
	if errors.Is(err, postgres.ErrPlain) {
		return nil, refused(ctx, err)
	} else if err != nil {
		return nil, &table.Error{Code: table.CodeUsage,
			Detail: "the address of the database, or a setting of PostgreSQL in the environment, cannot be read"}
	}
	var seen trees
	c.OnNotice = seen.notice // others are dropped: they may quote a row
	for key, value := range map[string]string{"application_name": "dprelease", "TimeZone": "UTC", "client_encoding": "UTF8",
		"DateStyle": "ISO", "IntervalStyle": "postgres", "extra_float_digits": "1"} {
		c.RuntimeParams[key] = value
	}
	conn, err := pgconn.ConnectConfig(ctx, c)
	if err != nil {
		return nil, refused(ctx, err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) // which ends the transaction
	tx := &session{conn}
	// A policy that hides rows is a condition on values. With this setting the server refuses to apply one.
	for _, statement := range []string{"begin isolation level repeatable read read only", "set local row_security = off"} {
		if err := tx.exec(ctx, statement); err != nil {
			return nil, refused(ctx, err)
		}
	}
	from := "(" + s.Query + "\n) as source"
	if s.Query != "" {
		if err = pure(ctx, tx, "select * from "+from, &seen); err == nil {
			err = judge(ctx, tx, s.Query)
		}
	} else {
		from, err = relation(ctx, tx, s.Table)
	}
	if err != nil {
		return nil, err
	}
	r := &reader{tx: tx, name: "table " + s.Table, from: from}
	if s.Query != "" {
		r.name = "the query"
	}
	if err := r.describe(ctx); err != nil {
		return nil, err
	}
	which, ok := r.wanted(columns)
	return r.table(ctx, which, filled && ok, memory)
}

// session is a connection in a transaction. Values are texts.
type session struct{ *pgconn.PgConn }

func (s *session) exec(ctx context.Context, statement string) error {
	_, err := s.Exec(ctx, statement).ReadAll()
	return err
}

var errNoRow = errors.New("no row")

// row returns the first row of a query, and errNoRow if there is none.
func (s *session) row(ctx context.Context, query string, args ...string) (row []string, err error) {
	var values [][]byte
	for _, a := range args {
		values = append(values, []byte(a))
	}
	result := s.ExecParams(ctx, query, values, nil, nil, nil).Read()
	switch {
	case result.Err != nil:
		return nil, result.Err
	case len(result.Rows) == 0:
		return nil, errNoRow
	}
	for _, b := range result.Rows[0] {
		row = append(row, string(b))
	}
	return row, nil
}

// quoted returns a name with dots between its parts as an identifier of SQL.
func quoted(parts ...string) string {
	for i, p := range parts {
		parts[i] = `"` + strings.ReplaceAll(strings.ReplaceAll(p, "\x00", ""), `"`, `""`) + `"`
	}
	return strings.Join(parts, ".")
}

// relation returns the quoted name of a table. A view is no table: its number of rows may depend on a condition.
func relation(ctx context.Context, tx *session, name string) (string, error) {
	from := quoted(strings.Split(name, ".")...)
	row, err := tx.row(ctx, "select relkind::text from pg_class where oid = $1::text::regclass", from)
	if err != nil {
		return "", refused(ctx, err)
	}
	if kind := row[0]; kind != "r" && kind != "p" {
		return "", &table.Error{Code: table.CodeUnsupported, File: "table " + name,
			Detail: "is a view, a materialized view or a foreign table, which may hide a condition: write query: select * from it, " +
				"and relation: add-remove"}
	}
	return from, readable(ctx, tx, name, from)
}

// readable refuses a table with a denied column and names the column, because the server names the table alone.
func readable(ctx context.Context, tx *session, name, quoted string) error {
	row, err := tx.row(ctx, `select count(*), count(*) filter (where not has_column_privilege(attrelid, attnum, 'SELECT')),
		coalesce(string_agg(attname::text, ', ' order by attnum) filter (where not has_column_privilege(attrelid, attnum, 'SELECT')), '')
		from pg_attribute where attrelid = $1::text::regclass and attnum > 0 and not attisdropped`, quoted)
	if err != nil {
		return refused(ctx, err)
	}
	switch all, denied := row[0], row[1]; {
	case denied == "0":
		return nil
	case denied == all:
		return &table.Error{Code: table.CodeDenied, File: "table " + name,
			Detail: "the user of the database may read none of its columns: grant select on the table"}
	}
	return &table.Error{Code: table.CodeDenied, File: "table " + name,
		Detail: "the user of the database may not read the columns " + row[2] + ": grant select on them, or name the others in source.query"}
}

// refused returns an error for a failure before the first row. It drops the server's text and keeps the class of the
// SQLSTATE, which is a fact of the schema.
func refused(ctx context.Context, err error) error {
	var known *table.Error
	var server *pgconn.PgError
	fail := func(code, detail string) error { return &table.Error{Code: code, Detail: detail} }
	switch {
	case errors.As(err, &known):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	switch postgres.CauseOf(err) {
	case postgres.Unreachable:
		return fail(table.CodeUnreachable, "no server answers at the address of the database, or it has no room for another connection")
	case postgres.Untrusted:
		return fail(table.CodeUntrusted, "the connection to the database cannot be encrypted as sslmode asks for: the server does not "+
			"offer TLS, or its certificate is not trusted; sslmode=disable in the address sends rows as they are")
	case postgres.Absent:
		return fail(table.CodeNotFound, "the server has no database of this name")
	case postgres.Other, postgres.Denied:
	}
	if !errors.As(err, &server) {
		return fail(table.CodeUnreachable, "the connection to the database broke")
	}
	for _, class := range []struct{ prefix, code, detail string }{
		{"28", table.CodeDenied, "the database refuses the user or the password: give the password in PGPASSWORD or ~/.pgpass"},
		{"42P01", table.CodeNotFound, "the database has no such table"},
		{"3F", table.CodeNotFound, "the database has no such schema"},
		{"42703", table.CodeColumn, "the query names a column that is not there"},
		{"42501", table.CodeDenied, "the user of the database may not read all rows and columns that are asked for: " +
			"a right is missing, or a row-level policy hides rows"},
		{"42601", table.CodeUsage, "the query is not one SQL statement that the server can read"},
		{"42", table.CodeUsage, "the query names something that is not there, or puts types together that do not fit"},
		{"25006", table.CodeUsage, "the query would change the database; it must only read"},
	} {
		if strings.HasPrefix(server.Code, class.prefix) {
			return fail(class.code, class.detail)
		}
	}
	return fail(table.CodeUnreadable, "the server refuses the query")
}

// broken returns the error for every failure after the first row, whatever it was: a value on which a query fails, a server that
// ended, a disk that is full (P20, P33).
func broken(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &table.Error{Code: table.CodeUnreachable, Detail: "the rows could not all be read"}
}

// wanted returns the places of the named columns, or of all that can be read if none is named. If a named column cannot be
// read, it returns those of all others, and ok is false.
func (r *reader) wanted(columns []string) (out []int, ok bool) {
	var usable []int
	for i, c := range r.columns {
		if !c.Usable {
			continue
		}
		usable = append(usable, i)
		if slices.Contains(columns, c.Name) {
			out = append(out, i)
		}
	}
	if len(columns) == 0 || len(out) < len(columns) {
		return usable, len(columns) == 0
	}
	return out, true
}
