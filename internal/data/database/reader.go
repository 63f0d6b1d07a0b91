package database

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dprelease/dprelease/internal/data/table"
)

// reader reads the columns of from, which is SQL.
type reader struct {
	tx      *session
	name    string // in messages
	from    string
	columns []table.Column
	types   []columnType
}

// The formats of values in the protocol.
const (
	textFormat   = 0
	binaryFormat = 1
)

// The numbers of the server's types.
const (
	oidBool, oidInt8, oidName, oidInt2, oidInt4, oidText = 16, 20, 19, 21, 23, 25
	oidFloat4, oidFloat8, oidBPChar, oidVarchar          = 700, 701, 1042, 1043
	oidDate, oidTime, oidTimestamp, oidTimestamptz       = 1082, 1083, 1114, 1184
	oidNumeric, oidUUID                                  = 1700, 2950
)

// columnType is the form in which the server sends the values of a column.
type columnType struct {
	cast   string // a cast for the server, or ""
	format int16  // text or binary
	value  func(s *table.Spool, col int, b []byte) error
}

var (
	asText = columnType{cast: "::text", format: binaryFormat, value: func(s *table.Spool, col int, b []byte) error {
		s.Text(col, b)
		return nil
	}}
	errValue = &table.Error{Code: table.CodeCorrupt, Detail: "the server sends a value that does not fit its type"}
)

// whole reads a whole number of width bytes and adds shift, which moves the epoch from 2000 to 1970. The numbers in missing
// mean infinity and become nulls.
func whole(width int, shift int64, missing ...int64) columnType {
	return columnType{format: binaryFormat, value: func(s *table.Spool, col int, b []byte) error {
		var v int64
		switch {
		case len(b) != width:
			return errValue
		case width == 1:
			v = int64(b[0])
		case width == 2:
			v = int64(int16(binary.BigEndian.Uint16(b)))
		case width == 4:
			v = int64(int32(binary.BigEndian.Uint32(b)))
		default:
			v = int64(binary.BigEndian.Uint64(b))
		}
		if slices.Contains(missing, v) || v > math.MaxInt64-shift { // an int64 cannot count the last 29 years from 1970
			s.Null(col)
			return nil
		}
		s.Int(col, v+shift)
		return nil
	}}
}

// floats reads a float of width bytes.
func floats(width int) columnType {
	return columnType{format: binaryFormat, value: func(s *table.Spool, col int, b []byte) error {
		switch {
		case len(b) != width:
			return errValue
		case width == 4:
			s.Float(col, float64(math.Float32frombits(binary.BigEndian.Uint32(b))))
		default:
			s.Float(col, math.Float64frombits(binary.BigEndian.Uint64(b)))
		}
		return nil
	}}
}

const (
	daysTo2000   = 10957
	microsTo2000 = daysTo2000 * 86400 * 1_000_000
)

var instants = whole(8, microsTo2000, math.MaxInt64, math.MinInt64)

// kinds are the types that can be read, without numeric and enumerations.
var kinds = map[uint32]struct {
	kind table.Kind
	columnType
}{
	oidBool: {table.Bool, whole(1, 0)},
	oidInt2: {table.Int, whole(2, 0)}, oidInt4: {table.Int, whole(4, 0)}, oidInt8: {table.Int, whole(8, 0)},
	oidFloat4: {table.Float, floats(4)}, oidFloat8: {table.Float, floats(8)},
	oidText: {table.String, asText}, oidVarchar: {table.String, asText}, oidBPChar: {table.String, asText},
	oidName: {table.String, asText}, oidUUID: {table.String, asText},
	oidDate: {table.Date, whole(4, daysTo2000, math.MaxInt32, math.MinInt32)}, oidTime: {table.Time, whole(8, 0)},
	oidTimestamp: {table.Timestamp, instants}, oidTimestamptz: {table.Timestamp, instants},
}

// decimals reads a numeric with a scale and up to 18 digits: its text without the point is a whole number. NaN is missing.
var decimals = columnType{format: textFormat, value: func(s *table.Spool, col int, b []byte) error {
	v, err := strconv.ParseInt(string(bytes.Replace(b, []byte("."), nil, 1)), 10, 64)
	switch {
	case err == nil:
		s.Int(col, v)
	case string(b) == "NaN":
		s.Null(col)
	default:
		return errValue
	}
	return nil
}}

// nearest reads any other numeric as the nearest float64. A number that is too large for that is infinite.
var nearest = columnType{format: textFormat, value: func(s *table.Spool, col int, b []byte) error {
	v, _ := strconv.ParseFloat(string(b), 64)
	s.Float(col, v)
	return nil
}}

// describe asks for the columns.
func (r *reader) describe(ctx context.Context) error {
	d, err := r.tx.Prepare(ctx, "", "select * from "+r.from, nil)
	if err != nil {
		return refused(ctx, err)
	}
	names := map[string]int{}
	for _, f := range d.Fields {
		c, how, err := r.column(ctx, &f)
		if err != nil {
			return err
		}
		names[c.Name]++
		r.columns, r.types = append(r.columns, c), append(r.types, how)
	}
	for i, c := range r.columns {
		if names[c.Name] > 1 {
			r.columns[i] = table.Unusable(c.Name, "its name occurs more than once")
		}
	}
	return nil
}

// column describes a column to the rest of the program.
func (r *reader) column(ctx context.Context, f *pgconn.FieldDescription) (table.Column, columnType, error) {
	c := table.Column{Name: f.Name, Nullable: true, Usable: true}
	if k, ok := kinds[f.DataTypeOID]; ok {
		c.Kind = k.kind
		return c, k.columnType, nil
	}
	if f.DataTypeOID == oidNumeric {
		precision, scale := (f.TypeModifier-4)>>16, (f.TypeModifier-4)&0x7ff
		if f.TypeModifier >= 4 && precision <= 18 && scale <= precision {
			c.Kind, c.Scale = table.Decimal, int(scale)
			return c, decimals, nil
		}
		c.Kind = table.Float
		return c, nearest, nil
	}
	row, err := r.tx.row(ctx, "select typtype::text, typname::text from pg_type where oid = $1", strconv.FormatUint(uint64(f.DataTypeOID), 10))
	if err != nil {
		return c, columnType{}, refused(ctx, err)
	}
	if row[0] == "e" {
		c.Kind = table.String
		return c, asText, nil
	}
	return table.Unusable(f.Name, "of the type "+row[1]+", which is not read; cast it in a query"), columnType{}, nil
}

// table makes a table of some columns, with all rows or none.
func (r *reader) table(ctx context.Context, which []int, filled bool, memory int64) (*table.Table, error) {
	var take, others []table.Column
	var list []string
	var formats []int16
	for _, i := range which {
		take = append(take, r.columns[i])
		list = append(list, quoted(r.columns[i].Name)+r.types[i].cast)
		formats = append(formats, r.types[i].format)
	}
	for _, c := range r.columns {
		if !c.Usable {
			others = append(others, c)
		}
	}
	if len(take) == 0 {
		return nil, &table.Error{Code: table.CodeColumn, File: r.name, Detail: "has no column that can be used"}
	}
	s, err := table.NewSpool(take)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if filled {
		if err := r.rows(ctx, s, which, "select "+strings.Join(list, ", ")+" from "+r.from, formats); err != nil {
			return nil, err
		}
	}
	return s.Table(ctx, r.name, others, memory)
}

// rows writes all rows to the spool.
func (r *reader) rows(ctx context.Context, s *table.Spool, which []int, query string, formats []int16) error {
	rows := r.tx.ExecParams(ctx, query, nil, nil, nil, formats)
	defer rows.Close()
	for rows.NextRow() {
		for i, b := range rows.Values() {
			if b == nil {
				s.Null(i)
			} else if err := r.types[which[i]].value(s, i, b); err != nil {
				return broken(ctx)
			}
		}
		if err := s.EndRow(); err != nil {
			return broken(ctx)
		}
	}
	if _, err := rows.Close(); err != nil {
		return broken(ctx)
	}
	return nil
}
