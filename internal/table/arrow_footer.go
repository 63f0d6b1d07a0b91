package table

import (
	"context"
	"encoding/binary"
)

// readFooter reads the file format: dictionaries and batches lie where the footer says.
func (f *arrowFile) readFooter(ctx context.Context) error {
	var tail [10]byte
	if f.size < 8+10+8 {
		return fail(CodeCorrupt, "", "too short to be an arrow file")
	}
	if _, err := f.f.ReadAt(tail[:], f.size-10); err != nil {
		return fail(CodeUnreadable, "", "the end of the file cannot be read")
	}
	n := int64(int32(binary.LittleEndian.Uint32(tail[:])))
	if string(tail[4:]) != arrowMagic || n <= 8 || n > f.size-10-8 {
		return fail(CodeCorrupt, "", "the file does not end as an arrow file must; it was cut short or never closed")
	}
	if n > maxMessageMeta {
		return fail(CodeLimit, "", "the footer is too long")
	}
	b := make([]byte, n)
	start := f.size - 10 - n
	if _, err := f.f.ReadAt(b, start); err != nil {
		return fail(CodeUnreadable, "", "the footer cannot be read")
	}
	root := flatRoot(b)
	h, ok := root.table(1)
	if !ok {
		return fail(CodeCorrupt, "", "the footer has no schema")
	}
	if err := f.setSchema(h, root.int16(0, 0)); err != nil {
		return err
	}
	for _, slot := range []int{2, 3} {
		at, count := root.vector(slot, 24)
		for i := range count {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := f.addBlock(b[int(at)+24*i:], start, byte(slot)); err != nil {
				return err
			}
		}
	}
	return f.checkOverlap()
}

func (f *arrowFile) addBlock(b []byte, limit int64, want byte) error {
	off := int64(binary.LittleEndian.Uint64(b))
	meta := int64(int32(binary.LittleEndian.Uint32(b[8:])))
	body := int64(binary.LittleEndian.Uint64(b[16:]))
	if off < 8 || off >= limit {
		return errMessage
	}
	m, ok, err := readMessage(f.f, off, limit)
	if err != nil {
		return err
	}
	if !ok || m.body-off != meta || m.size != body {
		return errMessage
	}
	kind, h, err := m.header()
	if err != nil {
		return err
	}
	switch {
	case want == 2 && kind == headerDictionary:
		return f.addDictionary(&m, h)
	case want == 3 && kind == headerBatch:
		return f.addBatch(&m, h)
	}
	return fail(CodeCorrupt, "", "the footer points at a message of another kind")
}

// checkOverlap refuses files whose batches share bytes: rows would be delivered twice.
func (f *arrowFile) checkOverlap() error {
	seen := make(map[int64]bool)
	for _, b := range f.batches {
		for _, c := range b.columns {
			for _, e := range c.parts {
				if e.size == 0 {
					continue
				}
				if seen[e.off] {
					return fail(CodeCorrupt, "", "two arrow buffers share bytes")
				}
				seen[e.off] = true
			}
		}
	}
	return nil
}
