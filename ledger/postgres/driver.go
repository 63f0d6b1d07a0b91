package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Name is the driver's name.
const Name = "dprelease-postgres"

func init() { sql.Register(Name, server{}) }

type server struct{}

// Open connects to a server.
func (s server) Open(dsn string) (driver.Conn, error) {
	return connector{dsn}.Connect(context.Background())
}

// OpenConnector keeps an address until somebody connects.
func (server) OpenConnector(dsn string) (driver.Connector, error) { return connector{dsn}, nil }

type connector struct{ dsn string }

func (connector) Driver() driver.Driver { return server{} }

func (a connector) Connect(ctx context.Context) (driver.Conn, error) {
	c, _, err := Config(a.dsn)
	if err != nil {
		return nil, err
	}
	for key, value := range map[string]string{"client_encoding": "UTF8", "DateStyle": "ISO", "TimeZone": "UTC", "bytea_output": "hex",
		"extra_float_digits": "1"} {
		c.RuntimeParams[key] = value
	}
	conn, err := pgconn.ConnectConfig(ctx, c)
	if err != nil {
		return nil, err
	}
	return &connection{conn}, nil
}

type connection struct{ *pgconn.PgConn }

var errStatement = errors.New("statements are not prepared, and transactions begin with a statement")

func (c *connection) Prepare(string) (driver.Stmt, error) { return nil, errStatement }
func (c *connection) Begin() (driver.Tx, error)           { return nil, errStatement }
func (c *connection) Close() error                        { return c.PgConn.Close(context.Background()) }
func (c *connection) IsValid() bool                       { return !c.IsClosed() }

func (c *connection) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if len(args) == 0 { // which may be several statements
		_, err := c.Exec(ctx, query).ReadAll()
		return driver.ResultNoRows, err
	}
	tag, err := c.run(ctx, query, args).Close()
	return driver.RowsAffected(tag.RowsAffected()), err
}

func (c *connection) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	r := &rows{r: c.run(ctx, query, args)}
	r.first = r.r.NextRow() // which reads the names of the columns, too
	if !r.first {
		if err := r.Close(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (c *connection) run(ctx context.Context, query string, args []driver.NamedValue) *pgconn.ResultReader {
	values, formats := make([][]byte, len(args)), make([]int16, len(args))
	for i, a := range args {
		switch v := a.Value.(type) {
		case nil:
		case []byte:
			values[i], formats[i] = v, binaryFormat // which are the same bytes for bytea and for text
		case string:
			values[i] = append([]byte{}, v...)
		case time.Time:
			values[i] = v.UTC().AppendFormat(nil, "2006-01-02T15:04:05.999999Z07:00")
		default:
			values[i] = fmt.Append(nil, v)
		}
	}
	return c.ExecParams(ctx, query, values, nil, formats, nil)
}

const binaryFormat = 1

type rows struct {
	r     *pgconn.ResultReader
	first bool // a row was read, and is not handed on
}

func (r *rows) Columns() (names []string) {
	for _, f := range r.r.FieldDescriptions() {
		names = append(names, f.Name)
	}
	return names
}

func (r *rows) Close() error {
	_, err := r.r.Close()
	return err
}

func (r *rows) Next(to []driver.Value) (err error) {
	if !r.first && !r.r.NextRow() {
		if err = r.Close(); err == nil {
			err = io.EOF
		}
		return err
	}
	r.first = false
	for i, b := range r.r.Values() {
		if to[i] = nil; b != nil {
			if to[i], err = valueOf(r.r.FieldDescriptions()[i].DataTypeOID, string(b)); err != nil {
				return err
			}
		}
	}
	return nil
}

// valueOf reads the text of a value by the number of its type.
func valueOf(oid uint32, text string) (driver.Value, error) {
	switch oid {
	case 16: // bool
		return text == "t", nil
	case 17: // bytea, as \x0123
		return hex.DecodeString(text[min(2, len(text)):])
	case 20, 21, 23: // whole numbers
		return strconv.ParseInt(text, 10, 64)
	case 1114: // a moment without a time zone
		return time.Parse("2006-01-02 15:04:05.999999", text)
	case 1184:
		return time.Parse("2006-01-02 15:04:05.999999-07", text)
	}
	return text, nil
}
