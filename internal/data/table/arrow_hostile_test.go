package table

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/dprelease/dprelease/internal/testkit/testdir"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// TestArrowMutations: a damaged Arrow file gives an Error or a whole table, never a panic or a short read. Arrow has
// no checksums, so values may differ.
func TestArrowMutations(t *testing.T) {
	var files [][]byte
	for i, codec := range []string{"none", "lz4", "zstd"} {
		for _, stream := range []bool{false, true} {
			b, _ := writeArrow(t, arrowStyle{stream: stream, codec: codec, nulls: 0.2, batches: []int{20, 7}, every: 2 + i})
			files = append(files, b)
		}
	}
	path := filepath.Join(testdir.New(t), "x")
	read := 0
	for i := range tier.Of(120, 3000) {
		r := rand.New(rand.NewPCG(55, uint64(i)))
		if err := os.WriteFile(path, mutate(files[i%len(files)], r), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := scanSane(path)
		if err := onlyOurs(err); err != nil {
			t.Fatalf("mutation %d: %v", i, err)
		}
		if err == nil {
			read++
		}
	}
	if read == 0 {
		t.Error("nothing survived: the files were not valid to begin with")
	}
}

// place returns where a buffer of a column of the first batch lies.
func place(t *testing.T, data []byte, column string, part int) int64 {
	t.Helper()
	tab := must(Open(t.Context(), Spec{Path: temp(t, "x", data)}))
	defer tab.Close()
	f := tab.files[0].dataFile.(*arrowFile)
	for i, c := range f.cols {
		if c.Name == column {
			return f.batches[0].columns[i].parts[part].off
		}
	}
	t.Fatal("no column", column)
	return 0
}

func TestArrowBuffersThatLie(t *testing.T) {
	plain, _ := writeArrow(t, arrowStyle{codec: "none", batches: []int{50}})
	packed, _ := writeArrow(t, arrowStyle{codec: "lz4", batches: []int{50}})
	zstd, _ := writeArrow(t, arrowStyle{codec: "zstd", batches: []int{50}})
	put16 := func(v uint16) []byte { return binary.LittleEndian.AppendUint16(nil, v) }
	put32 := func(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
	put64 := func(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
	for name, c := range map[string]struct {
		data   []byte
		column string
		part   int
		at     int64
		with   []byte
		code   string
	}{
		"index outside its dictionary": {plain, "dict", 1, 6, put16(4), CodeCorrupt},
		"negative index":               {plain, "dict", 1, 6, put16(0xffff), CodeCorrupt},
		"offset before the one before": {plain, "text", 1, 8, put32(0), CodeCorrupt},
		"negative offset":              {plain, "text", 1, 0, put32(1 << 31), CodeCorrupt},
		"offset beyond the text":       {plain, "text", 1, 200, put32(1 << 24), CodeCorrupt},
		"2 GB of text":                 {plain, "text", 1, 200, put32(1<<31 - 1), CodeCorrupt},
		"wide offset beyond the text":  {plain, "large", 1, 400, put64(1 << 60), CodeCorrupt},
		"view of another buffer":       {plain, "view", 1, 0, append(put32(20), 0, 0, 0, 0, 9, 0, 0, 0), CodeCorrupt},
		"view of negative length":      {plain, "view", 1, 0, put32(1 << 31), CodeCorrupt},
		"lz4 of 2^40 bytes":            {packed, "f64", 1, 0, put64(1 << 40), CodeLimit},
		"lz4 of -2 bytes":              {packed, "f64", 1, 0, put64(1<<64 - 2), CodeLimit},
		"lz4 of fewer bytes":           {packed, "f64", 1, 0, put64(8), CodeCorrupt},
		"lz4 that is not":              {packed, "f64", 1, 8, make([]byte, 8), CodeCorrupt},
		"zstd of 2^62 bytes":           {zstd, "text", 2, 0, put64(1 << 62), CodeLimit},
		"zstd of fewer bytes":          {zstd, "f64", 1, 0, put64(399), CodeCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			bad := append([]byte(nil), c.data...)
			copy(bad[place(t, c.data, c.column, c.part)+c.at:], c.with)
			refused(t, c.code, bad)
		})
	}
}

// TestArrowSchemaThatUnfolds: forty fields, each with two children that are the same next field, are a kilobyte that
// stands for 2^40 fields.
func TestArrowSchemaThatUnfolds(t *testing.T) {
	b := flatbuffers.NewBuilder(0)
	field := func(children ...flatbuffers.UOffsetT) flatbuffers.UOffsetT {
		b.StartVector(4, len(children), 4)
		for _, c := range children {
			b.PrependUOffsetT(c)
		}
		list := b.EndVector(len(children))
		name := b.CreateString("x")
		b.StartObject(0)
		typ := b.EndObject()
		b.StartObject(7)
		b.PrependUOffsetTSlot(0, name, 0)
		b.PrependByteSlot(2, arrowStruct, 0)
		b.PrependUOffsetTSlot(3, typ, 0)
		b.PrependUOffsetTSlot(5, list, 0)
		return b.EndObject()
	}
	f := field()
	for range 40 {
		f = field(f, f)
	}
	b.StartVector(4, 1, 4)
	b.PrependUOffsetT(f)
	fields := b.EndVector(1)
	b.StartObject(4)
	b.PrependUOffsetTSlot(1, fields, 0)
	schema := b.EndObject()
	b.StartObject(5)
	b.PrependInt16Slot(0, 4, 0)
	b.PrependByteSlot(1, headerSchema, 0)
	b.PrependUOffsetTSlot(2, schema, 0)
	b.Finish(b.EndObject())
	meta := b.FinishedBytes()
	for len(meta)%8 != 0 {
		meta = append(meta, 0)
	}
	data := binary.LittleEndian.AppendUint32([]byte{255, 255, 255, 255}, uint32(len(meta)))
	data = append(append(data, meta...), 255, 255, 255, 255, 0, 0, 0, 0)
	refused(t, CodeLimit, data)
}

// TestArrowMessagesThatLie: lengths in front of messages do not decide what is allocated.
func TestArrowMessagesThatLie(t *testing.T) {
	stream, _ := writeArrow(t, arrowStyle{stream: true, codec: "none", batches: []int{9}, every: 7})
	for name, head := range map[string][]byte{
		"2 GB of description": {255, 255, 255, 255, 255, 255, 255, 127},
		"negative length":     {255, 255, 255, 255, 0, 0, 0, 128},
		"no marker":           {255, 255, 255, 127, 0, 0, 0, 0},
		"end at once":         {255, 255, 255, 255, 0, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, CodeCorrupt, append(append([]byte(nil), head...), stream[8:]...))
		})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	_, err := Open(context.Background(), Spec{Path: temp(t, "x", append(stream[:len(stream)-8:len(stream)-8], 1, 2, 3))})
	runtime.ReadMemStats(&after)
	var e *Error
	if !errors.As(err, &e) || time.Since(start) > time.Minute || after.TotalAlloc-before.TotalAlloc > 50<<20 {
		t.Error(err)
	}
}
