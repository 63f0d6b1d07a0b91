package wire

import (
	"encoding/binary"
	"errors"
	"io"
	"sync"
)

// The memory lane carries the row stream through memory that the host writes and
// the plugin only reads: a few slots, used in turn. Over the socket go only the
// lengths of filled slots (four bytes each) and, the other way, one byte for every
// slot that may be filled again.

// MemorySlots is how many slots the host makes, enough that both ends can work at
// once and few enough that all stay in a processor's cache.
const MemorySlots = 4

// Bounds on the memory lane's layout, which the plugin checks.
const (
	maxSlots    = 64
	minSlotSize = 4096
	maxSlotSize = 4 << 20
)

var errMemory = errors.New("memory lane is not as announced")

// MemoryLayout is what the host announces: how many slots of which size.
type MemoryLayout struct{ Slots, SlotSize int }

// NewMemoryLayout has room for two whole record batches of these columns in each
// slot, or for four of one column alone, which is what a page of a file often has,
// unless there are very many columns, or so few rows that they need less: all of it is
// had before the first row comes. Rows is what is publicly known of how many there will
// be, 0 for nothing; where it is wrong, slots change hands more often.
func NewMemoryLayout(columns int, rows int64) MemoryLayout {
	batch, batches := int64(bodyPerColumn), max(2*columns, 4)
	if rows > 0 && rows < BatchRows {
		batch, batches = rows*9+1024, 2*max(columns, 1)
	}
	size := 16<<10 + batches*int(batch)
	return MemoryLayout{Slots: MemorySlots, SlotSize: min(maxSlotSize, (size+4095)&^4095)}
}

// Size is the size of the whole memory.
func (l MemoryLayout) Size() int { return l.Slots * l.SlotSize }

// MemoryLayoutBytes is the length of a layout on the wire.
const MemoryLayoutBytes = 8

// Bytes is the layout on the wire.
func (l MemoryLayout) Bytes() []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(l.Slots))
	return binary.LittleEndian.AppendUint32(b, uint32(l.SlotSize))
}

// ParseMemoryLayout is the inverse of Bytes.
func ParseMemoryLayout(b []byte) (MemoryLayout, error) {
	if len(b) != MemoryLayoutBytes {
		return MemoryLayout{}, errMemory
	}
	slots, size := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	if slots < 1 || slots > maxSlots || size < minSlotSize || size > maxSlotSize || size%8 != 0 {
		return MemoryLayout{}, errMemory
	}
	return MemoryLayout{Slots: int(slots), SlotSize: int(size)}, nil
}

// flusher is a destination that is told where a message ends.
type flusher interface{ Flush() error }

// MemoryConn is the socket beside the memory.
type MemoryConn interface {
	io.ReadWriteCloser
	CloseWrite() error
}

// MemoryWriter writes a stream into the slots. Nothing that the other end does can
// make it write anywhere else, or believe anything but that a slot is free.
type MemoryWriter struct {
	conn   MemoryConn
	layout MemoryLayout

	mu    sync.Mutex // held while the memory is written
	mem   []byte     // nil once given back
	slot  int
	used  int
	whole int // bytes of the slot that are whole messages
	inUse int
	acks  [maxSlots]byte

	reserved []int // the messages to come in each slot that is kept, w.slot first: see reserve
}

// NewMemoryWriter returns a writer into mem, which has the layout's size.
func NewMemoryWriter(conn MemoryConn, mem []byte, layout MemoryLayout) *MemoryWriter {
	return &MemoryWriter{conn: conn, mem: mem, layout: layout}
}

// Write copies p into the slots, unless that is where it lies.
func (w *MemoryWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	done := 0
	for done < len(p) {
		if w.mem == nil {
			return done, io.ErrClosedPipe
		}
		if w.used == 0 && len(w.reserved) == 0 {
			if err := w.acquire(); err != nil {
				return done, err
			}
		}
		at := w.slot * w.layout.SlotSize
		rest := w.mem[at+w.used : at+w.layout.SlotSize]
		n := len(p) - done
		switch {
		case len(w.reserved) > 0 && n >= len(rest):
			return done, errMemory // more than room was had for
		case done == 0 && w.inside(p):
			if &p[0] != &rest[0] || n > len(rest) {
				return done, errMemory // never over rows that are still to come
			}
		default:
			n = copy(rest, p[done:])
		}
		done += n
		if w.used += n; w.used == w.layout.SlotSize {
			if err := w.flush(); err != nil {
				return done, err
			}
		}
	}
	return done, nil
}

// acquire waits until the next slot is free.
func (w *MemoryWriter) acquire() error {
	for w.inUse == w.layout.Slots {
		if err := w.freed(w.conn.Read(w.acks[:])); err != nil {
			return err
		}
	}
	return nil
}

// freed takes note of n slots that were given back.
func (w *MemoryWriter) freed(n int, err error) error {
	if n > w.inUse {
		return errMemory
	}
	w.inUse -= n
	if n > 0 {
		return nil
	}
	return err
}

// Flush says that a message has ended. The slot is handed over if another one of
// its size does not fit, or after the last one that it was kept for.
func (w *MemoryWriter) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.reserved) > 0 {
		if w.reserved[0]--; w.reserved[0] > 0 {
			return nil
		}
		return w.flush()
	}
	size := w.used - w.whole
	w.whole = w.used
	if w.used+size <= w.layout.SlotSize {
		return nil
	}
	return w.flush()
}

func (w *MemoryWriter) flush() error {
	if w.used == 0 {
		return nil
	}
	var n [4]byte
	binary.LittleEndian.PutUint32(n[:], uint32(w.used))
	w.slot, w.used, w.whole = (w.slot+1)%w.layout.Slots, 0, 0
	w.inUse++
	if len(w.reserved) > 0 {
		w.reserved = w.reserved[1:]
	}
	_, err := w.conn.Write(n[:])
	return err
}

// Close hands over what is left and says that there is no more. The connection
// stays open for what the other end has yet to say: closed over bytes that were not
// read, it would break off for the other end, too. Detach closes it.
func (w *MemoryWriter) Close() error {
	w.mu.Lock()
	err := w.flush()
	w.mu.Unlock()
	if e := w.conn.CloseWrite(); err == nil {
		err = e
	}
	return err
}

// Detach ends the connection, waits for a write on its way, and returns the memory:
// nothing is written to it any more.
func (w *MemoryWriter) Detach() []byte {
	w.conn.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	mem := w.mem
	w.mem = nil
	return mem
}

// MemoryReader reads what a MemoryWriter wrote. A slot is given back when the first
// byte after it is asked for.
type MemoryReader struct {
	conn   io.ReadWriter
	mem    []byte
	layout MemoryLayout
	slot   int
	rest   []byte
	held   bool
}

// NewMemoryReader returns a reader of mem, which must have the layout's size.
func NewMemoryReader(conn io.ReadWriter, mem []byte, layout MemoryLayout) (*MemoryReader, error) {
	if len(mem) != layout.Size() {
		return nil, errMemory
	}
	return &MemoryReader{conn: conn, mem: mem, layout: layout}, nil
}

// next goes to the next slot when the current one has been read.
func (r *MemoryReader) next() error {
	for len(r.rest) == 0 {
		if r.held {
			r.held = false
			if _, err := r.conn.Write([]byte{0}); err != nil {
				return err
			}
		}
		var head [4]byte
		if _, err := io.ReadFull(r.conn, head[:]); err != nil {
			return err
		}
		n := binary.LittleEndian.Uint32(head[:])
		if n == 0 || int64(n) > int64(r.layout.SlotSize) {
			return errMemory
		}
		at := r.slot * r.layout.SlotSize
		r.rest, r.held = r.mem[at:at+int(n):at+int(n)], true
		r.slot = (r.slot + 1) % r.layout.Slots
	}
	return nil
}

// Read copies from the slots.
func (r *MemoryReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := r.next(); err != nil {
		return 0, err
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// view returns the next n bytes where they lie, or nil where they do not lie in one
// piece. They stay until what follows them is asked for, and may not be written to.
func (r *MemoryReader) view(n int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	if err := r.next(); err != nil {
		return nil, err
	}
	if n > len(r.rest) {
		return nil, nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b, nil
}

// viewer is a source whose bytes can be read where they lie.
type viewer interface{ view(n int) ([]byte, error) }
