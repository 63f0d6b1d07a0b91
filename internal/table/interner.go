package table

import (
	"slices"
	"unsafe"
)

// interner makes a dictionary for strings that came without one. Equal strings get equal codes as long as that pays:
// when the first thousand are mostly different, the rest is just numbered.
type interner struct {
	codes map[string]int32
	texts []string
	seen  int
	plain bool
	bytes []byte // the numbered strings, end to end
	ends  []int
	size  int // bytes and
	n     int // strings to expect
}

const internTrial = 1024

func (in *interner) code(s []byte) int32 {
	if in.plain {
		in.bytes = append(in.bytes, s...)
		in.ends = append(in.ends, len(in.bytes))
		return int32(len(in.texts) + len(in.ends) - 1)
	}
	if k, ok := in.codes[string(s)]; ok {
		in.seen++
		return k
	}
	if in.codes == nil {
		in.codes = make(map[string]int32)
	}
	k := int32(len(in.texts))
	t := string(s)
	in.codes[t] = k
	in.texts = append(in.texts, t)
	in.seen++
	if in.seen >= internTrial && len(in.texts) > in.seen/2 {
		in.plain = true
		in.bytes, in.ends = make([]byte, 0, in.size), make([]int, 0, in.n)
	}
	return k
}

// all returns the dictionary. The interner is used up.
func (in *interner) all() []string {
	texts := slices.Grow(in.texts, len(in.ends))
	whole := unsafe.String(unsafe.SliceData(in.bytes), len(in.bytes))
	from := 0
	for _, to := range in.ends {
		texts = append(texts, whole[from:to])
		from = to
	}
	return texts
}
