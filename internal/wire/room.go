package wire

import (
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow"
)

// Rows of one number column need not be copied into the memory lane: RowsWriter.Room says where in a slot they will
// lie, whoever has them puts them there, and Write finds them in place. Such a slot holds one such stretch of rows and
// nothing else, whether they were put there in the end or not.

// reserve keeps the next free slot for so many messages, after which it is handed over. Where none is free, it is to be
// asked for later, when messages for the slots that are kept have been written.
func (w *MemoryWriter) reserve(messages int) (slot []byte, later bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.reserved) == 0 && w.used > 0 {
		if err := w.flush(); err != nil {
			return nil, false, err
		}
	}
	if w.inUse+len(w.reserved) == w.layout.Slots {
		if p, ok := w.conn.(poller); ok {
			if err := w.freed(p.Poll(w.acks[:])); err != nil {
				return nil, false, err
			}
		}
	}
	if w.inUse+len(w.reserved) == w.layout.Slots {
		if len(w.reserved) > 0 {
			return nil, true, nil
		}
		if err := w.acquire(); err != nil {
			return nil, false, err
		}
	}
	if w.mem == nil {
		return nil, false, errMemory
	}
	at := (w.slot + len(w.reserved)) % w.layout.Slots * w.layout.SlotSize
	w.reserved = append(w.reserved, messages)
	return w.mem[at : at+w.layout.SlotSize : at+w.layout.SlotSize], false, nil
}

// poller is a connection that can be read without waiting.
type poller interface {
	// Poll reads what is there; that may be nothing.
	Poll(b []byte) (int, error)
}

// holds says whether p lies in the memory.
func (w *MemoryWriter) holds(p []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.inside(p)
}

// inside is holds for who writes already.
func (w *MemoryWriter) inside(p []byte) bool {
	if len(p) == 0 || len(w.mem) == 0 {
		return false
	}
	at, from := uintptr(unsafe.Pointer(&p[0])), uintptr(unsafe.Pointer(&w.mem[0]))
	return at >= from && at < from+uintptr(len(w.mem))
}

// framing is how many bytes a stream of these columns has besides values: the schema, and each batch without a null.
type framing struct{ schema, batch int }

// counter counts what is written to it.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// framingOf writes two batches of one row to see.
func framingOf(specs []ColumnSpec) (framing, error) {
	var c counter
	w := NewRowsWriter(&c, specs)
	b := Batch{Rows: 1, Columns: []Values{{Float64: make([]float64, 1)}}}
	if err := w.Write(b); err != nil {
		return framing{}, err
	}
	both := c
	if err := w.Write(b); err != nil {
		return framing{}, err
	}
	batch := c - both
	return framing{schema: int(both - batch), batch: int(batch) - 8}, nil
}

// headOnly writes what stands in front of values that are in their place: the same for every batch of so many rows, so that it
// need not be made again. Done is false where a batch has to be written in the ordinary way.
func (w *RowsWriter) headOnly(b Batch, at, n int) (done bool, err error) {
	if w.framing == nil || !w.written || w.weights || b.Columns[0].Valid != nil {
		return false, nil
	}
	m, values := w.out.(*MemoryWriter), arrow.Float64Traits.CastToBytes(b.Columns[0].Float64[at:at+n])
	if !m.holds(values) {
		return false, nil
	}
	head := w.heads[n]
	if head == nil {
		all := keeper{most: w.framing.schema + w.framing.batch}
		r := NewRowsWriter(&all, w.specs)
		if err := r.Write(Batch{Rows: n, Columns: []Values{{Float64: b.Columns[0].Float64[at : at+n]}}}); err != nil {
			return false, err
		}
		head = all.kept[w.framing.schema:]
		if w.heads == nil || len(w.heads) == 64 {
			w.heads = map[int][]byte{}
		}
		w.heads[n] = head
	}
	if _, err := m.Write(head); err != nil {
		return false, err
	}
	if _, err := m.Write(values); err != nil {
		return false, err
	}
	return true, m.Flush()
}

// keeper keeps the beginning of what is written to it.
type keeper struct {
	kept []byte
	most int
}

func (k *keeper) Write(p []byte) (int, error) {
	k.kept = append(k.kept, p[:min(len(p), k.most-len(k.kept))]...)
	return len(p), nil
}

// Room returns where the values of the next so many rows of the stream belong, in stretches that are batches of their own.
// It has none where the stream is not one number column in the memory lane, or the rows do not fit a slot. Until it was
// asked for later, Write has to be called for rows of an earlier room.
//
// Rows that room was had for are written in these stretches, in turn. Where one of the room's batches has a missing value all
// of them come from elsewhere: it moves what follows, and Write refuses what is not in its place. Nobody may touch the
// memory after Detach.
func (w *RowsWriter) Room(rows int) (parts [][]float64, later bool) {
	m, ok := w.out.(*MemoryWriter)
	if !ok || rows < 1 || w.weights || len(w.specs) != 1 || w.specs[0].Categories > 0 {
		return nil, false
	}
	if w.framing == nil {
		f, err := framingOf(w.specs)
		if err != nil {
			return nil, false
		}
		w.framing = &f
	}
	at := w.framing.schema
	if w.begun {
		at = 0
	}
	batches := (rows + BatchRows - 1) / BatchRows
	// Also if in the end there are bitmaps.
	if at+8*rows+batches*(w.framing.batch+BatchRows/8+64) >= m.layout.SlotSize || at%8 != 0 || w.framing.batch%8 != 0 {
		return nil, false
	}
	slot, later, err := m.reserve(batches)
	if err != nil || later {
		return nil, later && err == nil
	}
	w.begun = true
	for left := rows; left > 0; {
		n := min(left, BatchRows)
		at += w.framing.batch
		parts = append(parts, unsafe.Slice((*float64)(unsafe.Pointer(&slot[at : at+8*n][0])), n))
		at += 8 * n
		left -= n
	}
	return parts, false
}
