package table

import (
	"math"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/bitutil"
)

// arrowDict is a dictionary at one point of a stream: a batch of values, after those of prev when it is a delta.
type arrowDict struct {
	prev    *arrowDict
	batch   *arrowBatch
	field   arrowField // what the values are
	updates int
}

func (f *arrowFile) addDictionary(m *message, h flat) error {
	id := h.int64(0)
	data, ok := h.table(1)
	if !ok {
		return errMessage
	}
	var field *arrowField
	for i := range f.schema.fields {
		if g := &f.schema.fields[i]; g.hasDict && g.dict == id && g.column.Usable {
			if field != nil && field.values != g.values {
				return fail(CodeCorrupt, "", "two columns share a dictionary and differ in type")
			}
			field = g
		}
	}
	if field == nil {
		return nil // of a nested or unusable column
	}
	d := &arrowDict{field: arrowField{column: Column{Name: field.column.Name, Usable: true}, store: field.values, nodes: 1, buffers: 2}}
	if field.values.view {
		d.field.views = 1
	} else if field.values.shape == asCodes {
		d.field.buffers = 3
	}
	var err error
	if d.batch, err = readBatch(data, m.body, m.size, []arrowField{d.field}); err != nil {
		return err
	}
	if d.batch.rows > 1<<22 {
		return fail(CodeLimit, "", "a dictionary has more than 2^22 entries")
	}
	if h.byte(2) != 0 {
		if d.prev = f.latest[id]; d.prev == nil {
			return fail(CodeCorrupt, "", "an addition to a dictionary that is not there")
		}
		if d.updates = d.prev.updates + 1; d.updates > maxDictUpdates {
			return fail(CodeLimit, "", "a dictionary is added to too often")
		}
	}
	f.latest[id] = d
	return nil
}

// dictCache keeps the dictionaries that a scan used last: a stream may replace its dictionary with every batch.
type dictCache struct {
	mu      sync.Mutex
	entries []*dictEntry
}

type dictEntry struct {
	of   *arrowDict
	once sync.Once
	dict *dictionary
	err  error
}

const dictCacheSize = 64

func (c *dictCache) get(of *arrowDict, read func() (*dictionary, error)) (*dictionary, error) {
	c.mu.Lock()
	var e *dictEntry
	for _, have := range c.entries {
		if have.of == of {
			e = have
		}
	}
	if e == nil {
		e = &dictEntry{of: of, err: errBuffer}
		c.entries = append(c.entries, e)
		if len(c.entries) > dictCacheSize {
			c.entries = append([]*dictEntry(nil), c.entries[1:]...)
		}
	}
	c.mu.Unlock()
	e.once.Do(func() { e.dict, e.err = read() })
	return e.dict, e.err
}

// dictionary decodes a dictionary with all that was added to it.
func (d *arrowDecoder) dictionary(of *arrowDict) (*dictionary, error) {
	return d.cache.get(of, func() (*dictionary, error) {
		out := newTexts(nil)
		var parts []*arrowDict
		for a := of; a != nil; a = a.prev {
			parts = append(parts, a)
		}
		for i := len(parts) - 1; i >= 0; i-- {
			a := parts[i]
			var v vec
			sub := arrowDecoder{w: d.w, file: d.file, field: &a.field, batch: a.batch, column: &a.batch.columns[0], out: &v}
			n := int(a.batch.rows)
			if err := sub.decode(0, n); err != nil {
				v.release(d.w.pool)
				return nil, err
			}
			for k := range n {
				out.nulls = append(out.nulls, v.valid != nil && !bitutil.BitIsSet(v.valid, k))
				out.anyNull = out.anyNull || out.nulls[len(out.nulls)-1]
				switch a.field.store.shape {
				case asCodes:
					text := ""
					if !out.nulls[len(out.nulls)-1] {
						text = v.dict.texts[v.codes[k]]
					}
					out.texts = append(out.texts, text)
				case asFloat64:
					out.f64 = append(out.f64, v.f64[k])
				default:
					out.i64 = append(out.i64, v.i64[k])
				}
			}
			v.release(d.w.pool)
			if len(out.nulls) > 1<<22 {
				return nil, fail(CodeLimit, "", "a dictionary has more than 2^22 entries")
			}
		}
		return out, nil
	})
}

// indexed decodes a dictionary-encoded column.
func (d *arrowDecoder) indexed(from int64, n int) error {
	s := &d.field.store
	w := int64(s.width)
	b, err := d.part(1, from*w, int64(n)*w)
	if err != nil {
		return err
	}
	dict := newTexts(nil)
	if d.dict != nil {
		if dict, err = d.dictionary(d.dict); err != nil {
			return err
		}
	}
	shape := d.field.values.shape
	size := int64(dict.size(shape))
	if dict.anyNull && d.out.valid == nil {
		buf := d.w.pool.get((n + 7) / 8)
		d.out.hold = append(d.out.hold, buf)
		d.out.valid = buf.bytes()[:(n+7)/8]
		bitutil.SetBitsTo(d.out.valid, 0, int64(n), true)
	}
	valid := d.out.valid
	err = d.w.fill(shape, n, n, d.out, func(v *vec) error {
		for i := range n {
			code := int64(0)
			null := valid != nil && !bitutil.BitIsSet(valid, i)
			if !null {
				if code = arrowInteger(s, b, i); code < 0 || code >= size || code > math.MaxInt32 {
					return errBuffer
				}
				if dict.anyNull && dict.nulls[code] {
					bitutil.ClearBit(valid, i)
					null = true
				}
			}
			switch {
			case shape == asCodes:
				v.codes[i] = int32(code)
			case shape == asFloat64 && !null:
				v.f64[i] = dict.f64[code]
			case shape == asInt64 && !null:
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
