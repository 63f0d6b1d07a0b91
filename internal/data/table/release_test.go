package table

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"testing"

	"github.com/dprelease/dprelease/plugins/columns"
)

func sampleRelease() Release {
	return Release{Columns: []columns.Column{
		{Name: "region", Texts: []string{"Burgenland", "Kärnten, \"Süd\"", "line\nbreak", ""}},
		{Name: "estimate", Float64: []float64{19.5, -0.1, 1e300, 3}, Blank: []bool{false, false, false, true}},
		{Name: "count", Int64: []int64{math.MaxInt64, -1, 0, 4}},
		{Name: "note", Texts: []string{"a", "b", "", "x"}, Blank: []bool{false, true, false, true}},
	}}
}

var releaseWriters = map[string]func(io.Writer, Release) error{
	"parquet": WriteParquet, "arrow": WriteArrow, "csv": WriteCSV, "json": WriteJSON,
}

func TestReleasesReadBack(t *testing.T) {
	r := sampleRelease()
	want := make([]wantColumn, len(r.Columns))
	for i, c := range r.Columns {
		want[i] = wantColumn{name: c.Name, f64: c.Float64, i64: c.Int64, texts: c.Texts, valid: shown(c.Blank)}
	}
	for _, name := range []string{"parquet", "arrow"} {
		var buf bytes.Buffer
		if err := releaseWriters[name](&buf, r); err != nil {
			t.Fatal(name, err)
		}
		checkScan(t, temp(t, "r."+name, buf.Bytes()), want, 4)
	}
}

func TestReleaseCSVAndJSON(t *testing.T) {
	r := sampleRelease()
	var buf bytes.Buffer
	if err := WriteCSV(&buf, r); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&buf).ReadAll()
	if err != nil || len(lines) != 5 || lines[0][1] != "estimate" || lines[2][0] != "Kärnten, \"Süd\"" || lines[4][1] != "" {
		t.Fatal(lines, err)
	}
	if v, err := strconv.ParseFloat(lines[2][1], 64); err != nil || v != -0.1 {
		t.Fatal(v, err)
	}
	buf.Reset()
	if err := WriteJSON(&buf, r); err != nil {
		t.Fatal(err)
	}
	var rows []map[string]any
	d := json.NewDecoder(&buf)
	d.UseNumber()
	if err := d.Decode(&rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 4 || rows[0]["count"] != json.Number("9223372036854775807") || rows[3]["estimate"] != nil || rows[2]["note"] != "" {
		t.Fatal(rows)
	}
}

// TestLonelyEmptyField: readers of CSV pass over an empty line, so a row of one empty field must not be one.
func TestLonelyEmptyField(t *testing.T) {
	var buf bytes.Buffer
	r := Release{Columns: []columns.Column{{Name: "estimate", Float64: []float64{1, 2, 3}, Blank: []bool{false, true, false}}}}
	if err := WriteCSV(&buf, r); err != nil {
		t.Fatal(err)
	}
	if lines, err := csv.NewReader(&buf).ReadAll(); err != nil || len(lines) != 4 || lines[2][0] != "" {
		t.Error(lines, err)
	}
}

// TestReleasesAreDeterministic also covers a release without rows.
func TestReleasesAreDeterministic(t *testing.T) {
	empty := Release{Columns: []columns.Column{{Name: "x", Float64: []float64{}}, {Name: "t", Texts: []string{}}}}
	for name, write := range releaseWriters {
		for _, r := range []Release{sampleRelease(), empty} {
			var a, b bytes.Buffer
			if err := errors.Join(write(&a, r), write(&b, r)); err != nil {
				t.Fatal(name, err)
			}
			if a.Len() == 0 || !bytes.Equal(a.Bytes(), b.Bytes()) {
				t.Errorf("%s: two writes differ", name)
			}
		}
	}
}

// TestReleaseLeavesNothingBehind: a value that is marked missing is nowhere in the bytes.
func TestReleaseLeavesNothingBehind(t *testing.T) {
	secret := 1234.5678
	bits := binary.LittleEndian.AppendUint64(nil, math.Float64bits(secret))
	r := Release{Columns: []columns.Column{
		{Name: "a", Float64: []float64{1, secret}, Blank: []bool{false, true}},
		{Name: "b", Texts: []string{"shown", "suppressed"}, Blank: []bool{false, true}},
	}}
	for name, write := range releaseWriters {
		var buf bytes.Buffer
		if err := write(&buf, r); err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(buf.Bytes(), []byte("shown")) {
			t.Errorf("%s: the released text is not there to be found", name)
		}
		for _, trace := range [][]byte{bits, []byte("1234.5"), []byte("suppressed")} {
			if bytes.Contains(buf.Bytes(), trace) {
				t.Errorf("%s: holds a value that was left out", name)
			}
		}
	}
}

func TestReleaseRefusals(t *testing.T) {
	one := []float64{1}
	for name, r := range map[string]Release{
		"no columns":    {},
		"no values":     {Columns: []columns.Column{{Name: "x"}}},
		"two kinds":     {Columns: []columns.Column{{Name: "x", Float64: one, Int64: []int64{1}}}},
		"twice":         {Columns: []columns.Column{{Name: "x", Float64: one}, {Name: "x", Float64: one}}},
		"uneven":        {Columns: []columns.Column{{Name: "x", Float64: one}, {Name: "y", Int64: []int64{1, 2}}}},
		"short blank":   {Columns: []columns.Column{{Name: "x", Float64: one, Blank: []bool{}}}},
		"not a number":  {Columns: []columns.Column{{Name: "x", Float64: []float64{math.NaN()}}}},
		"infinite":      {Columns: []columns.Column{{Name: "x", Float64: []float64{math.Inf(-1)}}}},
		"not utf-8":     {Columns: []columns.Column{{Name: "x", Texts: []string{"\xff"}}}},
		"nameless":      {Columns: []columns.Column{{Float64: one}}},
		"name of bytes": {Columns: []columns.Column{{Name: "\xff", Float64: one}}},
	} {
		for format, write := range releaseWriters {
			var buf bytes.Buffer
			var e *Error
			if err := write(&buf, r); !errors.As(err, &e) || buf.Len() > 0 {
				t.Errorf("%s as %s: %v, %d bytes", name, format, err, buf.Len())
			}
		}
	}
}

func shown(blank []bool) (valid []bool) {
	for _, hidden := range blank {
		valid = append(valid, !hidden)
	}
	return valid
}
