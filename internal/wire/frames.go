package wire

import (
	"encoding/binary"
	"errors"
	"io"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// Bounds on one message of the row stream. Lengths in a stream are only believed
// below these, so that no input can ask for more memory.
const (
	maxMeta       = 1 << 20
	bodyPerColumn = BatchRows*8 + BatchRows/8 + 1024
)

var errFrame = errors.New("row stream is not well framed")

// frames reads the messages of an Arrow IPC stream (continuation mark, length,
// metadata, body) with bounded lengths. Unlike Arrow's own reader it tells the end
// that is marked, io.EOF, from a stream that breaks off, io.ErrUnexpectedEOF.
type frames struct {
	r       io.Reader
	mem     *pool
	maxBody int64
	msg     *ipc.Message
	prefix  [8]byte
	meta    []byte
}

func newFrames(r io.Reader, columns int) *frames {
	return &frames{r: r, mem: &pool{max: max(maxMeta, (columns+2)*bodyPerColumn)}, maxBody: int64(columns+2) * bodyPerColumn}
}

// Retain is part of ipc.MessageReader; there is only one owner.
func (f *frames) Retain() {}

// Release lets go of the current message.
func (f *frames) Release() {
	if f.msg != nil {
		f.msg.Release()
		f.msg = nil
	}
}

// Message returns the next message, which is valid until the next call.
func (f *frames) Message() (*ipc.Message, error) {
	meta, size, err := f.head()
	if err != nil {
		return nil, err
	}
	f.Release() // first, so that its memory can be used again
	body, err := f.body(size)
	if err != nil {
		return nil, err
	}
	defer body.Release()
	f.msg = ipc.NewMessage(memory.NewBufferBytes(meta), body)
	return f.msg, nil
}

// head reads what stands in front of a message's body, and the size of that. The bytes stay until the next call.
func (f *frames) head() (meta []byte, body int, err error) {
	if err := f.full(f.prefix[:]); err != nil {
		return nil, 0, err
	}
	if binary.LittleEndian.Uint32(f.prefix[:]) != 0xffffffff {
		return nil, 0, errFrame
	}
	n := binary.LittleEndian.Uint32(f.prefix[4:])
	if n == 0 {
		return nil, 0, io.EOF
	}
	if n < 8 || n > maxMeta {
		return nil, 0, errFrame
	}
	if cap(f.meta) < int(n) {
		f.meta = make([]byte, n)
	}
	meta = f.meta[:n]
	if err := f.full(meta); err != nil {
		return nil, 0, err
	}
	size, err := bodyLength(meta)
	if err != nil || size < 0 || size > f.maxBody {
		return nil, 0, errFrame
	}
	return meta, int(size), nil
}

// body reads a message's body, or looks at it where it lies.
func (f *frames) body(size int) (*memory.Buffer, error) {
	if v, ok := f.r.(viewer); ok {
		b, err := v.view(size)
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		// Values are read in place, which wants them aligned.
		if err != nil || b != nil && uintptr(unsafe.Pointer(&b[0]))%8 == 0 {
			return memory.NewBufferBytes(b), err
		}
		if b != nil {
			return memory.NewBufferBytes(append([]byte(nil), b...)), nil
		}
	}
	body := memory.NewResizableBuffer(f.mem)
	body.Resize(size)
	if err := f.full(body.Bytes()); err != nil {
		body.Release()
		return nil, err
	}
	return body, nil
}

func (f *frames) full(b []byte) error {
	if _, err := io.ReadFull(f.r, b); err == io.EOF {
		return io.ErrUnexpectedEOF
	} else if err != nil {
		return err
	}
	return nil
}

// pool is an allocator that hands freed buffers out again: batches are all of one
// size, and the collector need not see each. A request above its maximum panics,
// which Arrow's reader turns into an error. Not safe for concurrent use.
type pool struct {
	max  int
	free [][]byte
}

func (p *pool) Allocate(size int) []byte {
	if size < 0 || size > p.max+64 {
		panic(errFrame)
	}
	for i, b := range p.free {
		if cap(b) >= size && cap(b) <= 2*size+4096 {
			last := len(p.free) - 1
			p.free[i] = p.free[last]
			p.free = p.free[:last]
			return b[:size]
		}
	}
	return memory.DefaultAllocator.Allocate(size)
}

func (p *pool) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) {
		return b[:size]
	}
	out := p.Allocate(size)
	copy(out, b)
	p.Free(b)
	return out
}

func (p *pool) Free(b []byte) {
	if cap(b) > 0 && len(p.free) < 64 {
		p.free = append(p.free, b[:0])
	}
}
