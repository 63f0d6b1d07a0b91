package table

import (
	"io"

	"github.com/dprelease/dprelease/internal/data/arrow"
)

// WriteArrow writes a release as an Arrow IPC file with one record batch.
func WriteArrow(w io.Writer, r Release) error {
	rows, err := r.rows()
	if err != nil {
		return err
	}
	fields, columns := make([]arrow.Field, len(r.Columns)), make([]arrow.Column, len(r.Columns))
	for i := range r.Columns {
		c := &r.Columns[i]
		fields[i] = arrow.Field{Name: c.Name, Nullable: c.Blank != nil, Type: arrow.Text}
		switch {
		case c.Float64 != nil:
			fields[i].Type = arrow.Float64
		case c.Int64 != nil:
			fields[i].Type = arrow.Int64
		}
		build := arrow.NewBuilder(fields[i].Type)
		for row := range rows {
			switch {
			case c.Hidden(row): // the bytes of a release must not hold what it leaves out
				build.Null()
			case c.Float64 != nil:
				build.Float(c.Float64[row])
			case c.Int64 != nil:
				build.Int(c.Int64[row])
			default:
				build.Text([]byte(c.Texts[row]))
			}
		}
		if columns[i], err = build.Column(); err != nil {
			return err
		}
	}
	out, err := arrow.NewFile(w, fields)
	if err == nil {
		err = out.Write(rows, columns)
	}
	if err == nil {
		err = out.Close()
	}
	return err
}
