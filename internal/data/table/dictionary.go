package table

import (
	"encoding/binary"
	"slices"
	"unsafe"

	"github.com/dprelease/dprelease/internal/data/table/pagewalk"
)

// dictionary holds the distinct values of a chunk or page in the shape of its column.
type dictionary struct {
	id    uint64
	f64   []float64
	i64   []int64
	texts []string

	// Arrow allows null entries.
	nulls   []bool
	anyNull bool
}

func newTexts(texts []string) *dictionary {
	return &dictionary{id: NewDictID(), texts: texts}
}

func (d *dictionary) size(s shape) int {
	switch s {
	case asFloat64:
		return len(d.f64)
	case asInt64:
		return len(d.i64)
	}
	return len(d.texts)
}

// readDictionary decodes the dictionary page of a chunk.
func (w *worker) readDictionary(c *chunk) (*dictionary, error) {
	p := c.layout.Dict
	if p == nil {
		return nil, errPageSize
	}
	var raw holding
	defer func() { raw.release(w.arena) }()
	b, err := w.body(c, p, 0, &raw)
	if err != nil {
		return nil, err
	}
	b = b[p.Front():]
	n := int(p.Values)
	if err := w.arena.count(&c.shared.hold, int(dictionaryCost(c.leaf, p))); err != nil {
		return nil, err
	}
	d := newTexts(nil)
	switch {
	case c.shape == asCodes:
		d.texts, err = splitTexts(b, n)
	case c.leaf.Type != pagewalk.ByteArray && len(b) != n*c.leaf.Width():
		return nil, errPageSize
	default:
		var v vec
		if c.shape == asFloat64 {
			v.f64 = make([]float64, n)
		} else {
			v.i64 = make([]int64, n)
		}
		if c.leaf.Type == pagewalk.ByteArray {
			err = splitBytes(b, n, func(i int, s []byte, _ bool) error { return v.decimal(i, s, c.leaf.Note.Scale) })
		} else {
			err = v.plain(b, c.leaf)
		}
		d.f64, d.i64 = v.f64, v.i64
	}
	return d, err
}

// splitBytes calls visit for each of n length-prefixed values, which must use up b.
func splitBytes(b []byte, n int, visit visitor) error {
	for i := range n {
		if len(b) < 4 {
			return errPageSize
		}
		size := binary.LittleEndian.Uint32(b)
		if uint64(size) > uint64(len(b)-4) {
			return errPageSize
		}
		if err := visit(i, b[4:4+size], false); err != nil {
			return err
		}
		b = b[4+size:]
	}
	if len(b) > 0 {
		return errPageSize
	}
	return nil
}

// splitTexts copies n length-prefixed values into strings that share one piece of memory.
func splitTexts(b []byte, n int) ([]string, error) {
	if n > len(b)/4 {
		return nil, errPageSize
	}
	texts := make([]string, 0, n)
	own := slices.Clone(b)
	err := splitBytes(own, n, func(_ int, s []byte, _ bool) error {
		texts = append(texts, unsafe.String(unsafe.SliceData(s), len(s)))
		return nil
	})
	return texts, err
}

// indexed decodes a page of dictionary indices.
func (w *worker) indexed(c *chunk, b []byte, present, n int, out *vec) error {
	if present == 0 {
		// A page of nulls needs no dictionary entry, and writers differ in what they store for its indices.
		out.dict = newTexts(nil)
		return w.fill(c.shape, 0, n, out, func(*vec) error { return nil })
	}
	err := c.shared.get(func() (err error) { c.dict, err = w.readDictionary(c); return err })
	if err != nil {
		return err
	}
	d := c.dict
	if c.shape == asCodes {
		out.dict = d
		return w.fill(asCodes, present, n, out, func(v *vec) error {
			return decodeIndices(b, v.codes, len(d.texts))
		})
	}
	var raw holding
	defer func() { raw.release(w.arena) }()
	buf, err := w.arena.get(&raw, present*4)
	if err != nil {
		return err
	}
	codes := view[int32](buf, present)
	if err := decodeIndices(b, codes, d.size(c.shape)); err != nil {
		return err
	}
	return w.fill(c.shape, present, n, out, func(v *vec) error {
		if c.shape == asFloat64 {
			for i, k := range codes {
				v.f64[i] = d.f64[k]
			}
			return nil
		}
		for i, k := range codes {
			v.i64[i] = d.i64[k]
		}
		return nil
	})
}

// texts decodes a page of strings that has no dictionary, and makes one for it.
func (w *worker) texts(c *chunk, p *pagewalk.Page, b []byte, present, n int, out *vec) error {
	if w.skim {
		return w.eachText(p, b, present, func(int, []byte, bool) error { return nil })
	}
	in := interner{arena: w.arena, hold: &out.hold, known: c.domain}
	err := w.fill(asCodes, present, n, out, func(v *vec) error {
		return w.eachText(p, b, present, func(i int, s []byte, again bool) (err error) {
			if again {
				v.codes[i] = v.codes[i-1]
				return nil
			}
			v.codes[i], err = in.code(s)
			return err
		})
	})
	out.dict = newTexts(in.texts)
	return err
}

// bigDecimals decodes decimals stored as byte arrays without a dictionary.
func (w *worker) bigDecimals(c *chunk, p *pagewalk.Page, b []byte, present, n int, out *vec) error {
	return w.fill(c.shape, present, n, out, func(v *vec) error {
		return w.eachText(p, b, present, func(i int, s []byte, _ bool) error { return v.decimal(i, s, c.leaf.Note.Scale) })
	})
}

// eachText visits the n byte arrays of a page.
func (w *worker) eachText(p *pagewalk.Page, b []byte, n int, visit visitor) error {
	switch {
	case n == 0:
		return nil
	case p.Encoding == pagewalk.EncPlain:
		return splitBytes(b, n, visit)
	case p.Encoding == pagewalk.EncDeltaLength:
		return cutTexts(b, n, visit)
	case p.Encoding != pagewalk.EncDeltaBytes:
		return errUnsupportedType
	}
	var hold holding
	defer func() { hold.release(w.arena) }()
	room, err := w.arena.get(&hold, len(b))
	if err != nil {
		return err
	}
	return incrementalTexts(b, n, room, visit)
}
