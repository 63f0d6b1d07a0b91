package pagewalk

import "slices"

// Encodings, numbered as in the format.
const (
	EncPlain           = 0
	EncPlainDictionary = 2
	EncRLE             = 3
	EncBitPacked       = 4
	EncDelta           = 5
	EncDeltaLength     = 6
	EncDeltaBytes      = 7
	EncRLEDictionary   = 8
	EncStreamSplit     = 9
)

// Codecs, numbered as in the format.
const (
	Uncompressed = 0
	Snappy       = 1
	Gzip         = 2
	LZO          = 3
	Brotli       = 4
	LZ4Hadoop    = 5
	Zstd         = 6
	LZ4Raw       = 7
)

const (
	dataPage       = 0
	indexPage      = 1
	dictionaryPage = 2
	dataPageV2     = 3
)

// Page describes one page of a chunk, as its header declares it.
type Page struct {
	Off              int64 // of the first byte after the header
	First            int64 // row of its first value, counted from the start of the row group
	Stored, Unpacked int32 // bytes in the file and after decompression
	Values           int32
	Nulls            int32 // -1 where the header does not say
	DefLen, RepLen   int32 // bytes of levels in front of the values (v2)
	Texts            int64 // bytes of the texts of a page of incremental texts, once somebody has counted them
	CRC              uint32
	HasCRC           bool
	V2               bool
	Packed           bool // the values are compressed by the chunk's codec
	Encoding         int8
	kind             int8
}

// Coded reports whether the page holds indices into a dictionary.
func (p *Page) Coded() bool {
	return p.Encoding == EncPlainDictionary || p.Encoding == EncRLEDictionary
}

// Front returns how many bytes of levels come before the compressed part of a v2 page.
func (p *Page) Front() int { return int(p.DefLen) + int(p.RepLen) }

// parseHeader reads the page header at the start of b and returns its length. more says that b is too short.
func parseHeader(b []byte) (p Page, n int, more bool, err error) {
	c := &compact{b: b}
	crc, defEnc, rows := int32(0), int32(EncRLE), int32(-1)
	p.Nulls, p.Packed = -1, true
	has := c.object(places{
		1: &p.kind, 2: &p.Unpacked, 3: &p.Stored, 4: &crc,
		5: places{1: &p.Values, 2: &p.Encoding, 3: &defEnc},
		7: places{1: &p.Values, 2: &p.Encoding},
		8: places{1: &p.Values, 2: &p.Nulls, 3: &rows, 4: &p.Encoding, 5: &p.DefLen, 6: &p.RepLen, 7: &p.Packed},
	})
	p.CRC, p.HasCRC, p.V2 = uint32(crc), has.all(4), has.all(8)
	switch {
	case has.last() > 8:
		// The format has no such field. A damaged byte may have shifted the numbers, and the checksum with them.
		c.fail()
	case p.V2 && (rows != p.Values || p.Nulls < 0 || p.Nulls > p.Values):
		c.fail() // flat columns only: rows and values are the same thing
	}
	if c.err == errEnd {
		return p, 0, true, nil
	}
	body := map[int8]int{dataPage: 5, indexPage: 6, dictionaryPage: 7, dataPageV2: 8}
	want, known := body[p.kind]
	if c.err != nil || !known || !has.all(1, 2, 3) || has&(1<<5|1<<6|1<<7|1<<8) != 1<<want {
		return p, 0, false, corrupt("a page header cannot be read")
	}
	if p.kind == dataPage && defEnc != EncRLE {
		p.Nulls = -2 // the deprecated level encoding; refused by check where levels exist
	}
	return p, c.i, false, nil
}

// A page of text may unpack to freeTextBytes, or to maxTextRatio times the bytes that it stores.
const (
	freeTextBytes = 16 << 20
	maxTextRatio  = 64
)

// check compares a data or dictionary page with its column.
func (p *Page) check(leaf *Leaf, k *Chunk) error {
	if p.Stored < 0 || p.Unpacked < 0 || p.Values < 0 || p.DefLen < 0 || p.RepLen < 0 {
		return corrupt("column %s: a page header declares a negative size", leaf)
	}
	if p.Values > maxPageValues || p.Stored > maxPageBytes || p.Unpacked > maxPageBytes {
		return tooBig("column %s: a page is larger than %d values or %d bytes", leaf, maxPageValues, maxPageBytes)
	}
	if leaf.Type == ByteArray && p.Unpacked > freeTextBytes && int64(p.Unpacked) > maxTextRatio*int64(p.Stored) {
		return tooBig("column %s: a page of text unpacks to far more than it stores", leaf)
	}
	if p.kind == indexPage {
		return nil
	}
	levels := int64(p.DefLen) + int64(p.RepLen)
	if levels > int64(p.Stored) || levels > int64(p.Unpacked) {
		return corrupt("column %s: a page's levels are longer than the page", leaf)
	}
	if (k.Codec == Uncompressed || !p.Packed) && p.Stored != p.Unpacked {
		return corrupt("column %s: an uncompressed page declares two sizes", leaf)
	}
	switch {
	case p.kind == dictionaryPage:
		if p.Values > maxDictValues || p.Stored > maxDictBytes || p.Unpacked > maxDictBytes {
			return tooBig("column %s: a dictionary is larger than %d values or %d bytes", leaf, maxDictValues, maxDictBytes)
		}
		if p.Encoding != EncPlain && p.Encoding != EncPlainDictionary || leaf.Type == Boolean {
			return corrupt("column %s: its dictionary is not plain", leaf)
		}
		if w := leaf.Width(); w > 0 && int64(p.Unpacked) != int64(p.Values)*int64(w) ||
			w == 0 && int64(p.Unpacked) < 4*int64(p.Values) {
			return corrupt("column %s: its dictionary does not hold what it declares", leaf)
		}
		return nil
	case !slices.Contains(encoded[p.Encoding], leaf.Type):
		return unsupported("column %s: an encoding that its type does not have", leaf)
	case !p.declared(k):
		return corrupt("column %s: a page uses an encoding that the footer does not declare", leaf)
	case leaf.MaxDef > 0 && p.Nulls == -2:
		return unsupported("column %s: the deprecated bit-packed levels", leaf)
	case leaf.MaxDef == 0 && (p.DefLen > 0 || p.Nulls > 0):
		return corrupt("column %s: a column without nulls has levels or nulls", leaf)
	}
	if p.Nulls == -2 || leaf.MaxDef > 0 && p.Nulls == 0 {
		// Zero means nothing: arrow-go writes it if it keeps no statistics. The levels decide.
		p.Nulls = -1
	}
	return p.checkSize(leaf, levels)
}

// checkSize compares the size of a page with the values that it declares, without reading the page.
func (p *Page) checkSize(leaf *Leaf, levels int64) error {
	present, known := int64(p.Values), leaf.MaxDef == 0
	if p.Nulls > 0 {
		present, known = int64(p.Values)-int64(p.Nulls), true
	}
	body := int64(p.Unpacked) - levels
	width := int64(leaf.Width())
	fixed := p.Encoding == EncPlain || p.Encoding == EncStreamSplit
	want := present * width
	if leaf.Type == Boolean {
		want = (present + 7) / 8
	}
	if fixed && leaf.Type != ByteArray && known && body != want {
		return corrupt("column %s: a page does not hold the values it declares", leaf)
	}
	// No encoding of a fixed width needs more than this; a page that claims more is a bomb.
	if (leaf.Type != ByteArray || p.Coded()) && body > 1<<16+present*(width+8) {
		return tooBig("column %s: a page unpacks to far more than its values need", leaf)
	}
	return nil
}

// declared reports whether the chunk's list of encodings names that of the page. No checksum covers a page header, and a
// damaged encoding could turn one valid reading of the bytes into another.
func (p *Page) declared(k *Chunk) bool {
	if p.Coded() {
		return k.Encodings&(1<<EncPlainDictionary|1<<EncRLEDictionary) != 0
	}
	return k.Encodings&(1<<p.Encoding) != 0
}

// encoded lists the types that each encoding may store.
var encoded = map[int8][]Type{
	EncPlain:           {Boolean, Int32, Int64, Int96, Float, Double, ByteArray, FixedLen},
	EncPlainDictionary: {Int32, Int64, Int96, Float, Double, ByteArray, FixedLen},
	EncRLEDictionary:   {Int32, Int64, Int96, Float, Double, ByteArray, FixedLen},
	EncRLE:             {Boolean},
	EncDelta:           {Int32, Int64},
	EncDeltaLength:     {ByteArray},
	EncDeltaBytes:      {ByteArray, FixedLen},
	EncStreamSplit:     {Int32, Int64, Float, Double, FixedLen},
}
