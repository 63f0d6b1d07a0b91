package table

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow/bitutil"
)

// texts decodes strings behind offsets.
func (d *arrowDecoder) texts(from int64, n int) error {
	w := int64(4)
	if d.field.store.large {
		w = 8
	}
	offsets, err := d.part(1, from*w, int64(n+1)*w)
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
	if last-first > maxTextBytes {
		return fail(CodeLimit, "", "a column holds more text in one stretch than is read at once")
	}
	data, err := d.text(2, first, last)
	if err != nil {
		return err
	}
	in := interner{size: len(data), n: n}
	err = d.w.fill(asCodes, n, n, d.out, func(v *vec) error {
		for i := range v.codes {
			from, to := at(i), at(i+1)
			if from < first || to < from || to > last {
				return errBuffer
			}
			if d.out.valid != nil && !bitutil.BitIsSet(d.out.valid, i) {
				v.codes[i] = 0
				continue
			}
			v.codes[i] = in.code(data[from-first : to-first])
		}
		return nil
	})
	d.out.dict = newTexts(in.all())
	return err
}

// text reads the bytes between two offsets of a buffer of text.
func (d *arrowDecoder) text(k int, first, last int64) ([]byte, error) {
	if d.batch.codec == codecNone {
		return d.part(k, first, last-first)
	}
	if last == 0 {
		return nil, nil
	}
	b, err := d.unpacked(k, last+4096)
	if err != nil {
		return nil, err
	}
	if last > int64(len(b)) {
		return nil, errBuffer
	}
	return b[first:last], nil
}

// views decodes strings that lie in one of several buffers, or, when short, in the view itself.
func (d *arrowDecoder) views(n int) error {
	views, err := d.part(1, 0, int64(n)*16)
	if err != nil {
		return err
	}
	data := make([][]byte, len(d.column.parts)-2)
	total := int64(0)
	for k := range data {
		size := d.column.parts[k+2].size
		if total += size; total > maxTextBytes {
			return fail(CodeLimit, "", "a column holds more text in one batch than is read at once")
		}
		switch {
		case size == 0:
		case d.batch.codec == codecNone:
			data[k], err = d.part(k+2, 0, size)
		default:
			data[k], err = d.unpacked(k+2, maxTextBytes)
			total += int64(len(data[k]))
		}
		if err != nil {
			return err
		}
	}
	in := interner{size: int(total), n: n}
	err = d.w.fill(asCodes, n, n, d.out, func(v *vec) error {
		for i := range v.codes {
			v.codes[i] = 0
			if d.out.valid != nil && !bitutil.BitIsSet(d.out.valid, i) {
				continue
			}
			view := views[16*i : 16*i+16]
			size := int64(int32(binary.LittleEndian.Uint32(view)))
			if size >= 0 && size <= 12 {
				v.codes[i] = in.code(view[4 : 4+size])
				continue
			}
			k, off := int64(int32(binary.LittleEndian.Uint32(view[8:]))), int64(int32(binary.LittleEndian.Uint32(view[12:])))
			if size < 0 || k < 0 || k >= int64(len(data)) || off < 0 || off+size > int64(len(data[k])) {
				return errBuffer
			}
			v.codes[i] = in.code(data[k][off : off+size])
		}
		return nil
	})
	d.out.dict = newTexts(in.all())
	return err
}
