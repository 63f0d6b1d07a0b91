package pagewalk

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"io"
	"math"
	"slices"
)

const magic = "PAR1"

// Footer is a file's description of itself, checked against the file's size and against itself.
type Footer struct {
	Rows   int64
	Leaves []Leaf
	Groups []Group
}

// Group is one row group.
type Group struct {
	Rows   int64
	Chunks []Chunk // one for each leaf, in schema order
}

// Chunk is the place of one column of one row group in the file.
type Chunk struct {
	Start, Len int64 // of all its pages
	DataPage   int64 // offset the footer names for the first data page
	Values     int64
	Codec      int8
	Encodings  uint16 // bit i: encoding i is declared
	HasDict    bool   // the footer names a dictionary page
}

// ReadFooter finds and parses the footer of a file of the given size.
func ReadFooter(r io.ReaderAt, size int64) (*Footer, error) {
	if size < 12 {
		return nil, corrupt("too short to be a parquet file")
	}
	var head [4]byte
	var tail [8]byte
	if _, err := r.ReadAt(head[:], 0); err != nil {
		return nil, &Fault{ReadFailed, "the start of the file cannot be read"}
	}
	if _, err := r.ReadAt(tail[:], size-8); err != nil {
		return nil, &Fault{ReadFailed, "the end of the file cannot be read"}
	}
	if string(tail[4:]) == "PARE" || string(head[:]) == "PARE" {
		return nil, unsupported("the file is encrypted")
	}
	if string(head[:]) != magic || string(tail[4:]) != magic {
		return nil, corrupt("the file does not begin and end with PAR1")
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if n > size-12 {
		return nil, corrupt("the footer is longer than the file")
	}
	if n > maxFooterBytes {
		return nil, tooBig("the footer is longer than %d bytes", maxFooterBytes)
	}
	b := make([]byte, n)
	if _, err := r.ReadAt(b, size-8-n); err != nil {
		return nil, &Fault{ReadFailed, "the footer cannot be read"}
	}
	f, err := parseFooter(b, size)
	if err != nil {
		return nil, err
	}
	return f, f.single(r, size-8-n)
}

// single refuses several files in one. The last footer counts its offsets from the start of its own file, so it would give
// the rows of the first file if that has the same layout. single finds the end of one file and the start of the next among
// the bytes that belong to no chunk.
func (f *Footer) single(r io.ReaderAt, end int64) error {
	const overlap = 2*len(magic) - 1
	buf := make([]byte, bodyBytes)
	from := int64(len(magic))
	for _, s := range append(f.spans(), span{end, end}) {
		for from < s.from {
			b := buf[:min(int64(len(buf)), s.from-from)]
			if _, err := r.ReadAt(b, from); err != nil {
				return &Fault{ReadFailed, "the file cannot be read"}
			}
			if bytes.Contains(b, []byte(magic+magic)) {
				return corrupt("several parquet files were written into one; keep them apart, and name their folder")
			}
			if len(b) <= overlap {
				break
			}
			from += int64(len(b) - overlap)
		}
		from = max(from, s.to)
	}
	return nil
}

// span is a stretch of a file.
type span struct{ from, to int64 }

// spans returns the places of the chunks, in order.
func (f *Footer) spans() []span {
	var spans []span
	for g := range f.Groups {
		for _, c := range f.Groups[g].Chunks {
			if c.Values > 0 {
				spans = append(spans, span{c.Start, c.Start + c.Len})
			}
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	return spans
}

// parseFooter parses the bytes of a footer that ends 8 bytes before the end of a file of the given size.
func parseFooter(b []byte, size int64) (*Footer, error) {
	c := &compact{b: b}
	f := &Footer{}
	encrypted := func(byte) { c.refuse(unsupported("the file is encrypted or signed")) }
	has := c.object(places{
		2: func(typ byte) {
			var err error
			if f.Leaves, err = readSchema(c, typ); err != nil {
				c.err = err
			}
		},
		3: &f.Rows,
		4: func(typ byte) {
			if err := f.readGroups(c, typ, size-8-int64(len(b))); err != nil {
				c.err = err
			}
		},
		8: encrypted, 9: encrypted,
	})
	c.explain("the footer cannot be read")
	switch {
	case c.err != nil:
		return nil, c.err
	case c.i != len(b):
		return nil, corrupt("the footer is followed by bytes that belong to nothing")
	case !has.all(2, 3, 4):
		return nil, corrupt("the footer lacks its schema, rows or row groups")
	}
	if err := f.check(size); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *Footer) check(size int64) error {
	var rows int64
	for i := range f.Groups {
		if f.Groups[i].Rows > math.MaxInt64-rows {
			return corrupt("the row groups' rows overflow")
		}
		rows += f.Groups[i].Rows
	}
	if rows != f.Rows {
		return corrupt("the row groups do not sum to the file's rows")
	}
	if TooManyRows(rows, size) {
		return tooBig("the file declares far more rows than its bytes can plausibly hold")
	}
	return f.checkOverlap()
}

// checkOverlap refuses chunks that share bytes. A damaged offset could read one column's pages as another's.
func (f *Footer) checkOverlap() error {
	spans := f.spans()
	for i := 1; i < len(spans); i++ {
		if spans[i].from < spans[i-1].to {
			return corrupt("two column chunks share bytes")
		}
	}
	return nil
}
