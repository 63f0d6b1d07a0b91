package table

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/dprelease/dprelease/internal/data/table/pagewalk"
)

var errLibrary = fail(CodeCorrupt, "", "the values of a page cannot be decoded")

// library decodes the delta and byte-stream-split encodings with arrow-go's column reader. It gives the reader one page at
// a time, unpacked and without levels, so that this package decides which page, how many values and how many bytes it reads,
// and not the file.
type library struct {
	leaf   *pagewalk.Leaf
	column *schema.Column
}

// onePage is a file.PageReader over a single page.
type onePage struct {
	page file.Page
	done bool
}

func (o *onePage) SetMaxPageHeaderSize(int)                         {}
func (o *onePage) Page() file.Page                                  { return o.page }
func (o *onePage) Err() error                                       { return nil }
func (o *onePage) GetDictionaryPage() (*file.DictionaryPage, error) { return nil, nil }
func (o *onePage) SeekToPageWithRow(int64) error                    { return errLibrary }
func (o *onePage) Close() error                                     { return nil }
func (o *onePage) Reset(parquet.BufferedReader, int64, compress.Compression, *file.CryptoContext) {
}

func (o *onePage) Next() bool {
	first := !o.done
	o.done = true
	return first
}

func (l *library) open(leaf *pagewalk.Leaf, enc int8, b []byte, n int) (file.ColumnChunkReader, error) {
	if l.leaf != leaf {
		length := int32(-1)
		if leaf.Type == pagewalk.FixedLen {
			length = int32(leaf.TypeLen)
		}
		node, err := schema.NewPrimitiveNode("values", parquet.Repetitions.Required, parquet.Type(leaf.Type), -1, length)
		if err != nil {
			return nil, errLibrary
		}
		l.leaf, l.column = leaf, schema.NewColumn(node, 0, 0)
	}
	rle := parquet.Encodings.RLE
	page := file.NewDataPageV1(memory.NewBufferBytes(b), int32(n), parquet.Encoding(enc), rle, rle, int32(len(b)))
	// The library deprecates this because a page reader from outside must keep its pages alive; this one holds a single
	// page that outlives the reader. There is no other way to hand over a page that was checked.
	//lint:ignore SA1019 see above; the version is pinned, and its removal would fail the build, not a scan
	return file.NewColumnReader(l.column, &onePage{page: page}, memory.DefaultAllocator, nil), nil
}

// fixed decodes n values of fixed width into plain bytes.
func (l *library) fixed(leaf *pagewalk.Leaf, enc int8, b []byte, n int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	if enc == pagewalk.EncDelta {
		if _, err := deltaLength(b, n); err != nil {
			return nil, err
		}
	}
	r, err := l.open(leaf, enc, b, n)
	if err != nil {
		return nil, err
	}
	switch r := r.(type) {
	case *file.Int32ColumnChunkReader:
		return numbers(r, n)
	case *file.Int64ColumnChunkReader:
		return numbers(r, n)
	case *file.Float32ColumnChunkReader:
		return numbers(r, n)
	case *file.Float64ColumnChunkReader:
		return numbers(r, n)
	case *file.FixedLenByteArrayColumnChunkReader:
		if enc == pagewalk.EncDeltaBytes {
			if err := checkDeltaBytes(b, n); err != nil {
				return nil, err
			}
		}
		v, err := values(r, n)
		if err != nil {
			return nil, err
		}
		out := make([]byte, 0, n*leaf.TypeLen)
		for _, s := range v {
			if len(s) != leaf.TypeLen {
				return nil, errLibrary
			}
			out = append(out, s...)
		}
		return out, nil
	}
	return nil, errUnsupportedType
}

// batchReader is what the library's readers have in common.
type batchReader[T any] interface {
	ReadBatch(n int64, values []T, defs, reps []int16) (int64, int, error)
	Err() error
}

func values[T any](r batchReader[T], n int) ([]T, error) {
	v := make([]T, n)
	if _, got, err := r.ReadBatch(int64(n), v, nil, nil); err != nil || got != n || r.Err() != nil {
		return nil, errLibrary
	}
	return v, nil
}

func numbers[T number](r batchReader[T], n int) ([]byte, error) {
	v, err := values(r, n)
	return bytesOf(v), err
}

const textBatchBytes = 16 << 20

// texts decodes n byte arrays and visits them in order. A value may share a prefix with the one before, so a small page
// can stand for far more bytes than it holds. So texts decodes batches of bounded size, and visit counts what it keeps.
func (l *library) texts(leaf *pagewalk.Leaf, enc int8, b []byte, n int, visit func(i int, s []byte) error) error {
	if n == 0 {
		return nil
	}
	var err error
	if enc == pagewalk.EncDeltaBytes {
		err = checkDeltaBytes(b, n)
	} else {
		_, err = deltaLength(b, n)
	}
	if err != nil {
		return err
	}
	chunk, err := l.open(leaf, enc, b, n)
	if err != nil {
		return err
	}
	r, ok := chunk.(*file.ByteArrayColumnChunkReader)
	if !ok {
		return errUnsupportedType
	}
	batch := make([]parquet.ByteArray, max(1, min(n, 4096, textBatchBytes/len(b))))
	for at := 0; at < n; {
		want := min(len(batch), n-at)
		_, got, err := r.ReadBatch(int64(want), batch, nil, nil)
		if err != nil || got != want {
			return errLibrary
		}
		for _, s := range batch[:got] {
			if err := visit(at, s); err != nil {
				return err
			}
			at++
		}
	}
	return nil
}

// checkDeltaBytes checks the two lists of lengths at the start of a page of incremental strings.
func checkDeltaBytes(b []byte, n int) error {
	used, err := deltaLength(b, n)
	if err != nil {
		return err
	}
	_, err = deltaLength(b[used:], n)
	return err
}

// maxDeltaBlock bounds what the library allocates for one block. Writers use 128 to a few thousand values.
const maxDeltaBlock = 1 << 16

// deltaLength returns how many bytes a delta-packed list of exactly n numbers takes, without decoding it.
func deltaLength(b []byte, n int) (int, error) {
	i := 0
	next := func() uint64 {
		v, k := binary.Uvarint(b[i:])
		if k <= 0 {
			i = len(b) + 1
			return 0
		}
		i += k
		return v
	}
	var head [4]uint64 // block size, miniblocks in a block, count, first value
	for k := range head {
		if head[k] = next(); i > len(b) {
			return 0, errLibrary
		}
	}
	block, minis := head[0], head[1]
	if block == 0 || block > maxDeltaBlock || minis == 0 || block%minis != 0 || block/minis%32 != 0 || head[2] != uint64(n) {
		return 0, errLibrary
	}
	per := int(block / minis)
	for left := n - 1; left > 0; {
		next() // the smallest delta
		if i+int(minis) > len(b) {
			return 0, errLibrary
		}
		widths := b[i : i+int(minis)]
		i += int(minis)
		for k := 0; k < len(widths) && left > 0; k++ {
			if widths[k] > 64 {
				return 0, errLibrary
			}
			i += int(widths[k]) * per / 8
			left -= per
		}
		if i > len(b) {
			return 0, errLibrary
		}
	}
	return i, nil
}
