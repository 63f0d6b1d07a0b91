package wire

import (
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"unsafe"

	"github.com/dprelease/dprelease/plugins/sdk"
)

// Slots is the number of slots that the host makes: enough for both ends to work at once, and few
// enough for a processor's cache.
const Slots = 4

const (
	maxSlots = 64
	slotSize = 4 << 20 // the most bytes of a slot of the host, unless it needs more for 64 rows
)

var errColumns = errors.New("shared columns are not as announced")

// Layout describes the rows of a release in shared memory: they lie in a few slots of one
// size, one batch in each. specs/plugin-columns.md describes it.
type Layout struct {
	Slots, Rows int // the slots, and the most rows of one
	Columns     []sdk.Column
	At          []int // the place of each column in a slot, and then of the weights

	size int // of a slot
}

// NewLayout returns the host's layout for these columns. rows is the public number of
// rows that will come, or 0 if that is not known. More rows may come.
func NewLayout(columns []sdk.Column, rows int64) Layout {
	width := 8 + 9*int64(len(columns))
	most := min(BatchRows, max(slotSize/width, 64))
	if rows > 0 {
		most = min(most, rows+63)
	}
	return MakeLayout(columns, Slots, int(max(most&^63, 64)))
}

// MakeLayout returns a layout with some slots, each with room for some rows.
func MakeLayout(columns []sdk.Column, slots, rows int) Layout {
	l := Layout{Slots: slots, Rows: rows, Columns: columns, size: (len(columns) + 1 + 63) &^ 63}
	for _, c := range columns {
		l.At = append(l.At, l.size)
		if c.Type == sdk.Category {
			l.size += 4 * rows
		} else {
			l.size += 8*rows + rows/8
		}
	}
	l.At = append(l.At, l.size)
	l.size += 8 * rows
	return l
}

// Size is the size of the whole memory in bytes.
func (l Layout) Size() int { return l.Slots * l.size }

// AnnouncementBytes is the length of an announcement.
const AnnouncementBytes = 8

// Announcement describes the layout. The host sends it before the first batch.
func (l Layout) Announcement() []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(l.Slots))
	return binary.LittleEndian.AppendUint32(b, uint32(l.Rows))
}

// Slot returns the bytes of a slot.
func (l Layout) Slot(mem []byte, i int) []byte { return mem[i*l.size : (i+1)*l.size] }

// ColumnsWriter is the host's end of the lane of columns. It copies batches into the
// slots and sends the number of rows of each over a connection. The plugin can tell it
// that a slot is free, and nothing else, and cannot make it write anywhere else.
type ColumnsWriter struct {
	conn   io.ReadWriteCloser
	layout Layout

	mu    sync.Mutex // held while the memory is written
	mem   []byte     // nil after Detach
	next  int        // the next slot
	inUse int        // slots that the plugin has not given back
	acks  [maxSlots]byte
}

// NewColumnsWriter returns a writer to mem, which has the layout's size.
func NewColumnsWriter(conn io.ReadWriteCloser, mem []byte, layout Layout) *ColumnsWriter {
	return &ColumnsWriter{conn: conn, mem: mem, layout: layout}
}

// Write copies a batch into as many slots as it needs. The batch must have passed
// sdk.Batch.Check.
func (w *ColumnsWriter) Write(b sdk.Batch) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for from := 0; from < b.Rows; from += w.layout.Rows {
		if err := w.fill(b, from, min(from+w.layout.Rows, b.Rows)); err != nil {
			return err
		}
	}
	return nil
}

// fill copies the rows from..to into the next slot.
func (w *ColumnsWriter) fill(b sdk.Batch, from, to int) error {
	for w.inUse == w.layout.Slots {
		n, err := w.conn.Read(w.acks[:])
		if n > w.inUse {
			return errColumns
		}
		if w.inUse -= n; n == 0 && err != nil {
			return err
		}
	}
	if w.mem == nil {
		return io.ErrClosedPipe
	}
	l, slot := w.layout, w.layout.Slot(w.mem, w.next)
	for i, c := range b.Columns {
		slot[i] = 0
		if l.Columns[i].Type == sdk.Category {
			copy(slot[l.At[i]:], Raw(c.Codes[from:to]))
			continue
		}
		copy(slot[l.At[i]:], Raw(c.Float64[from:to]))
		if c.Valid != nil {
			slot[i] = 1
			copy(slot[l.At[i]+8*l.Rows:], c.Valid[from/8:(to+7)/8])
		}
	}
	slot[len(b.Columns)] = 0
	if b.Weights != nil {
		slot[len(b.Columns)] = 1
		copy(slot[l.At[len(b.Columns)]:], Raw(b.Weights[from:to]))
	}
	w.next = (w.next + 1) % l.Slots
	w.inUse++
	return w.say(to - from)
}

func (w *ColumnsWriter) say(rows int) error {
	_, err := w.conn.Write(binary.LittleEndian.AppendUint32(nil, uint32(rows)))
	return err
}

// Close tells the reader that there are no more rows. The connection stays open until
// Detach, because the plugin still gives slots back.
func (w *ColumnsWriter) Close() error { return w.say(0) }

// Detach closes the connection, waits for a running Write, and returns the memory, to
// which nothing more is written.
func (w *ColumnsWriter) Detach() []byte {
	w.conn.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	mem := w.mem
	w.mem = nil
	return mem
}

// Raw returns the bytes of numbers.
func Raw[T float64 | int32](x []T) []byte {
	if len(x) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), len(x)*int(unsafe.Sizeof(x[0])))
}
