package table

import (
	"sync"
	"unsafe"
)

// buffer is a piece of memory aligned for 8-byte values.
type buffer struct {
	words []uint64
}

func (b *buffer) bytes() []byte {
	if len(b.words) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&b.words[0])), len(b.words)*8)
}

// pool keeps the buffers of one scan for reuse, so that a scan of any length allocates only what is alive at once.
type pool struct {
	mu   sync.Mutex
	free []*buffer
	held int // words in free

	largest int // words of the largest buffer that was asked for

	heavy sync.Mutex // held while a large page is decoded of which little will stay
}

// pooledWords is how much may lie unused: 32 MiB, or one buffer of the largest size that was asked for, so that a page
// of unusual size uses the memory of the one before instead of waiting for the collector beside it.
func (p *pool) pooledWords() int { return max(32<<20/8, p.largest+p.largest/8) }

// get returns a buffer of at least n bytes, its contents undefined.
func (p *pool) get(n int) *buffer {
	words := (n + 7) / 8
	p.mu.Lock()
	p.largest = max(p.largest, words)
	best := -1
	for i := len(p.free) - 1; i >= 0; i-- {
		have := len(p.free[i].words)
		if have >= words && have <= 4*words+1024 && (best < 0 || have < len(p.free[best].words)) {
			best = i
			if have < words+words/8+64 {
				break
			}
		}
	}
	if best >= 0 {
		b := p.free[best]
		last := len(p.free) - 1
		p.free[best] = p.free[last]
		p.free[last] = nil
		p.free = p.free[:last]
		p.held -= len(b.words)
		p.mu.Unlock()
		return b
	}
	p.mu.Unlock()
	return &buffer{words: make([]uint64, words+words/16+8)}
}

// put takes a buffer back. Nothing may refer to it any more.
func (p *pool) put(b *buffer) {
	if b == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) >= 256 || p.held+len(b.words) > p.pooledWords() {
		return
	}
	p.held += len(b.words)
	p.free = append(p.free, b)
}

// The views below read memory in the machine's byte order. Open refuses big-endian machines.

func viewFloat64(b []byte, n int) []float64 {
	if n == 0 {
		return []float64{}
	}
	return unsafe.Slice((*float64)(unsafe.Pointer(&b[:n*8][0])), n)
}

func viewInt64(b []byte, n int) []int64 {
	if n == 0 {
		return []int64{}
	}
	return unsafe.Slice((*int64)(unsafe.Pointer(&b[:n*8][0])), n)
}

func viewInt32(b []byte, n int) []int32 {
	if n == 0 {
		return []int32{}
	}
	return unsafe.Slice((*int32)(unsafe.Pointer(&b[:n*4][0])), n)
}

func aligned(b []byte) bool {
	return len(b) == 0 || uintptr(unsafe.Pointer(&b[0]))%8 == 0
}
