package table

import (
	"encoding/binary"
	"io"

	"github.com/apache/arrow/go/v15/arrow/bitutil"
)

// arrowDecoder decodes a stretch of one column of one batch.
type arrowDecoder struct {
	w     *worker
	r     io.ReaderAt
	batch *arrowBatch
	col   int
	whole *sharedParts
	dict  *sharedDict // nil where the column has none
	of    *arrowDict  // the dictionary itself
	size  *int64      // the place for the bytes that the texts of the stretch take, nil for numbers and codes
	out   *vec
	raw   holding // bytes that were read and are no part of the values
}

// sharedParts holds the parts of a column that are read as a whole, by column and part.
type sharedParts struct {
	shared
	parts map[[2]int][]byte
}

// sharedDict holds a decoded dictionary.
type sharedDict struct {
	shared
	dict *dictionary
}

func (d *arrowDecoder) field() *arrowField { return &d.batch.fields[d.col] }

// part returns size bytes of a part of a column, from off on. They belong to hold, or are shared.
func (d *arrowDecoder) part(hold *holding, col, k int, off, size int64) ([]byte, error) {
	c := &d.batch.columns[col]
	if off < 0 || size < 0 || off+size > c.unpacked[k] {
		return nil, errBuffer
	}
	if size == 0 {
		return nil, nil
	}
	if !d.batch.isWhole(col, k) {
		b, err := d.w.arena.get(hold, int(size))
		if err != nil {
			return nil, err
		}
		if _, err := d.r.ReadAt(b, c.parts[k].off+off); err != nil {
			return nil, errBufferRead
		}
		return b, nil
	}
	if err := d.whole.get(d.readWhole); err != nil {
		return nil, err
	}
	return d.whole.parts[[2]int{col, k}][off : off+size], nil
}

// readWhole reads all parts that are read as a whole.
func (d *arrowDecoder) readWhole() error {
	d.whole.parts = map[[2]int][]byte{}
	return d.batch.eachWhole(d.col, func(c, k int) (err error) {
		of := &d.batch.columns[c]
		d.whole.parts[[2]int{c, k}], err = d.w.unpackPart(d.r, d.batch, of.parts[k], of.unpacked[k], &d.whole.hold)
		return err
	})
}

// unpackPart reads a whole part and unpacks it to a size.
func (w *worker) unpackPart(r io.ReaderAt, b *arrowBatch, e extent, size int64, hold *holding) ([]byte, error) {
	dst, err := w.arena.get(hold, int(size))
	if err != nil {
		return nil, err
	}
	src := dst
	if b.codec != codecNone {
		var stored holding
		defer func() { stored.release(w.arena) }()
		if src, err = w.arena.get(&stored, int(e.size)); err != nil {
			return nil, err
		}
	}
	if _, err := r.ReadAt(src, e.off); err != nil {
		return nil, errBufferRead
	}
	switch {
	case b.codec == codecNone:
		return dst, nil
	case int64(binary.LittleEndian.Uint64(src)) == -1:
		copy(dst, src[8:])
		return dst, nil
	}
	return dst, w.unpack.unpackArrow(b.codec, dst, src[8:])
}

func (d *arrowDecoder) decode(from int64, n int) error {
	if n == 0 {
		return nil
	}
	defer func() { d.raw.release(d.w.arena) }()
	for _, col := range d.field().path {
		if d.batch.columns[col].nulls == 0 {
			continue
		}
		b, err := d.part(&d.raw, col, 0, from/8, int64(n+7)/8)
		if err != nil {
			return err
		}
		if d.out.valid == nil {
			if d.out.valid, err = d.w.arena.get(&d.out.hold, len(b)); err != nil {
				return err
			}
			copy(d.out.valid, b)
		}
		for i := range d.out.valid { // a field of a struct that is null is null
			d.out.valid[i] &= b[i]
		}
	}
	s := &d.field().store
	var err error
	switch {
	case d.field().hasDict:
		err = d.indexed(from, n)
	case s.shape == asCodes && s.view:
		err = d.views(from, n)
	case s.shape == asCodes:
		err = d.texts(from, n)
	default:
		err = d.numbers(s, from, n)
	}
	if err != nil {
		return err
	}
	d.zeroNulls(n)
	return nil
}

// zeroNulls puts zero in the places of nulls, whatever the writer left there.
func (d *arrowDecoder) zeroNulls(n int) {
	out := d.out
	if out.valid == nil {
		return
	}
	for i := range n {
		if !bitutil.BitIsSet(out.valid, i) {
			out.zero(i)
		}
	}
}

// null reports whether row i of the stretch is null.
func (d *arrowDecoder) null(i int) bool {
	return d.out.valid != nil && !bitutil.BitIsSet(d.out.valid, i)
}

// numbers decodes anything of fixed width.
func (d *arrowDecoder) numbers(s *storage, from int64, n int) error {
	off, size := from*int64(s.width), int64(n*s.width)
	if s.typ == arrowBool {
		off, size = from/8, int64(n+7)/8
	}
	// Shared memory must not become the values: others would see what zeroNulls does, and the caller may change values.
	hold, inPlace := &d.raw, s.inPlace() && !d.batch.isWhole(d.col, 1)
	if inPlace {
		hold = &d.out.hold
	}
	b, err := d.part(hold, d.col, 1, off, size)
	switch {
	case err != nil:
		return err
	case inPlace && s.shape == asFloat64:
		d.out.f64 = view[float64](b, n)
		return nil
	case inPlace:
		d.out.i64 = view[int64](b, n)
		return nil
	}
	return d.w.fill(s.shape, n, n, d.out, func(v *vec) error {
		switch {
		case s.typ == arrowDecimal:
			return v.decimals(b, s.width, s.scale, true, d.out.valid)
		case s.typ == arrowFloat:
			readFloats(v.f64, s.width, b)
			return nil
		case s.typ == arrowBool:
			readBits(v.i64, b)
			return nil
		}
		readInts(v.i64, s.width, s.signed, b)
		if s.days {
			for i, x := range v.i64 {
				const day = 86_400_000
				v.i64[i] = x / day
				if x%day < 0 {
					v.i64[i]--
				}
			}
		}
		return nil
	})
}

// intern makes codes of n strings. text returns the i-th string.
func (d *arrowDecoder) intern(n int, text func(i int) ([]byte, error)) error {
	if d.size != nil && d.w.skim {
		return d.measure(n, text)
	}
	in := interner{arena: d.w.arena, hold: &d.out.hold}
	err := d.w.fill(asCodes, n, n, d.out, func(v *vec) (err error) {
		for i := range v.codes {
			v.codes[i] = 0
			s, err := text(i)
			if err == nil && !d.null(i) {
				v.codes[i], err = in.code(s)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	d.out.dict = newTexts(in.texts)
	return err
}

// measure notes how many bytes n strings take.
func (d *arrowDecoder) measure(n int, text func(i int) ([]byte, error)) error {
	*d.size = 0
	for i := range n {
		s, err := text(i)
		if err != nil {
			return err
		}
		if !d.null(i) {
			*d.size += int64(len(s))
		}
	}
	return nil
}

// glance reports whether numbers are sure to be decoded: verify compared the sizes of their buffers, and they are not packed,
// or declare the size that they should have.
func (d *arrowDecoder) glance() bool {
	s, part := &d.field().store, d.batch.columns[d.col].parts
	switch {
	case d.field().hasDict || s.shape == asCodes || s.typ == arrowDecimal:
		return false
	case d.batch.codec == codecNone || part[1].size == 0:
		return true
	}
	packed := io.NewSectionReader(d.r, part[1].off+8, part[1].size-8)
	return d.batch.codec == codecZstd && declares(packed, d.batch.columns[d.col].unpacked[1])
}

// texts decodes strings by their offsets, which must ascend and lie inside the text.
func (d *arrowDecoder) texts(from int64, n int) error {
	w := int64(4)
	if d.field().store.large {
		w = 8
	}
	offsets, err := d.part(&d.raw, d.col, 1, from*w, int64(n+1)*w)
	if err != nil {
		return err
	}
	at := func(i int) int64 {
		if w == 8 {
			return int64(binary.LittleEndian.Uint64(offsets[8*i:]))
		}
		return int64(int32(binary.LittleEndian.Uint32(offsets[4*i:])))
	}
	first, last := at(0), at(n)
	if first < 0 || last < first {
		return errBuffer
	}
	data, err := d.part(&d.raw, d.col, 2, first, last-first)
	if err != nil {
		return err
	}
	return d.intern(n, func(i int) ([]byte, error) {
		from, to := at(i), at(i+1)
		if from < first || to < from || to > last {
			return nil, errBuffer
		}
		return data[from-first : to-first], nil
	})
}

// views decodes strings by their views. A short string lies in its view, and a long one in one of several parts.
func (d *arrowDecoder) views(from int64, n int) error {
	views, err := d.part(&d.raw, d.col, 1, from*16, int64(n)*16)
	if err != nil {
		return err
	}
	return d.intern(n, func(i int) ([]byte, error) {
		if d.null(i) {
			return nil, nil
		}
		view := views[16*i : 16*i+16]
		size := int64(int32(binary.LittleEndian.Uint32(view)))
		if size >= 0 && size <= 12 {
			return view[4 : 4+size], nil
		}
		k, off := int64(int32(binary.LittleEndian.Uint32(view[8:]))), int64(int32(binary.LittleEndian.Uint32(view[12:])))
		if size < 0 || k < 0 || k >= int64(len(d.batch.columns[d.col].parts)-2) {
			return nil, errBuffer
		}
		s, err := d.part(&d.raw, d.col, int(k)+2, off, size)
		if err == nil && string(s[:4]) != string(view[4:8]) {
			err = errBuffer // a view repeats the first bytes of its text
		}
		return s, err
	})
}

// dictionary decodes a dictionary with all its deltas.
func (d *arrowDecoder) dictionary() error {
	hold := &d.dict.hold
	out := newTexts(nil)
	d.dict.dict = out
	var parts []*arrowDict
	for a := d.of; a != nil; a = a.prev {
		parts = append(parts, a)
	}
	for i := len(parts) - 1; i >= 0; i-- {
		a := parts[i]
		n := int(a.batch.rows)
		var v vec
		var whole sharedParts
		sub := arrowDecoder{w: d.w, r: d.r, batch: a.batch, whole: &whole, out: &v}
		err := sub.decode(0, n)
		if err == nil {
			err = d.w.arena.count(hold, 16*n)
		}
		if err == nil {
			out.add(a.batch.fields[0].store.shape, &v, n)
		}
		// The interner counted the memory of the texts, and the dictionary keeps them.
		hold.bytes += v.hold.bytes
		v.hold.bytes = 0
		v.hold.release(d.w.arena)
		whole.hold.release(d.w.arena)
		if err != nil {
			return err
		}
	}
	return nil
}

// add appends the values of v to a dictionary.
func (d *dictionary) add(s shape, v *vec, n int) {
	for k := range n {
		null := v.valid != nil && !bitutil.BitIsSet(v.valid, k)
		d.nulls = append(d.nulls, null)
		d.anyNull = d.anyNull || null
		switch s {
		case asCodes:
			text := ""
			if !null {
				text = v.dict.texts[v.codes[k]]
			}
			d.texts = append(d.texts, text)
		case asFloat64:
			d.f64 = append(d.f64, v.f64[k])
		default:
			d.i64 = append(d.i64, v.i64[k])
		}
	}
}

// indexed decodes a dictionary-encoded column.
func (d *arrowDecoder) indexed(from int64, n int) error {
	s := &d.field().store
	w := int64(s.width)
	b, err := d.part(&d.raw, d.col, 1, from*w, int64(n)*w)
	if err != nil {
		return err
	}
	room, err := d.w.arena.get(&d.raw, 8*n)
	if err != nil {
		return err
	}
	codes := view[int64](room, n)
	readInts(codes, s.width, s.signed, b)
	dict := newTexts(nil)
	if d.dict != nil {
		if err := d.dict.get(d.dictionary); err != nil {
			return err
		}
		dict = d.dict.dict
	}
	shape := d.field().values.shape
	size := int64(dict.size(shape))
	if dict.anyNull && d.out.valid == nil {
		if err := d.w.arena.bitmap(d.out, n, true); err != nil {
			return err
		}
	}
	err = d.w.fill(shape, n, n, d.out, func(v *vec) error {
		for i, code := range codes {
			switch {
			case d.null(i):
				continue // zeroNulls makes it zero
			case code < 0 || code >= size:
				return errBuffer
			case dict.anyNull && dict.nulls[code]:
				bitutil.ClearBit(d.out.valid, i)
			case shape == asCodes:
				v.codes[i] = int32(code)
			case shape == asFloat64:
				v.f64[i] = dict.f64[code]
			default:
				v.i64[i] = dict.i64[code]
			}
		}
		return nil
	})
	if shape == asCodes {
		d.out.dict = dict
	}
	return err
}
