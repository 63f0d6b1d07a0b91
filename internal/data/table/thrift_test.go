package table

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"
)

// tnode is a Thrift value in memory, so that tests can take footers and page headers apart and put them together
// differently. It is for well-formed input only.
type tnode struct {
	typ    byte
	num    int64   // integers, and 1 or 2 for booleans
	bytes  []byte  // binary, double
	elem   byte    // element type of a list
	list   []tnode // elements, or the values of a struct's fields
	fields []int   // numbers of a struct's fields
}

func (n *tnode) field(id int) *tnode {
	for i, f := range n.fields {
		if f == id {
			return &n.list[i]
		}
	}
	return nil
}

// insert puts a field in its place.
func (n *tnode) insert(id int, v tnode) {
	at := 0
	for at < len(n.fields) && n.fields[at] < id {
		at++
	}
	n.fields = append(n.fields[:at:at], append([]int{id}, n.fields[at:]...)...)
	n.list = append(n.list[:at:at], append([]tnode{v}, n.list[at:]...)...)
}

type treader struct {
	b []byte
	i int
}

func (r *treader) uvarint() uint64 {
	v, k := binary.Uvarint(r.b[r.i:])
	r.i += k
	return v
}

func (r *treader) value(typ byte, element bool) tnode {
	n := tnode{typ: typ}
	switch typ {
	case 1, 2:
		n.num = int64(typ)
		if element {
			n.num = int64(r.b[r.i])
			r.i++
		}
	case 3:
		n.num = int64(int8(r.b[r.i]))
		r.i++
	case 4, 5, 6:
		u := r.uvarint()
		n.num = int64(u>>1) ^ -int64(u&1)
	case 7:
		n.bytes = r.b[r.i : r.i+8]
		r.i += 8
	case 8:
		size := int(r.uvarint())
		n.bytes = r.b[r.i : r.i+size]
		r.i += size
	case 9:
		h := r.b[r.i]
		r.i++
		size := int(h >> 4)
		if size == 15 {
			size = int(r.uvarint())
		}
		n.elem = h & 15
		for range size {
			n.list = append(n.list, r.value(n.elem, true))
		}
	case 12:
		last := 0
		for r.b[r.i] != 0 {
			h := r.b[r.i]
			r.i++
			last += int(h >> 4)
			n.fields = append(n.fields, last)
			n.list = append(n.list, r.value(h&15, false))
		}
		r.i++
	default:
		panic("thrift type not handled in tests")
	}
	return n
}

func (n *tnode) encode(b []byte) []byte {
	switch n.typ {
	case 3:
		b = append(b, byte(n.num))
	case 4, 5, 6:
		b = binary.AppendUvarint(b, uint64(n.num<<1)^uint64(n.num>>63))
	case 7:
		b = append(b, n.bytes...)
	case 8:
		b = append(binary.AppendUvarint(b, uint64(len(n.bytes))), n.bytes...)
	case 9:
		if len(n.list) < 15 {
			b = append(b, byte(len(n.list))<<4|n.elem)
		} else {
			b = binary.AppendUvarint(append(b, 0xf0|n.elem), uint64(len(n.list)))
		}
		for i := range n.list {
			if n.elem <= 2 {
				b = append(b, byte(n.list[i].num))
			} else {
				b = n.list[i].encode(b)
			}
		}
	case 12:
		last := 0
		for i, id := range n.fields {
			b = append(b, byte(id-last)<<4|n.list[i].typ)
			b = n.list[i].encode(b)
			last = id
		}
		b = append(b, 0)
	}
	return b
}

// footerOf takes the footer of a file apart.
func footerOf(data []byte) (body []byte, footer tnode) {
	n := int(binary.LittleEndian.Uint32(data[len(data)-8:]))
	start := len(data) - 8 - n
	r := treader{b: data[start : len(data)-8]}
	return data[:start], r.value(12, false)
}

// withFooter puts a file together again.
func withFooter(body []byte, footer *tnode) []byte {
	f := footer.encode(nil)
	out := append(append([]byte(nil), body...), f...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(f)))
	return append(out, "PAR1"...)
}

// withChecksums rewrites a file so that every page header carries the checksum of its page, which arrow-go's writer
// does not write.
func withChecksums(t testing.TB, data []byte) []byte {
	t.Helper()
	return rewrite(data, func(p *craftedPage) {
		p.header.insert(4, tnode{typ: 5, num: int64(int32(crc32.ChecksumIEEE(p.body)))})
	}, nil)
}

// craftedPage is a page on its way into a crafted file.
type craftedPage struct {
	group, column, index int // index counts all pages of the chunk, the dictionary included
	header               *tnode
	body                 []byte
	again                int // further copies to write
}

// rewrite takes a valid file apart, lets page change each page and footer the footer, and puts it together again with
// offsets that fit the changed pages.
func rewrite(data []byte, page func(p *craftedPage), footer func(f *tnode)) []byte {
	body, foot := footerOf(data)
	out := []byte("PAR1")
	for g := range foot.field(4).list {
		for c := range foot.field(4).list[g].field(1).list {
			chunk := &foot.field(4).list[g].field(1).list[c]
			meta := chunk.field(3)
			start := meta.field(9).num
			if d := meta.field(11); d != nil && d.num > 0 && d.num < start {
				start = d.num
			}
			end := start + meta.field(7).num
			first, firstData, index := len(out), 0, 0
			for off := start; off < end; index++ {
				r := treader{b: body, i: int(off)}
				h := r.value(12, false)
				size := h.field(3).num
				p := craftedPage{group: g, column: c, index: index, header: &h, body: bytes.Clone(body[r.i : int64(r.i)+size])}
				if page != nil {
					page(&p)
				}
				if firstData == 0 && h.field(1).num != 2 {
					firstData = len(out)
				}
				for range 1 + p.again {
					out = append(h.encode(out), p.body...)
				}
				off = int64(r.i) + size
			}
			meta.field(7).num = int64(len(out) - first)
			meta.field(9).num = int64(firstData)
			if d := meta.field(11); d != nil {
				d.num = int64(first)
			}
			chunk.field(2).num = 0
		}
	}
	if footer != nil {
		footer(&foot)
	}
	return withFooter(out, &foot)
}

// remove drops a field.
func (n *tnode) remove(id int) {
	for i := range n.fields {
		if n.fields[i] == id {
			n.fields, n.list = slices.Delete(n.fields, i, i+1), slices.Delete(n.list, i, i+1)
			return
		}
	}
}
