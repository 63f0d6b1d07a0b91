package iceberg

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// avroFile is an Avro file with blocks that were packed by a codec.
func avroFile(codec string, blocks ...[]byte) []byte {
	text := func(b, s []byte) []byte { return append(binary.AppendVarint(b, int64(len(s))), s...) }
	b := append([]byte("Obj\x01"), binary.AppendVarint(nil, 1)...)
	b = append(text(text(b, []byte("avro.codec")), []byte(codec)), 0)
	sync := make([]byte, 16)
	b = append(b, sync...)
	for _, block := range blocks {
		b = append(text(binary.AppendVarint(b, 1), block), sync...)
	}
	return b
}

// A few kilobytes of a manifest that unpack to more than is allowed are found out before the library unpacks them, also where
// they are spread over many blocks.
func TestUnpacksTo(t *testing.T) {
	const size = 8 << 20
	zeros := make([]byte, size)
	var deflated bytes.Buffer
	w, err := flate.NewWriter(&deflated, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write(zeros)
	w.Close()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for codec, block := range map[string][]byte{"deflate": deflated.Bytes(), "zstandard": z.EncodeAll(zeros, nil), "snappy": binary.AppendUvarint(nil, size), "null": zeros} {
		file := avroFile(codec, block, block, block)
		if !unpacksTo(file, 3*size) || unpacksTo(file, 3*size-1) {
			t.Errorf("%s: three blocks of %d bytes", codec, size)
		}
	}
	if unpacksTo(avroFile("bzip2", []byte("x")), size) {
		t.Error("an unknown codec")
	}
	files, err := filepath.Glob("testdata/*/metadata/*.avro")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !unpacksTo(text, maxList) || unpacksTo(text, 100) {
			t.Error(name)
		}
	}
}

func FuzzUnpacksTo(f *testing.F) {
	f.Add(avroFile("null", []byte("x")))
	f.Add(avroFile("deflate", []byte{3, 0}))
	f.Add([]byte("Obj\x01"))
	f.Fuzz(func(t *testing.T, file []byte) {
		if unpacksTo(file, 1<<20) && !unpacksTo(file, 2<<20) {
			t.Error("what fits into less does not fit into more")
		}
	})
}
