package stored

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/report"
)

// Run is the content of an output folder. A release that is in no format the caller can read has no values.
type Run struct {
	Report report.Report
	Values map[string]report.Table
}

// Binary reads a release in Parquet or Arrow.
type Binary func(path string, fields []report.Field) (report.Table, error)

// Read reads an output folder. Without binary the values of releases that are in Parquet and Arrow alone are left out; their
// files are compared with their digests like all others.
func Read(dir string, binary Binary) (Run, error) {
	r, err := readReport(dir)
	run := Run{Report: r, Values: map[string]report.Table{}}
	if err != nil {
		return run, err
	}
	for _, e := range r.Releases {
		t, err := Values(dir, e, func(path string) ([]byte, error) { return file.Read(path, maxRelease) }, binary)
		if err != nil {
			return run, err
		}
		if t.Columns != nil {
			run.Values[e.Name] = t
		}
	}
	return run, nil
}

// The formats of a release, those with all digits first, and the cheapest of them; CSV has the digits that the noise leaves. Who
// reads no binary files begins with texts.
var (
	readable = []string{".json", ".arrow", ".parquet", ".csv"}
	texts    = []string{".json", ".csv", ".arrow", ".parquet"}
)

// Values reads one release of a folder from whichever file of it there is, and compares the file with the digest that was reported.
func Values(dir string, e report.Release, read func(path string) ([]byte, error), binary Binary) (report.Table, error) {
	formats := readable
	if binary == nil {
		formats = texts
		binary = func(string, []report.Field) (report.Table, error) { return report.Table{}, nil }
	}
	for _, ext := range formats {
		for _, f := range e.Files {
			if filepath.Ext(f.Path) != ext || filepath.Base(f.Path) != f.Path {
				continue
			}
			path := filepath.Join(dir, f.Path)
			content, err := read(path)
			if err != nil {
				continue
			}
			if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != f.SHA256 {
				return report.Table{}, &Error{"RELEASE_CHANGED", fmt.Sprintf("%s is not the file that report.json names: its digest differs", path)}
			}
			var t report.Table
			switch ext {
			case ".json":
				t, err = fromJSON(content, e.Fields)
			case ".csv":
				t, err = fromCSV(content, e.Fields)
			default:
				t, err = binary(path, e.Fields)
			}
			if err != nil {
				return t, &Error{"RELEASE_CHANGED", fmt.Sprintf("%s cannot be read as a release", path)}
			}
			return t, nil
		}
	}
	return report.Table{}, &Error{"RELEASE_CHANGED", fmt.Sprintf("%s holds no file of the release %s", dir, e.Name)}
}

var errNotRelease = errors.New("not a release")

// Empty makes empty columns of the reported types.
func Empty(fields []report.Field) report.Table {
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
		c.Hide(c.Len())
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
		c.Texts = append(c.Texts, text)
	}
	return err
}

// fromJSON reads the values of a release from a file in JSON.
func fromJSON(content []byte, fields []report.Field) (report.Table, error) {
	var rows []map[string]json.RawMessage
	if err := json.Unmarshal(content, &rows); err != nil {
		return report.Table{}, err
	}
	t := Empty(fields)
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

// fromCSV reads the values of a release from a file in CSV.
func fromCSV(content []byte, fields []report.Field) (report.Table, error) {
	t := Empty(fields)
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
