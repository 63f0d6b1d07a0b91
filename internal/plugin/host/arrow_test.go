package host

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"

	"github.com/dprelease/dprelease/internal/plugin/wire"
	"github.com/dprelease/dprelease/plugins/sdk"
)

var arrowColumns = []sdk.Column{{Name: "x", Type: sdk.Number}, {Name: "g", Type: sdk.Category, Domain: []string{"a", "b", "c"}}}

// closer is a buffer that can be closed.
type closer struct{ bytes.Buffer }

func (*closer) Close() error { return nil }

func writeArrow(t testing.TB, batches ...sdk.Batch) []byte {
	t.Helper()
	var out closer
	w := &arrowWriter{out: &out, columns: arrowColumns}
	for _, b := range batches {
		if err := b.Check(arrowColumns); err != nil {
			t.Fatal(err)
		}
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func randomBatch(n int, missing, weights bool) sdk.Batch {
	b := sdk.Batch{Rows: n, Columns: []sdk.Values{{Float64: make([]float64, n)}, {Codes: make([]int32, n)}}}
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

// The stream is plain Arrow IPC: any library reads the rows that were written.
func TestArrow(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 9, 1000, wire.BatchRows, wire.BatchRows + 1, 3*wire.BatchRows + 77} {
		for _, missing := range []bool{false, true} {
			for _, weights := range []bool{false, true} {
				first, second := randomBatch(n, missing, weights), randomBatch(5, missing, weights)
				out := writeArrow(t, first, second)
				r, err := ipc.NewReader(bytes.NewReader(out))
				if err != nil {
					t.Fatal(err)
				}
				if v, ok := r.Schema().Metadata().GetValue(metaVersion); !ok || v != "1" {
					t.Errorf("the schema's version is %q", v)
				}
				var x, w []float64
				var g []int32
				var valid, known []bool
				for r.Next() {
					rec := r.Record()
					if rec.NumRows() > wire.BatchRows {
						t.Errorf("a batch of %d rows", rec.NumRows())
					}
					xs, gs := rec.Column(0).(*array.Float64), rec.Column(1).(*array.Int32)
					x, g = append(x, xs.Float64Values()...), append(g, gs.Int32Values()...)
					for i := range xs.Len() {
						valid, known = append(valid, xs.IsValid(i)), append(known, gs.IsValid(i))
					}
					if weights {
						w = append(w, rec.Column(2).(*array.Float64).Float64Values()...)
					}
				}
				if r.Err() != nil {
					t.Fatal(r.Err())
				}
				r.Release()
				if !reflect.DeepEqual(x, append(first.Columns[0].Float64, second.Columns[0].Float64...)) ||
					!reflect.DeepEqual(g, append(first.Columns[1].Codes, second.Columns[1].Codes...)) ||
					weights && !reflect.DeepEqual(w, append(first.Weights, second.Weights...)) {
					t.Fatalf("%d rows changed", n)
				}
				for i := range n {
					if valid[i] != first.IsValid(0, i) || known[i] != first.IsValid(1, i) {
						t.Fatalf("validity of row %d of %d changed", i, n)
					}
				}
				if end := out[len(out)-8:]; !bytes.Equal(end, []byte{255, 255, 255, 255, 0, 0, 0, 0}) {
					t.Errorf("the stream ends with %v, not with its mark", end)
				}
			}
		}
	}
}
