package table

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/dprelease/dprelease/internal/data/table/pagewalk"
	"github.com/dprelease/dprelease/internal/testkit/parquet"
)

// style is the layout of a generated file.
type style struct {
	codec    parquet.Codec
	v2       bool
	dict     bool
	pageSize int64
	groups   []int // rows of each row group
	crc      bool
	nulls    float64
}

func (s style) String() string {
	return fmt.Sprintf("%v/v2=%v/dict=%v/page=%d/groups=%v/crc=%v/nulls=%v", s.codec, s.v2, s.dict, s.pageSize, s.groups, s.crc, s.nulls)
}

// genColumn is one column to write: the values without nulls, and which rows are null.
type genColumn struct {
	node     parquet.Node
	encoding parquet.Encoding // 0 (plain) when nothing else is wanted
	values   any              // []int32, []int64, []float32, []float64, []bool, []parquet.ByteArray, []parquet.FixedLenByteArray, []parquet.Int96
	valid    []bool           // nil: required column
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// writeParquet writes the columns of a file.
func writeParquet(t testing.TB, s style, cols []genColumn) []byte {
	t.Helper()
	nodes := make([]parquet.Node, len(cols))
	for i, c := range cols {
		nodes[i] = c.node
	}
	var buf bytes.Buffer
	w := parquet.NewWriter(&buf, parquet.Style{Codec: s.codec, V2: s.v2, Dict: s.dict, PageSize: s.pageSize}, nodes)
	at := 0
	for _, rows := range s.groups {
		part := make([]parquet.Column, len(cols))
		for i, c := range cols {
			part[i] = parquet.Column{Node: c.node, Encoding: c.encoding, Values: valuesOfRows(c, at, at+rows)}
			if c.valid != nil {
				part[i].Valid = c.valid[at : at+rows]
			}
		}
		if err := w.Group(rows, part); err != nil {
			t.Fatal(err)
		}
		at += rows
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// valuesOfRows returns the values of some rows.
func valuesOfRows(c genColumn, from, to int) any {
	switch v := c.values.(type) {
	case []int32:
		return present(v, c.valid, from, to)
	case []int64:
		return present(v, c.valid, from, to)
	case []float32:
		return present(v, c.valid, from, to)
	case []float64:
		return present(v, c.valid, from, to)
	case []bool:
		return present(v, c.valid, from, to)
	case []parquet.ByteArray:
		return present(v, c.valid, from, to)
	case []parquet.FixedLenByteArray:
		return present(v, c.valid, from, to)
	case []parquet.Int96:
		return present(v, c.valid, from, to)
	}
	panic("no such values")
}

func present[T any](v []T, valid []bool, from, to int) []T {
	if valid == nil {
		return v[from:to]
	}
	var out []T
	for i := from; i < to; i++ {
		if valid[i] {
			out = append(out, v[i])
		}
	}
	return out
}

// wantColumn holds the values that a scan must deliver for a generated column.
type wantColumn struct {
	name  string
	f64   []float64
	i64   []int64
	texts []string
	valid []bool
}

func (w *wantColumn) check(v *Values, at int, rows []uint32, n int) error {
	for i := range n {
		row := at + i
		if rows != nil {
			row = at + int(rows[i])
		}
		if null := w.valid != nil && !w.valid[row]; null != v.Null(i) {
			return fmt.Errorf("%s: row %d: null is %v", w.name, row, v.Null(i))
		} else if null {
			continue
		}
		switch {
		case w.f64 != nil:
			if math.Float64bits(v.Float64[i]) != math.Float64bits(w.f64[row]) {
				return fmt.Errorf("%s: row %d: %v instead of %v", w.name, row, v.Float64[i], w.f64[row])
			}
		case w.i64 != nil:
			if v.Int64[i] != w.i64[row] {
				return fmt.Errorf("%s: row %d: %v instead of %v", w.name, row, v.Int64[i], w.i64[row])
			}
		default:
			if got := v.Dict[v.Codes[i]]; got != w.texts[row] {
				return fmt.Errorf("%s: row %d: %q instead of %q", w.name, row, got, w.texts[row])
			}
		}
	}
	return nil
}

// generated makes columns of every type and encoding, n rows each.
func generated(n int, nulls float64, r *rand.Rand) (cols []genColumn, want []wantColumn) {
	rep := parquet.Repetitions.Required
	if nulls > 0 {
		rep = parquet.Repetitions.Optional
	}
	add := func(name string, logical parquet.Annotation, typ parquet.Type, length int, enc parquet.Encoding, values any, w wantColumn) {
		node := parquet.NewNode(name, rep, logical, typ, length)
		if nulls > 0 {
			w.valid = make([]bool, n)
			for i := range w.valid {
				w.valid[i] = r.Float64() >= nulls
			}
			if n > 40 { // a long run of nulls and one without
				clear(w.valid[10:30])
			}
		}
		w.name = name
		cols = append(cols, genColumn{node: node, encoding: enc, values: values, valid: w.valid})
		want = append(want, w)
	}
	T, E, none := parquet.Types, parquet.Encodings, parquet.NoLogicalType
	f64, f32 := make([]float64, n), make([]float32, n)
	wide32, i32, i64, u32, small := make([]float64, n), make([]int32, n), make([]int64, n), make([]int32, n), make([]int32, n)
	w32, w64, wu32, wsmall := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	bools, wbools := make([]bool, n), make([]int64, n)
	texts, few := make([]parquet.ByteArray, n), make([]parquet.ByteArray, n)
	wtexts, wfew := make([]string, n), make([]string, n)
	dec, wdec := make([]parquet.FixedLenByteArray, n), make([]int64, n)
	i96, w96 := make([]parquet.Int96, n), make([]int64, n)
	for i := range n {
		f64[i] = r.NormFloat64()
		f32[i] = float32(r.NormFloat64())
		wide32[i] = float64(f32[i])
		i32[i] = int32(r.Uint32())
		w32[i] = int64(i32[i])
		i64[i] = int64(r.Uint64()) >> r.IntN(60)
		w64[i] = i64[i]
		u32[i] = int32(r.Uint32())
		wu32[i] = int64(uint32(u32[i]))
		small[i] = int32(r.IntN(7))
		wsmall[i] = int64(small[i])
		bools[i] = r.IntN(3) == 0
		if bools[i] {
			wbools[i] = 1
		}
		wtexts[i] = fmt.Sprintf("value-%d-%x", i/3, r.Uint32N(1000))
		texts[i] = parquet.ByteArray(wtexts[i])
		wfew[i] = []string{"", "a", "north", "südlich", "e"}[r.IntN(5)]
		few[i] = parquet.ByteArray(wfew[i])
		wdec[i] = r.Int64N(1<<40) - 1<<39
		dec[i] = bigEndian(wdec[i], 9)
		day, nanos := r.Int64N(40000)-10000, r.Int64N(86400e9)
		w96[i] = day*dayMicros + nanos/1000
		for k := range 8 {
			i96[i][k] = byte(nanos >> (8 * k))
		}
		for k := range 4 {
			i96[i][8+k] = byte((day + julianEpoch) >> (8 * k))
		}
	}
	plain := E.Plain
	add("f64", none, T.Double, -1, plain, f64, wantColumn{f64: f64})
	add("f64split", none, T.Double, -1, E.ByteStreamSplit, f64, wantColumn{f64: f64})
	add("f32", none, T.Float, -1, plain, f32, wantColumn{f64: wide32})
	add("f32split", none, T.Float, -1, E.ByteStreamSplit, f32, wantColumn{f64: wide32})
	add("i32", none, T.Int32, -1, plain, i32, wantColumn{i64: w32})
	add("i32delta", none, T.Int32, -1, E.DeltaBinaryPacked, i32, wantColumn{i64: w32})
	add("i32split", none, T.Int32, -1, E.ByteStreamSplit, i32, wantColumn{i64: w32})
	add("i64", none, T.Int64, -1, plain, i64, wantColumn{i64: w64})
	add("i64delta", none, T.Int64, -1, E.DeltaBinaryPacked, i64, wantColumn{i64: w64})
	add("u32", parquet.NewIntLogicalType(32, false), T.Int32, -1, plain, u32, wantColumn{i64: wu32})
	add("small", parquet.NewIntLogicalType(8, true), T.Int32, -1, plain, small, wantColumn{i64: wsmall})
	add("date", parquet.DateLogicalType, T.Int32, -1, plain, small, wantColumn{i64: wsmall})
	add("stamp", parquet.NewTimestampLogicalType(true, pagewalk.Micros), T.Int64, -1, E.DeltaBinaryPacked, i64, wantColumn{i64: w64})
	add("bool", none, T.Boolean, -1, plain, bools, wantColumn{i64: wbools})
	add("boolrle", none, T.Boolean, -1, E.RLE, bools, wantColumn{i64: wbools})
	add("text", parquet.StringLogicalType, T.ByteArray, -1, plain, texts, wantColumn{texts: wtexts})
	add("textlen", parquet.StringLogicalType, T.ByteArray, -1, E.DeltaLengthByteArray, texts, wantColumn{texts: wtexts})
	add("textdelta", parquet.StringLogicalType, T.ByteArray, -1, E.DeltaByteArray, texts, wantColumn{texts: wtexts})
	add("few", parquet.StringLogicalType, T.ByteArray, -1, plain, few, wantColumn{texts: wfew})
	add("dec", parquet.NewDecimalLogicalType(18, 4), T.FixedLenByteArray, 9, plain, dec, wantColumn{i64: wdec})
	add("decsplit", parquet.NewDecimalLogicalType(18, 4), T.FixedLenByteArray, 9, E.ByteStreamSplit, dec, wantColumn{i64: wdec})
	add("int96", none, T.Int96, -1, plain, i96, wantColumn{i64: w96})
	return cols, want
}

func bigEndian(v int64, n int) []byte {
	b := make([]byte, n)
	for i := n - 1; i >= 0; i-- {
		b[i] = byte(v)
		v >>= 8
	}
	return b
}

// temp writes data to a file of its own.
func temp(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
