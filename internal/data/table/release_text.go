package table

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
)

// WriteCSV writes a release as RFC 4180 text with a header line, LF line ends and floats in the shortest form that
// reads back exactly. A missing value is an empty field, as is an empty text; in a release of one column it is quoted.
func WriteCSV(w io.Writer, r Release) error {
	n, err := r.rows()
	if err != nil {
		return err
	}
	out := csv.NewWriter(w)
	line := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		line[i] = c.Name
	}
	if err := out.Write(line); err != nil {
		return err
	}
	for row := range n {
		for i := range r.Columns {
			c := &r.Columns[i]
			switch {
			case c.Hidden(row):
				line[i] = ""
			case c.Float64 != nil:
				line[i] = strconv.FormatFloat(c.Float64[row], 'g', -1, 64)
			case c.Int64 != nil:
				line[i] = strconv.FormatInt(c.Int64[row], 10)
			default:
				line[i] = c.Texts[row]
			}
		}
		if len(line) == 1 && line[0] == "" { // readers pass over an empty line, so the field is quoted
			out.Flush()
			if _, err := io.WriteString(w, "\"\"\n"); err != nil {
				return err
			}
			continue
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// WriteJSON writes a release as an array with one object for each row, keys in column order, a line each. Missing
// values are null.
func WriteJSON(w io.Writer, r Release) error {
	n, err := r.rows()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	keys := make([][]byte, len(r.Columns))
	for i, c := range r.Columns {
		if keys[i], err = json.Marshal(c.Name); err != nil {
			return err
		}
	}
	out.WriteString("[")
	for row := range n {
		if row > 0 {
			out.WriteString(",")
		}
		out.WriteString("\n{")
		for i := range r.Columns {
			if i > 0 {
				out.WriteString(",")
			}
			out.Write(keys[i])
			out.WriteString(":")
			v, err := json.Marshal(r.Columns[i].Value(row))
			if err != nil {
				return err
			}
			out.Write(v)
		}
		out.WriteString("}")
	}
	out.WriteString("\n]\n")
	return out.Flush()
}
