package table

import (
	"encoding/binary"
	"unsafe"
)

// interner makes a dictionary for strings. Equal strings get equal codes as long as that pays: when most of the first
// thousand differ, it just numbers the rest.
type interner struct {
	arena *arena
	hold  *holding          // what counts the bytes
	known map[string]string // texts that need no copy, or nil
	codes map[string]int32
	near  [256]int32 // the last code of texts that have the same nearby
	texts []string
	seen  int
	bytes int64 // of the texts so far, equal ones too
	plain bool
	block []byte // room for the next strings
}

const (
	internTrial = 1024
	internStep  = 64 // texts are counted this many at a time
	internBlock = 1 << 16
	// A string takes these bytes beside its own: its header in a slice that grows by copying, and its place in the map.
	headerBytes = 48
	mapBytes    = 80
	// freeTexts is the number of bytes of texts that a piece may hold, whatever the memory. A few bytes of a file can stand for a
	// long text that occurs again and again, which takes no memory and much time.
	freeTexts = 1 << 30
)

// internCost returns the most bytes that an interner counts for n texts that take size bytes. A map stays only as long as at
// most half of the texts differ.
func internCost(n, size int64) int64 {
	const each, some = max(headerBytes, (headerBytes+mapBytes)/2), (headerBytes + mapBytes) / 2
	return n*each + min(n, internTrial)*some + internStep*(headerBytes+mapBytes) + size + size/7 + internBlock
}

func (in *interner) code(s []byte) (int32, error) {
	in.seen++
	if in.bytes += int64(len(s)); in.bytes > max(freeTexts, in.arena.limit) {
		return 0, errMemory
	}
	slot := nearby(s)
	if k := in.near[slot]; !in.plain && int(k) < len(in.texts) && in.texts[k] == string(s) {
		return k, nil // several times faster than the map
	}
	if k, ok := in.codes[string(s)]; ok {
		in.near[slot] = k
		return k, nil
	}
	t, known := in.known[string(s)]
	if !known {
		var err error
		if t, err = in.copied(s); err != nil {
			return 0, err
		}
	}
	if len(in.texts)%internStep == 0 {
		size := internStep * headerBytes
		if !in.plain {
			size += internStep * mapBytes
		}
		if err := in.arena.count(in.hold, size); err != nil {
			return 0, err
		}
	}
	k := int32(len(in.texts))
	in.texts = append(in.texts, t)
	if in.plain {
		return k, nil
	}
	if in.codes == nil {
		in.codes = make(map[string]int32)
	}
	in.codes[t] = k
	if in.seen >= internTrial && len(in.texts) > in.seen/2 {
		in.plain, in.codes = true, nil
	}
	return k, nil
}

// nearby spreads a few texts well, by their first eight bytes and their last eight.
func nearby(s []byte) uint8 {
	const spread = 0x9e3779b97f4a7c15
	switch n := len(s); {
	case n >= 8:
		return uint8((binary.LittleEndian.Uint64(s)*spread ^ binary.LittleEndian.Uint64(s[n-8:])) * spread >> 56)
	case n >= 4:
		return uint8((uint64(binary.LittleEndian.Uint32(s))<<32 | uint64(binary.LittleEndian.Uint32(s[n-4:]))) * spread >> 56)
	case n > 0:
		return s[n-1] + 10*s[n/2] + 100*s[0]
	}
	return 0
}

// copied returns a text in memory that is counted.
func (in *interner) copied(s []byte) (string, error) {
	room := &in.block
	if len(s) > internBlock/8 { // a block of its own, so that no other is left with much room
		room = new([]byte)
	}
	if len(s) > cap(*room)-len(*room) {
		size := internBlock
		if room != &in.block {
			size = len(s)
		}
		if err := in.arena.count(in.hold, size); err != nil {
			return "", err
		}
		*room = make([]byte, 0, size)
	}
	from := len(*room)
	*room = append(*room, s...)
	return unsafe.String(unsafe.SliceData((*room)[from:]), len(s)), nil
}
