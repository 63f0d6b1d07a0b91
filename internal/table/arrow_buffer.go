package table

import "encoding/binary"

// part reads size bytes of a buffer, beginning at off. Of a compressed buffer off is always 0, and the rest of what it
// unpacks to must be padding.
func (d *arrowDecoder) part(k int, off, size int64) ([]byte, error) {
	e := d.column.parts[k]
	if d.batch.codec == codecNone {
		if off+size > e.size {
			return nil, errBuffer
		}
		buf := d.w.pool.get(int(size))
		d.out.hold = append(d.out.hold, buf)
		b := buf.bytes()[:size]
		if _, err := d.file.f.ReadAt(b, e.off+off); err != nil {
			return nil, fail(CodeUnreadable, "", "a buffer cannot be read")
		}
		return b, nil
	}
	b, err := d.unpacked(k, size+64+size/8)
	switch {
	case err != nil:
		return nil, err
	case off+size > int64(len(b)):
		return nil, errBuffer
	}
	return b[off : off+size], nil
}

// unpacked reads and unpacks a whole compressed buffer, which may not grow beyond limit.
func (d *arrowDecoder) unpacked(k int, limit int64) ([]byte, error) {
	e := d.column.parts[k]
	if e.size < 8 || e.size > limit+limit/8+4096 {
		return nil, errBuffer
	}
	src := d.w.scratch(int(e.size))
	if _, err := d.file.f.ReadAt(src, e.off); err != nil {
		return nil, fail(CodeUnreadable, "", "a buffer cannot be read")
	}
	size := int64(binary.LittleEndian.Uint64(src))
	src = src[8:]
	stored := size == -1 // not worth compressing
	if stored {
		size = int64(len(src))
	} else if size < 0 || size > limit {
		return nil, fail(CodeLimit, "", "a compressed buffer declares more than its rows need")
	}
	buf := d.w.pool.get(int(size))
	d.out.hold = append(d.out.hold, buf)
	dst := buf.bytes()[:size]
	if stored {
		copy(dst, src)
		return dst, nil
	}
	return dst, d.w.unpack.unpackArrow(d.batch.codec, dst, src)
}
