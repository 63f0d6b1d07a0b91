package table

import (
	"github.com/apache/arrow/go/v15/arrow/bitutil"
)

// assembler makes the columns of a batch from decoded pieces. A block inside one piece is a view of it. A block that
// straddles pieces, or that is picked in part, is copied into memory that the next block uses again.
type assembler struct {
	columns []Values
	shapes  []shape
	memory  []vec // of each column, to be used again
}

func (a *assembler) init(t *Table, cols []int) {
	a.columns = make([]Values, len(cols))
	a.shapes = make([]shape, len(cols))
	a.memory = make([]vec, len(cols))
	for i, c := range cols {
		col := &t.columns[c]
		a.columns[i] = Values{Kind: col.Kind, Scale: col.Scale, Unit: col.Unit, Unsigned: col.Unsigned}
		a.shapes[i] = shapeOf(col)
	}
}

// forget gives up the texts of the last batch, so that they can be collected.
func (a *assembler) forget() {
	for i := range a.columns {
		a.columns[i].Dict = nil
	}
}

// column fills columns[col] with the rows of the spans.
func (a *assembler) column(col int, spans []span, rows int) {
	out := &a.columns[col]
	out.Float64, out.Int64, out.Codes, out.Valid = nil, nil, nil, nil
	out.Unread = Unread{}
	for i := range spans {
		out.Unread = out.Unread.plus(spans[i].v.unread)
	}
	mem := &a.memory[col]
	if len(spans) == 1 && spans[0].rows == nil {
		a.view(out, mem, a.shapes[col], spans[0].v, spans[0].from, rows)
		return
	}
	mem.valid = gatherValid(mem.valid, spans, rows)
	out.Valid = mem.valid
	if len(mem.valid) == 0 {
		out.Valid = nil
	}
	switch a.shapes[col] {
	case asFloat64:
		mem.f64 = gather(mem.f64, spans, rows, func(v *vec) []float64 { return v.f64 })
		out.Float64 = mem.f64
	case asInt64:
		mem.i64 = gather(mem.i64, spans, rows, func(v *vec) []int64 { return v.i64 })
		out.Int64 = mem.i64
	default:
		mem.codes = gather(mem.codes, spans, rows, func(v *vec) []int32 { return v.codes })
		out.Codes = mem.codes
		joinDictionaries(out, spans)
	}
}

func (a *assembler) view(out *Values, mem *vec, s shape, v *vec, from, rows int) {
	switch s {
	case asFloat64:
		out.Float64 = v.f64[from : from+rows]
	case asInt64:
		out.Int64 = v.i64[from : from+rows]
	default:
		out.Codes = v.codes[from : from+rows]
		out.Dict, out.DictID = v.dict.texts, v.dict.id
	}
	switch {
	case v.valid == nil:
	case from%8 == 0:
		out.Valid = v.valid[from/8 : (from+rows+7)/8]
	default:
		mem.valid = bitmap(mem.valid, rows)
		bitutil.CopyBitmap(v.valid, from, rows, mem.valid, 0)
		out.Valid = mem.valid
	}
}

// gather copies the rows of the spans.
func gather[T any](dst []T, spans []span, rows int, values func(v *vec) []T) []T {
	if cap(dst) < rows {
		dst = make([]T, 0, max(rows, 1024))
	}
	dst = dst[:0]
	for i := range spans {
		s := &spans[i]
		v := values(s.v)
		if s.rows == nil {
			dst = append(dst, v[s.from:s.to]...)
			continue
		}
		for _, row := range s.rows {
			dst = append(dst, v[int64(row)+s.shift])
		}
	}
	return dst
}

func bitmap(b []byte, rows int) []byte {
	n := (rows + 7) / 8
	if cap(b) < n {
		b = make([]byte, n, max(n, blockRows/8))
	}
	return b[:n]
}

// gatherValid copies bitmaps. It returns an empty one when no piece has a null.
func gatherValid(dst []byte, spans []span, rows int) []byte {
	nulls := false
	for i := range spans {
		nulls = nulls || spans[i].v.valid != nil
	}
	if !nulls {
		return dst[:0]
	}
	dst = bitmap(dst, rows)
	at := 0
	for i := range spans {
		s := &spans[i]
		valid := s.v.valid
		switch {
		case valid == nil:
			bitutil.SetBitsTo(dst, int64(at), int64(s.len()), true)
			at += s.len()
		case s.rows == nil:
			bitutil.CopyBitmap(valid, s.from, s.to-s.from, dst, at)
			at += s.len()
		default:
			for _, row := range s.rows {
				bitutil.SetBitTo(dst, at, bitutil.BitIsSet(valid, int(int64(row)+s.shift)))
				at++
			}
		}
	}
	return dst
}

// joinDictionaries gives the codes of a batch one dictionary.
func joinDictionaries(out *Values, spans []span) {
	first := spans[0].v.dict
	same := true
	for i := range spans {
		same = same && spans[i].v.dict == first
	}
	if same {
		out.Dict, out.DictID = first.texts, first.id
		return
	}
	joined := newTexts(nil)
	at := 0
	for i := range spans {
		d := spans[i].v.dict
		n := spans[i].len()
		joinCodes(out, at, at+n, d.texts, joined)
		at += n
	}
	out.Dict, out.DictID = joined.texts, joined.id
}

// joinCodes translates the codes of some rows to the joined dictionary. It adds a small dictionary whole, and of a large
// one only the entries in use.
func joinCodes(out *Values, from, to int, texts []string, joined *dictionary) {
	base := int32(len(joined.texts))
	if len(texts) <= 4*(to-from) {
		joined.texts = append(joined.texts, texts...)
		for i := from; i < to; i++ {
			if !out.Null(i) {
				out.Codes[i] += base
			}
		}
		return
	}
	moved := make(map[int32]int32)
	for i := from; i < to; i++ {
		if out.Null(i) {
			continue
		}
		old := out.Codes[i]
		code, ok := moved[old]
		if !ok {
			code = int32(len(joined.texts))
			moved[old] = code
			joined.texts = append(joined.texts, texts[old])
		}
		out.Codes[i] = code
	}
}
