package table

import "unsafe"

// interner makes a dictionary for strings. Equal strings get equal codes as long as that pays: when most of the first
// thousand differ, it just numbers the rest.
type interner struct {
	arena *arena
	hold  *holding // what counts the bytes
	codes map[string]int32
	texts []string
	seen  int
	bytes int64 // of the texts so far, equal ones too
	plain bool
	block []byte // room for the next strings
}

const (
	internTrial = 1024
	internBlock = 1 << 16
	// A string takes these bytes beside its own: its header in a slice that grows by copying, and its place in the map.
	headerBytes = 48
	mapBytes    = 80
	// freeTexts is how many bytes of texts a piece may hold, whatever the memory. A few bytes of a file can stand for a
	// long text that occurs again and again, which takes no memory and much time.
	freeTexts = 1 << 30
)

func (in *interner) code(s []byte) (int32, error) {
	in.seen++
	if in.bytes += int64(len(s)); in.bytes > max(freeTexts, in.arena.limit) {
		return 0, errMemory
	}
	if !in.plain {
		if k, ok := in.codes[string(s)]; ok {
			return k, nil
		}
	}
	if len(s) > cap(in.block)-len(in.block) {
		size := max(len(s), internBlock)
		if err := in.arena.count(in.hold, size); err != nil {
			return 0, err
		}
		in.block = make([]byte, 0, size)
	}
	if len(in.texts)%internTrial == 0 {
		size := internTrial * headerBytes
		if !in.plain {
			size += internTrial * mapBytes
		}
		if err := in.arena.count(in.hold, size); err != nil {
			return 0, err
		}
	}
	from := len(in.block)
	in.block = append(in.block, s...)
	t := unsafe.String(unsafe.SliceData(in.block[from:]), len(s))
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
