package samplers

import "fmt"

// Lookup finds the units of rows whose keys come as codes into dictionaries, as
// columnar files hold them. It is not safe for concurrent use.
type Lookup struct {
	frame *Frame
	dicts [][]string
	known map[uint64]int32 // by code tuple, filled as tuples occur
	key   []string
}

// Lookup returns one for the given dictionaries, one for each key column.
func (f *Frame) Lookup(dictionaries ...[]string) (*Lookup, error) {
	if len(dictionaries) != len(f.columns) {
		return nil, fmt.Errorf("samplers: %d dictionaries for %d key columns", len(dictionaries), len(f.columns))
	}
	tuples := uint64(1)
	for _, d := range dictionaries {
		if n := uint64(len(d)) + 1; tuples > 1<<62/n {
			return nil, fmt.Errorf("samplers: the dictionaries of the key columns are too large together")
		} else {
			tuples *= n
		}
	}
	return &Lookup{frame: f, dicts: dictionaries, known: map[uint64]int32{}, key: make([]string, len(dictionaries))}, nil
}

// Units appends to dst the unit of each row, given the rows' codes in each key
// column; −1 for a row in no unit, or with a code outside its dictionary (a null).
func (l *Lookup) Units(dst []int32, codes ...[]int32) ([]int32, error) {
	if len(codes) != len(l.dicts) {
		return nil, fail(Misuse)
	}
	for _, c := range codes {
		if len(c) != len(codes[0]) {
			return nil, fail(Misuse)
		}
	}
	var last uint64
	lastUnit, have := int32(-1), false
	for i := range codes[0] {
		tuple, ok := uint64(0), true
		for j, d := range l.dicts {
			code := codes[j][i]
			ok = ok && code >= 0 && int(code) < len(d)
			tuple = tuple*uint64(len(d)+1) + uint64(uint32(code))
		}
		if !ok {
			dst = append(dst, -1)
			continue
		}
		if !have || tuple != last {
			last, lastUnit, have = tuple, l.unit(tuple, codes, i), true
		}
		dst = append(dst, lastUnit)
	}
	return dst, nil
}

// unit looks one tuple of valid codes up, in the frame where it is new.
func (l *Lookup) unit(tuple uint64, codes [][]int32, row int) int32 {
	u, ok := l.known[tuple]
	if !ok {
		for j, d := range l.dicts {
			l.key[j] = d[codes[j][row]]
		}
		u = l.frame.UnitOf(l.key...)
		l.known[tuple] = u
	}
	return u
}
