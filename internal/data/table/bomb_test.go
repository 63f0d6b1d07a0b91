package table

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/dprelease/dprelease/internal/testkit/parquet"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// live is the memory that a collection finds in use now: garbage is not counted.
func live() uint64 {
	runtime.GC()
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// within scans columns of a table (nil: all) within a memory and returns the rows, how much was in use at most, and
// whether Examine found the failure.
func within(t *testing.T, path string, columns []string, limit int64) (rows int64, peak uint64, before bool, err error) {
	t.Helper()
	start := live()
	tab, err := Open(t.Context(), Spec{Path: path, Memory: limit})
	if err != nil {
		return 0, 0, true, err
	}
	defer tab.Close()
	if columns == nil {
		columns = tab.Usable()
	}
	if err := tab.Examine(t.Context(), columns); err != nil {
		return 0, 0, true, err
	}
	done := make(chan struct{})
	sampled := make(chan uint64)
	go func() {
		var most uint64
		for {
			select {
			case <-done:
				sampled <- most
				return
			case <-time.After(5 * time.Millisecond):
				most = max(most, live())
			}
		}
	}()
	err = tab.Scan(context.Background(), ScanOptions{Columns: columns, Workers: 2}, func(b Batch) error {
		rows += int64(b.Rows)
		return nil
	})
	close(done)
	if most := <-sampled; most > start {
		peak = most - start
	}
	return rows, peak, false, err
}

// textColumn makes a column of texts in an encoding.
func textColumn(name string, n int, encoding parquet.Encoding, text func(i int) string) genColumn {
	values := make([]parquet.ByteArray, n)
	for i := range values {
		values[i] = parquet.ByteArray(text(i))
	}
	node := parquet.NewNode(name, parquet.Repetitions.Required, parquet.StringLogicalType, parquet.Types.ByteArray, -1)
	return genColumn{node: node, values: values, encoding: encoding}
}

// TestBombs: small files that stand for far more memory than a scan may take are refused before it, within its memory.
func TestBombs(t *testing.T) {
	const limit = 64 << 20
	long := strings.Repeat("x", 40_000)
	delta := writeParquet(t, style{codec: parquet.Codecs.Zstd, groups: []int{10_000}, pageSize: 1 << 30},
		[]genColumn{textColumn("s", 10_000, parquet.Encodings.DeltaByteArray, func(i int) string { return long + fmt.Sprint(i) })})
	zstd := writeParquet(t, style{codec: parquet.Codecs.Zstd, groups: []int{2000}, pageSize: 1 << 30},
		[]genColumn{textColumn("s", 2000, 0, func(i int) string { return fmt.Sprint(i) + long })})
	node := parquet.NewNode("d", parquet.Repetitions.Required, parquet.NewDecimalLogicalType(70, 2), parquet.Types.FixedLenByteArray, 32)
	decimals := writeParquet(t, style{codec: parquet.Codecs.Zstd, groups: []int{2_000_000}, pageSize: 1 << 30},
		[]genColumn{{node: node, values: slices.Repeat([]parquet.FixedLenByteArray{make([]byte, 32)}, 2_000_000), encoding: parquet.Encodings.ByteStreamSplit}})
	for name, data := range map[string][]byte{
		"decimals that are all equal":         decimals,
		"400 MB of text with shared prefixes": delta,
		"80 MB of compressed text":            zstd,
		"30 columns of 2^24 equal values":     runLengths(t, 30),
		"views that overlap":                  overlappingViews(t),
	} {
		t.Run(name, func(t *testing.T) {
			path := temp(t, "bomb", data)
			start := time.Now()
			rows, peak, before, err := within(t, path, nil, limit)
			var e *Error
			if !errors.As(err, &e) || e.Code != CodeLimit || !before {
				t.Errorf("%d rows, %v, found by Examine: %v", rows, err, before)
			}
			if peak > 3*limit { // what is in use includes what is not collected yet
				t.Errorf("%d MB were in use", peak>>20)
			}
			t.Logf("%d KB stored, %v, %d MB in use: %v", len(data)>>10, time.Since(start), peak>>20, err)
		})
	}
	// A few of these columns are a page each, and fit.
	if rows, _, _, err := within(t, temp(t, "x", runLengths(t, 1)), nil, 512<<20); err != nil || rows != 1<<24 {
		t.Error(rows, err)
	}
}

// runLengths makes a file of which each column is one page that declares 2^24 times the same value in a few bytes.
func runLengths(t *testing.T, columns int) []byte {
	const n = 1 << 24
	var cols []genColumn
	for i := range columns {
		node := parquet.NewNode(fmt.Sprintf("c%02d", i), parquet.Repetitions.Optional, parquet.NoLogicalType, parquet.Types.Double, 0)
		cols = append(cols, genColumn{node: node, values: make([]float64, 8), valid: make([]bool, 8)})
	}
	base := writeParquet(t, style{codec: parquet.Codecs.Uncompressed, groups: []int{8}}, cols)
	return rewrite(base, func(p *craftedPage) {
		if p.header.field(1).num != 0 {
			return
		}
		levels := append(binary.AppendUvarint(nil, n<<1), 0)
		p.body = append(binary.LittleEndian.AppendUint32(nil, uint32(len(levels))), levels...)
		p.header.field(2).num, p.header.field(3).num = int64(len(p.body)), int64(len(p.body))
		p.header.field(5).field(1).num = n
	}, func(f *tnode) {
		g := &f.field(4).list[0]
		f.field(3).num, g.field(3).num = n, n
		for i := range g.field(1).list {
			g.field(1).list[i].field(3).field(5).num = n
		}
	})
}

// overlappingViews makes an Arrow file of 20,000 views, each of the whole of one text of 100 KB: 2 GB.
func overlappingViews(t *testing.T) []byte {
	const n = 20_000
	s := arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.BinaryTypes.StringView}}, nil)
	random := make([]byte, 120_000)
	r := rand.New(rand.NewPCG(1, 1))
	for i := range random {
		random[i] = byte(r.Uint32())
	}
	text := memory.NewBufferBytes(random)
	views := make([]byte, 16*n)
	for i := range n {
		v := views[16*i:]
		binary.LittleEndian.PutUint32(v, 100_000)
		copy(v[4:8], text.Bytes()[i:])
		binary.LittleEndian.PutUint32(v[12:], uint32(i))
	}
	data := array.NewData(arrow.BinaryTypes.StringView, n, []*memory.Buffer{nil, memory.NewBufferBytes(views), text}, nil, 0, 0)
	col := array.NewStringViewData(data)
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(s))
	if err := errors.Join(w.Write(array.NewRecord(s, []arrow.Array{col}, n)), w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestLargeFilesThatAreHonest: what is larger than the memory is read in pieces.
func TestLargeFilesThatAreHonest(t *testing.T) {
	const n = 600_000
	s := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}}, nil)
	build := array.NewStringBuilder(memory.DefaultAllocator)
	for i := range n {
		build.Append(fmt.Sprintf("a text of its own %030d", i))
	}
	rec := array.NewRecord(s, []arrow.Array{build.NewArray()}, n)
	for codec, limit := range map[string]int64{"none": 16 << 20, "zstd": 64 << 20, "lz4": 64 << 20} {
		opts := []ipc.Option{ipc.WithSchema(s)}
		switch codec {
		case "zstd":
			opts = append(opts, ipc.WithZstd())
		case "lz4":
			opts = append(opts, ipc.WithLZ4())
		}
		var b bytes.Buffer
		w := ipc.NewWriter(&b, opts...)
		if err := errors.Join(w.Write(rec), w.Close()); err != nil {
			t.Fatal(err)
		}
		rows, peak, _, err := within(t, temp(t, "x", b.Bytes()), nil, limit)
		if err != nil || rows != n || peak > 3*uint64(limit) {
			t.Errorf("%s: %d rows, %v, %d MB in use", codec, rows, err, peak>>20)
		}
		t.Logf("arrow, %s, one batch of %d MB: %d MB in use", codec, b.Len()>>20, peak>>20)
	}
	var cols []genColumn
	for i := range 10 {
		node := parquet.NewNode(fmt.Sprintf("c%d", i), parquet.Repetitions.Required, parquet.NoLogicalType, parquet.Types.Double, 0)
		values := make([]float64, n)
		for k := range values {
			values[k] = float64(k*k%1000) + float64(i)
		}
		cols = append(cols, genColumn{node: node, values: values})
	}
	path := filepath.Join(t.TempDir(), "x.parquet")
	write(t, path, writeParquet(t, style{codec: parquet.Codecs.Snappy, groups: []int{n}, pageSize: 1 << 20}, cols))
	rows, peak, _, err := within(t, path, nil, 24<<20)
	if err != nil || rows != n || peak > 48<<20 {
		t.Errorf("%d rows, %v, %d MB in use", rows, err, peak>>20)
	}
	t.Logf("parquet, a row group of %d MB: %d MB in use", 10*n*8>>20, peak>>20)
}

// TestKnownBeforeTheDebit: what the footer and the headers tell, Verify tells.
func TestKnownBeforeTheDebit(t *testing.T) {
	base := control(t, parquet.Codecs.Snappy, true, false, false, 0, nil)
	for _, codec := range []int64{3, 8, 99} {
		data := rewrite(base, func(*craftedPage) {}, func(f *tnode) { f.field(4).list[0].field(1).list[0].field(3).field(4).num = codec })
		_, _, before, err := within(t, temp(t, "x", data), nil, 1<<30)
		var e *Error
		if !errors.As(err, &e) || e.Code != CodeUnsupported || !before {
			t.Errorf("codec %d: %v, found by Examine: %v", codec, err, before)
		}
	}
}

// TestNamesThatUnfold: a schema repeats the name of a group in the name of each column inside.
func TestNamesThatUnfold(t *testing.T) {
	base := control(t, parquet.Codecs.Uncompressed, false, false, false, 0, nil)
	data := rewrite(base, nil, func(f *tnode) {
		num := func(n int64) tnode { return tnode{typ: 5, num: n} }
		text := func(s string) tnode { return tnode{typ: 8, bytes: []byte(s)} }
		element := func(fields []int, values ...tnode) tnode { return tnode{typ: 12, fields: fields, list: values} }
		const columns = 20
		schema := []tnode{element([]int{4, 5}, text("root"), num(1)), element([]int{3, 4, 5}, num(0), text(strings.Repeat("x", 1<<20)), num(columns))}
		for range columns {
			schema = append(schema, element([]int{1, 3, 4}, num(1), num(0), text("y")))
		}
		f.field(2).list, f.field(3).num, f.field(4).list = schema, 0, nil
	})
	_, err := Open(t.Context(), Spec{Path: temp(t, "x.parquet", data)})
	var e *Error
	if !errors.As(err, &e) || e.Code != CodeLimit {
		t.Error(err)
	}
}

// TestEmptyNames: a header of a comma for each column takes little space, and a column much.
func TestEmptyNames(t *testing.T) {
	_, err := Open(t.Context(), Spec{Path: temp(t, "x.csv", []byte(strings.Repeat(",", 200_000)+"\n"))})
	var e *Error
	if !errors.As(err, &e) || e.Code != CodeLimit {
		t.Error(err)
	}
}

// TestTextThatRepeats: texts that a file holds once and names often are equal, so they take no memory; but each is looked at.
func TestTextThatRepeats(t *testing.T) {
	tier.Full(t, "TestBombs")
	long := strings.Repeat("x", 100_000)
	build := array.NewStringViewBuilder(memory.DefaultAllocator)
	build.Append(long)
	one := build.NewStringViewArray()
	views := bytes.Repeat(one.Data().Buffers()[1].Bytes()[:16], 20_000)
	data := array.NewData(arrow.BinaryTypes.StringView, 20_000, append([]*memory.Buffer{nil, memory.NewBufferBytes(views)}, one.Data().Buffers()[2:]...), nil, 0, 0)
	s := arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.BinaryTypes.StringView}}, nil)
	var arrows bytes.Buffer
	w := ipc.NewWriter(&arrows, ipc.WithSchema(s))
	if err := errors.Join(w.Write(array.NewRecord(s, []arrow.Array{array.NewStringViewData(data)}, 20_000)), w.Close()); err != nil {
		t.Fatal(err)
	}
	delta := writeParquet(t, style{codec: parquet.Codecs.Zstd, groups: []int{20_000}, pageSize: 1 << 30},
		[]genColumn{textColumn("s", 20_000, parquet.Encodings.DeltaByteArray, func(int) string { return long })})
	_, _, _, err := within(t, temp(t, "x", arrows.Bytes()), nil, 64<<20)
	var e *Error
	if !errors.As(err, &e) || e.Code != CodeLimit {
		t.Error("views:", err)
	}
	// A page of incremental texts says that a text is the one before, and nobody looks at it again.
	if rows, peak, _, err := within(t, temp(t, "x", delta), nil, 64<<20); err != nil || rows != 20_000 || peak > 16<<20 {
		t.Errorf("shared prefixes: %d rows, %d MB, %v", rows, peak>>20, err)
	}
}
