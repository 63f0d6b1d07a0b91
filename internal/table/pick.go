package table

import "github.com/apache/arrow-go/v18/arrow/bitutil"

// pick leaves the given rows of a decoded stretch of numbers, and gives back the memory of the others.
func (v *vec) pick(rows []uint32, p *pool) {
	old := *v
	*v = vec{picked: true}
	defer old.release(p)
	buf := p.get(8 * len(rows))
	v.hold = append(v.hold, buf)
	if old.f64 != nil {
		v.f64 = viewFloat64(buf.bytes(), len(rows))
		for i, row := range rows {
			v.f64[i] = old.f64[row]
		}
	} else {
		v.i64 = viewInt64(buf.bytes(), len(rows))
		for i, row := range rows {
			v.i64[i] = old.i64[row]
		}
	}
	if old.valid == nil {
		return
	}
	bits := p.get((len(rows) + 7) / 8)
	v.hold = append(v.hold, bits)
	v.valid = bits.bytes()[:(len(rows)+7)/8]
	for i, row := range rows {
		bitutil.SetBitTo(v.valid, i, bitutil.BitIsSet(old.valid, int(row)))
	}
}
