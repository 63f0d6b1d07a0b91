package host

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"

	"github.com/dprelease/dprelease/plugins/sdk"
)

var update = flag.Bool("update", false, "write the row streams and the transcript in specs again")

// rowVector is a row stream in words: specs/vectors/rows/NAME.json beside NAME.arrows.
type rowVector struct {
	About   string        `json:"about"`
	Columns []vectorField `json:"columns"`
	// Batches are lists of rows, which are lists of values; null is missing.
	Batches [][][]*float64 `json:"batches"`
	Weights [][]float64    `json:"weights,omitempty"`
	// Cut is the number of bytes that the end lacks: a reader must then fail.
	Cut int `json:"cut,omitempty"`
}

type vectorField struct {
	Name   string         `json:"name"`
	Type   sdk.ColumnType `json:"type"`
	Domain []string       `json:"domain,omitempty"`
}

func (v rowVector) batch(i int) sdk.Batch {
	b := sdk.Batch{Rows: len(v.Batches[i])}
	for at, f := range v.Columns {
		var c sdk.Values
		for row, values := range v.Batches[i] {
			x := values[at]
			switch {
			case f.Type == sdk.Category && x == nil:
				c.Codes = append(c.Codes, -1)
			case f.Type == sdk.Category:
				c.Codes = append(c.Codes, int32(*x))
			case x == nil: // what lies under a missing value means nothing
				c.Float64 = append(c.Float64, 7)
			default:
				c.Float64 = append(c.Float64, *x)
			}
			if f.Type == sdk.Number && x == nil && c.Valid == nil {
				c.Valid = bytes.Repeat([]byte{0xff}, (b.Rows+7)/8)
			}
			if f.Type == sdk.Number && x == nil {
				c.Valid[row/8] &^= 1 << (row % 8)
			}
		}
		if spare := b.Rows % 8; c.Valid != nil && spare > 0 {
			c.Valid[len(c.Valid)-1] &= 1<<spare - 1
		}
		b.Columns = append(b.Columns, c)
	}
	if v.Weights != nil {
		b.Weights = v.Weights[i]
	}
	return b
}

// stream returns the bytes that the host sends.
func (v rowVector) stream(t *testing.T) []byte {
	var out closer
	var columns []sdk.Column
	for _, f := range v.Columns {
		columns = append(columns, sdk.Column{Name: f.Name, Type: f.Type, Domain: f.Domain})
	}
	w := &arrowWriter{out: &out, columns: columns}
	for i := range v.Batches {
		b := v.batch(i)
		if err := b.Check(columns); err != nil {
			t.Fatal(err)
		}
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()[:out.Len()-v.Cut]
}

// TestRowVectors: the streams in specs/vectors/rows are those that the host sends, and an
// Arrow library reads them as they say.
func TestRowVectors(t *testing.T) {
	all, err := filepath.Glob("../../../specs/vectors/rows/*.json")
	if err != nil || len(all) < 6 {
		t.Fatalf("%d vectors, %v", len(all), err)
	}
	for _, name := range all {
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var v rowVector
			d := json.NewDecoder(bytes.NewReader(text))
			d.DisallowUnknownFields()
			if err := d.Decode(&v); err != nil {
				t.Fatal(err)
			}
			stream := v.stream(t)
			golden(t, name[:len(name)-len(".json")]+".arrows", stream)
			if v.Cut == 0 {
				v.compare(t, stream)
			}
		})
	}
}

// golden holds bytes against a file of specs, or writes the file.
func golden(t *testing.T, path string, made []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, made, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, made) {
		t.Errorf("%s is not what the host does now (%v); if that is meant: go test ./internal/plugin/host -run %s -update", path, err, t.Name())
	}
}

// compare reads a stream with the Arrow library.
func (v rowVector) compare(t *testing.T, stream []byte) {
	r, err := ipc.NewReader(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	read := 0
	for ; r.Next(); read++ {
		rec := r.Record()
		for row, values := range v.Batches[read] {
			for at, x := range values {
				c := rec.Column(at)
				if c.IsNull(row) != (x == nil) {
					t.Fatalf("batch %d, row %d, column %d: missing %v", read, row, at, c.IsNull(row))
				}
				if x == nil {
					continue
				}
				got := 0.0
				switch c := c.(type) {
				case *array.Float64:
					got = c.Value(row)
				case *array.Int32:
					got = float64(c.Value(row))
				}
				if got != *x {
					t.Errorf("batch %d, row %d, column %d: %v", read, row, at, got)
				}
			}
			if v.Weights != nil && rec.Column(len(values)).(*array.Float64).Value(row) != v.Weights[read][row] {
				t.Errorf("batch %d, row %d: weight", read, row)
			}
		}
	}
	if read != len(v.Batches) || r.Err() != nil {
		t.Errorf("%d batches, %v", read, r.Err())
	}
}
