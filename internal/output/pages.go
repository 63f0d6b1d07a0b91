package output

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/internal/whole"

	"github.com/dprelease/dprelease/internal/failure"
	"github.com/dprelease/dprelease/internal/table"
	"github.com/dprelease/dprelease/report"
)

// WritePages writes report.html and report-public.html again, from the report and
// the releases in an output folder. Neither the private table nor the ledger is
// touched, and nothing is spent. A release that is not the one that was reported
// is refused.
func WritePages(ctx context.Context, dir string) error {
	run, err := ReadRun(ctx, dir)
	if err != nil {
		return err
	}
	r, values := run.Report, run.Values
	page, err := report.NewPage(&r)
	if err != nil {
		return failure.New(failure.ExitUsage, "REPORT_UNREADABLE", "%s: %v", filepath.Join(dir, reportFile), err)
	}
	for _, name := range []string{pageFile, publicFile} {
		var b bytes.Buffer
		if err := page.WriteHTML(&b, &r, values, name == publicFile); err != nil {
			return failure.New(failure.ExitBug, "REPORT", "%v", err)
		}
		if err := whole.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644); err != nil {
			return failure.New(failure.ExitUsage, "OUTPUT_UNWRITABLE", "%s cannot be written", filepath.Join(dir, name))
		}
	}
	return nil
}

// ReadRun reads the report and the releases of an output folder. A release that is not the
// one that was reported is refused.
func ReadRun(ctx context.Context, dir string) (report.Side, error) {
	r, err := readReport(dir)
	run := report.Side{Name: filepath.Base(filepath.Clean(dir)), Report: r, Values: map[string]report.Table{}}
	if err != nil {
		return run, err
	}
	for _, e := range r.Releases {
		if run.Values[e.Name], err = readTable(ctx, dir, e); err != nil {
			return run, err
		}
	}
	return run, nil
}

// Compare says what differs between the runs in two output folders, named as the caller
// names them. It costs nothing.
func Compare(ctx context.Context, a, b string) (*report.Comparison, error) {
	var sides [2]report.Side
	for i, dir := range []string{a, b} {
		run, err := ReadRun(ctx, dir)
		if err != nil {
			return nil, err
		}
		run.Name = dir
		sides[i] = run
	}
	return report.Compare(sides[0], sides[1]), nil
}

// readable are the formats of a release, the cheapest to read first.
var readable = []string{".json", ".csv", ".arrow", ".parquet"}

// readTable reads one release from whichever file of it there is, and compares
// the file with the digest that was reported.
func readTable(ctx context.Context, dir string, e report.Release) (report.Table, error) {
	for _, ext := range readable {
		for _, f := range e.Files {
			if filepath.Ext(f.Path) != ext || filepath.Base(f.Path) != f.Path {
				continue
			}
			path := filepath.Join(dir, f.Path)
			content, err := os.ReadFile(path)
			if err != nil {
				continue
			}
			if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != f.SHA256 {
				return report.Table{}, failure.New(failure.ExitUsage, "RELEASE_CHANGED", "%s is not the file that report.json names: its digest differs", path)
			}
			var t report.Table
			switch ext {
			case ".json":
				t, err = readJSON(content, e.Fields)
			case ".csv":
				t, err = readCSV(content, e.Fields)
			default:
				t, err = readBinary(ctx, path, e.Fields)
			}
			if err != nil {
				return t, failure.New(failure.ExitUsage, "RELEASE_UNREADABLE", "%s cannot be read as a release", path)
			}
			return t, nil
		}
	}
	return report.Table{}, failure.New(failure.ExitUsage, "RELEASE_MISSING", "%s holds no file of the release %s", dir, e.Name)
}

var errNotRelease = errors.New("not a release")

// columnsOf makes empty columns of the reported types.
func columnsOf(fields []report.Field) report.Table {
	t := report.Table{Columns: make([]report.Column, len(fields))}
	for i, f := range fields {
		t.Columns[i].Name = f.Name
	}
	return t
}

// put adds one value, as it is written in text, to a column of a type; a blank one is not
// shown.
func put(c *report.Column, kind, text string, blank bool) error {
	if blank {
		mark(c, c.Len())
		text = "0"
	}
	var err error
	switch kind {
	case "float64":
		var x float64
		x, err = strconv.ParseFloat(text, 64)
		c.Float64 = append(c.Float64, x)
	case "int64":
		var n int64
		n, err = strconv.ParseInt(text, 10, 64)
		c.Int64 = append(c.Int64, n)
	default:
		c.Text = append(c.Text, text)
	}
	return err
}

// mark says that value i of a column is blank.
func mark(c *report.Column, i int) {
	for len(c.Blank) < i {
		c.Blank = append(c.Blank, false)
	}
	c.Blank = append(c.Blank, true)
}

func readJSON(content []byte, fields []report.Field) (report.Table, error) {
	var rows []map[string]json.RawMessage
	if err := json.Unmarshal(content, &rows); err != nil {
		return report.Table{}, err
	}
	t := columnsOf(fields)
	for _, row := range rows {
		for i, f := range fields {
			text := string(row[f.Name])
			if strings.HasPrefix(text, `"`) && json.Unmarshal(row[f.Name], &text) != nil {
				return t, errNotRelease
			}
			if err := put(&t.Columns[i], f.Type, text, text == "null" && row[f.Name][0] != '"'); err != nil {
				return t, err
			}
		}
	}
	return t, nil
}

func readCSV(content []byte, fields []report.Field) (report.Table, error) {
	t := columnsOf(fields)
	lines := csv.NewReader(bytes.NewReader(content))
	lines.FieldsPerRecord = len(fields)
	if _, err := lines.Read(); err != nil { // the header
		return t, err
	}
	for {
		row, err := lines.Read()
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return t, err
		}
		for i, f := range fields {
			if err := put(&t.Columns[i], f.Type, row[i], row[i] == "" && f.Type != "string"); err != nil {
				return t, err
			}
		}
	}
}

func readBinary(ctx context.Context, path string, fields []report.Field) (report.Table, error) {
	t := columnsOf(fields)
	in, err := table.Open(ctx, table.Spec{Path: path})
	if err != nil {
		return t, err
	}
	defer in.Close()
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	err = in.Scan(ctx, table.ScanOptions{Columns: names}, func(b table.Batch) error {
		for i, f := range fields {
			c, v := &t.Columns[i], b.Columns[i]
			for k := range b.Rows {
				if v.Null(k) {
					mark(c, c.Len()+k)
				}
			}
			switch {
			case f.Type == "float64" && v.Float64 != nil:
				c.Float64 = append(c.Float64, v.Float64[:b.Rows]...)
			case f.Type == "int64" && v.Int64 != nil:
				c.Int64 = append(c.Int64, v.Int64[:b.Rows]...)
			case f.Type == "string" && v.Codes != nil:
				for _, k := range v.Codes[:b.Rows] {
					c.Text = append(c.Text, v.Dict[k])
				}
			case b.Rows > 0:
				return errNotRelease
			}
		}
		return nil
	})
	return t, err
}
