package table

import (
	"runtime"
	"sync"
	"unsafe"

	"github.com/apache/arrow/go/v15/arrow/bitutil"
)

var errMemory = fail(CodeLimit, "",
	"its values need more memory than a run may take: a quarter of what the machine has, and for Parquet at most 768 MiB")

// arena counts the memory of one scan, enforces its limit, and reuses buffers, so that a scan of any length allocates only
// what is alive at once.
type arena struct {
	limit int64

	mu      sync.Mutex
	used    int64
	free    [][]uint64
	spare   int64 // bytes in free
	most    int64 // bytes of the largest buffer so far
	dropped int64 // bytes that were given up, and that the collector may not have found yet
}

// allow takes note that n bytes will be allocated beside those in use. What lies unused, and what nobody has collected, goes
// first where it would lift the whole above the limit: a file of many row groups takes what one of them takes.
func (m *arena) allow(n int64) error {
	if m.used+n > m.limit {
		return errMemory
	}
	if m.used+n+m.spare+m.dropped > m.limit {
		m.dropped += m.spare
		clear(m.free)
		m.free, m.spare = m.free[:0], 0
		if m.dropped > m.limit/8 { // not for every small piece
			runtime.GC()
			m.dropped = 0
		}
	}
	m.used += n
	return nil
}

// spareBytes is the memory that may lie unused, or one buffer of the largest size, so that a page of unusual size can use
// the memory of the one before it.
const spareBytes = 32 << 20

// holding is the share of an arena that one owner has.
type holding struct {
	buffers [][]uint64
	bytes   int64 // counted, and allocated elsewhere
}

// get returns n bytes for h. They are aligned for values of eight bytes, and their contents are undefined.
func (m *arena) get(h *holding, n int) ([]byte, error) {
	if n < 0 || int64(n) > m.limit {
		return nil, errMemory
	}
	words := n/8 + 1
	m.mu.Lock()
	best := -1
	for i, b := range m.free {
		if len(b) >= words && len(b) <= words+words/16+1024 && (best < 0 || len(b) < len(m.free[best])) {
			best = i
		}
	}
	var b []uint64
	if best >= 0 {
		b = m.free[best] // before allow, which may give up the rest
		words = len(b)
		last := len(m.free) - 1
		m.free[best], m.free[last] = m.free[last], nil
		m.free = m.free[:last]
		m.spare -= 8 * int64(words)
	} else {
		words += words / 16 // so that the next page, which is a little larger, finds room in it
	}
	err := m.allow(8 * int64(words))
	m.most = max(m.most, 8*int64(words))
	m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if b == nil {
		b = make([]uint64, words)
	}
	h.buffers = append(h.buffers, b)
	return unsafe.Slice((*byte)(unsafe.Pointer(&b[0])), 8*len(b))[:n], nil
}

// room makes room for n values of v.
func (m *arena) room(s shape, v *vec, n int) error {
	size := 8
	if s == asCodes {
		size = 4
	}
	b, err := m.get(&v.hold, n*size)
	if err != nil {
		return err
	}
	switch s {
	case asFloat64:
		v.f64 = view[float64](b, n)
	case asInt64:
		v.i64 = view[int64](b, n)
	default:
		v.codes = view[int32](b, n)
	}
	return nil
}

// bitmap makes a bitmap for v in which all of n values are there, or none.
func (m *arena) bitmap(v *vec, n int, there bool) (err error) {
	if v.valid, err = m.get(&v.hold, (n+7)/8); err == nil {
		clear(v.valid)
		bitutil.SetBitsTo(v.valid, 0, int64(n), there)
	}
	return err
}

// count counts n bytes that h allocates elsewhere.
func (m *arena) count(h *holding, n int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.allow(int64(n)); err != nil {
		return err
	}
	h.bytes += int64(n)
	return nil
}

// release gives everything back. Nothing may refer to it any more.
func (h *holding) release(m *arena) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used -= h.bytes
	m.dropped += h.bytes
	for _, b := range h.buffers {
		size := 8 * int64(len(b))
		m.used -= size
		if m.spare+size <= max(min(spareBytes, m.limit/8), m.most+m.most/8) && len(m.free) < 256 {
			m.free = append(m.free, b)
			m.spare += size
			continue
		}
		m.dropped += size
	}
	*h = holding{}
}

// The views below read memory in the machine's byte order. Open refuses big-endian machines.

func view[T number](b []byte, n int) []T {
	if n == 0 {
		return []T{}
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&b[:n*int(unsafe.Sizeof(T(0)))][0])), n)
}

// bytesOf is the inverse of view.
func bytesOf[T number](v []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(T(0))))
}

func aligned(b []byte) bool {
	return len(b) == 0 || uintptr(unsafe.Pointer(&b[0]))%8 == 0
}
