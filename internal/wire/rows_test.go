package wire

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/ipc"
)

var specs = []ColumnSpec{{Name: "x"}, {Name: "g", Categories: 3}}

func write(t testing.TB, batches ...Batch) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewRowsWriter(&out, specs)
	for _, b := range batches {
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// readAll reads a stream and copies what it holds.
func readAll(b []byte) (x, weights []float64, g []int32, xValid []bool, err error) {
	r := NewRowsReader(bytes.NewReader(b), specs)
	defer r.Close()
	for {
		b, err := r.Next()
		if err != nil {
			return x, weights, g, xValid, err
		}
		v := b.Columns[0]
		x, g, weights = append(x, v.Float64...), append(g, b.Columns[1].Codes...), append(weights, b.Weights...)
		for i := range b.Rows {
			xValid = append(xValid, v.Valid == nil || v.Valid[i>>3]>>(i&7)&1 == 1)
			gValid := b.Columns[1].Valid
			if (gValid == nil || gValid[i>>3]>>(i&7)&1 == 1) != (b.Columns[1].Codes[i] >= 0) {
				panic("bitmap and code of a category disagree")
			}
		}
	}
}

func random(n int, missing, weights bool) Batch {
	b := Batch{Rows: n, Columns: []Values{{Float64: make([]float64, n)}, {Codes: make([]int32, n)}}}
	for i := range n {
		b.Columns[0].Float64[i], b.Columns[1].Codes[i] = rand.NormFloat64(), rand.Int32N(3)
		if missing {
			b.Columns[1].Codes[i]--
		}
	}
	if missing {
		b.Columns[0].Valid = make([]byte, (n+7)/8)
		for i := range b.Columns[0].Valid {
			b.Columns[0].Valid[i] = byte(rand.Uint32())
		}
	}
	if weights {
		b.Weights = make([]float64, n)
		for i := range b.Weights {
			b.Weights[i] = rand.Float64()
		}
	}
	return b
}

func TestRows(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 9, 1000, BatchRows, BatchRows + 1, 3*BatchRows + 77} {
		for _, missing := range []bool{false, true} {
			for _, weights := range []bool{false, true} {
				in := random(n, missing, weights)
				in2 := random(5, missing, weights)
				x, w, g, valid, err := readAll(write(t, in, in2))
				if err != io.EOF || len(x) != n+5 {
					t.Fatalf("%d rows, %v", len(x), err)
				}
				if !reflect.DeepEqual(x, append(in.Columns[0].Float64, in2.Columns[0].Float64...)) ||
					!reflect.DeepEqual(g, append(in.Columns[1].Codes, in2.Columns[1].Codes...)) ||
					weights && !reflect.DeepEqual(w, append(in.Weights, in2.Weights...)) || !weights && len(w) > 0 {
					t.Errorf("%d rows changed", n)
				}
				for i := range n {
					if valid[i] != (!missing || in.Columns[0].Valid[i>>3]>>(i&7)&1 == 1) {
						t.Fatalf("validity of row %d of %d changed", i, n)
					}
				}
			}
		}
	}
}

// The stream is plain Arrow IPC: any library reads it.
func TestRowsAreArrow(t *testing.T) {
	r, err := ipc.NewReader(bytes.NewReader(write(t, random(10, true, true))))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	if got := r.Schema().String(); !bytes.Contains([]byte(got), []byte("dprelease.rows")) || r.Schema().NumFields() != 3 {
		t.Error(got)
	}
	if !r.Next() || r.Record().NumRows() != 10 || r.Record().ColumnName(2) != "weight" {
		t.Error("the record is not what was written")
	}
}

// A stream that is cut anywhere is an error, never a smaller table.
func TestRowsCut(t *testing.T) {
	whole := write(t, random(20, true, false), random(3, true, false))
	for n := range len(whole) {
		x, _, _, _, err := readAll(whole[:n])
		if err == io.EOF || err == nil {
			t.Fatalf("cut at %d of %d: %d rows and no error", n, len(whole), len(x))
		}
	}
}

func TestRowsOtherColumns(t *testing.T) {
	b := write(t, random(3, false, false))
	for name, other := range map[string][]ColumnSpec{
		"fewer": specs[:1], "name": {{Name: "y"}, specs[1]}, "type": {specs[0], {Name: "g"}}, "more": append(specs[:2:2], ColumnSpec{Name: "z"}),
	} {
		r := NewRowsReader(bytes.NewReader(b), other)
		if _, err := r.Next(); err == nil || err == io.EOF {
			t.Errorf("%s: %v", name, err)
		}
		r.Close()
	}
}

// FuzzRows: whatever follows a schema, the reader neither panics nor hands out rows
// that are not there. The schema itself is the host's, whom a plugin trusts:
// Arrow's parser believes its counts and would ask for any amount of memory.
func FuzzRows(f *testing.F) {
	empty := write(f)
	for _, weights := range []bool{false, true} {
		whole := write(f, random(20, true, weights))
		schema := int(8 + binary.LittleEndian.Uint32(whole[4:]))
		f.Add(whole[schema:], weights)
	}
	f.Add(empty[len(empty)-8:], false)
	f.Add([]byte{}, false)
	schemas := map[bool][]byte{}
	for _, weights := range []bool{false, true} {
		whole := write(f, random(1, false, weights))
		schemas[weights] = whole[:8+binary.LittleEndian.Uint32(whole[4:])]
	}
	f.Fuzz(func(t *testing.T, b []byte, weights bool) {
		r := NewRowsReader(io.MultiReader(bytes.NewReader(schemas[weights]), bytes.NewReader(b)), specs)
		defer r.Close()
		for range 100 {
			b, err := r.Next()
			if err != nil {
				return
			}
			if len(b.Columns[0].Float64) != b.Rows || len(b.Columns[1].Codes) != b.Rows || (b.Weights != nil) && len(b.Weights) != b.Rows {
				t.Fatal("columns are shorter than the batch")
			}
			for i := range b.Rows {
				for _, c := range b.Columns {
					if c.Valid != nil {
						_ = c.Valid[i>>3]
					}
				}
			}
		}
	})
}
