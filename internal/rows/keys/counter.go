package keys

import (
	"container/heap"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/data/nameless"
)

// Counter adds up the number of units of each key. Beyond its limit of memory it writes its keys, sorted, to a file of
// package nameless, whose errors it returns.
type Counter struct {
	memory int64
	dir    string
	units  map[string]int64
	bytes  int64
	disk   *nameless.File // nil as long as all keys fit in memory
	runs   []*nameless.Stream
}

// DefaultMemory is the memory of a Counter in bytes, where none is given.
const DefaultMemory = 1 << 30

// NewCounter makes a counter that takes about memory bytes, and spills to dir ("" for the folder of temporary files).
func NewCounter(memory int64, dir string) *Counter {
	if memory <= 0 {
		memory = DefaultMemory
	}
	return &Counter{memory: memory, dir: dir, units: map[string]int64{}}
}

// entryBytes is an estimate, from above, of the memory of a key in the map beside its text.
const entryBytes = 80

// Add counts units of a key.
func (c *Counter) Add(key string, units int64) error {
	if n, ok := c.units[key]; ok {
		c.units[key] = n + units
		return nil
	}
	c.units[strings.Clone(key)] = units // the text may be part of a large block
	if c.bytes += int64(len(key)) + entryBytes; c.bytes > c.memory {
		return c.spill()
	}
	return nil
}

// spill writes all keys, sorted, to the disk.
func (c *Counter) spill() (err error) {
	if c.disk == nil {
		if c.disk, err = nameless.New(c.dir); err != nil {
			return err
		}
	}
	to := c.disk.Stream()
	var record []byte
	for _, key := range slices.Sorted(maps.Keys(c.units)) {
		record = binary.LittleEndian.AppendUint64(record[:0], uint64(len(key)))
		record = binary.LittleEndian.AppendUint64(record, uint64(c.units[key]))
		if _, err := to.Write(append(record, key...)); err != nil {
			return err
		}
	}
	if err := to.End(); err != nil {
		return err
	}
	c.runs = append(c.runs, &to)
	clear(c.units)
	c.bytes = 0
	return nil
}

// Counts visits every key once. It is called once, after the last Add.
func (c *Counter) Counts(visit func(key string, units int64) error) error {
	if len(c.runs) == 0 {
		for key, units := range c.units {
			if err := visit(key, units); err != nil {
				return err
			}
		}
		return nil
	}
	if err := c.spill(); err != nil {
		return err
	}
	var all merging
	for _, run := range c.runs {
		r := &spilled{from: run.Reader(1 << 16)}
		if ok, err := r.next(); err != nil {
			return err
		} else if ok {
			all = append(all, r)
		}
	}
	heap.Init(&all)
	for len(all) > 0 {
		key, units := all[0].key, int64(0)
		for len(all) > 0 && all[0].key == key {
			units += all[0].units
			switch ok, err := all[0].next(); {
			case err != nil:
				return err
			case ok:
				heap.Fix(&all, 0)
			default:
				heap.Pop(&all)
			}
		}
		if err := visit(key, units); err != nil {
			return err
		}
	}
	return nil
}

// Close gives up the memory and the file.
func (c *Counter) Close() {
	_ = c.disk.Close() // it has no name: nothing is left of it
	c.disk, c.runs, c.units = nil, nil, nil
}

// spilled is a sorted run of keys, read from its beginning.
type spilled struct {
	from  *nameless.Reader
	key   string
	units int64
	text  []byte
}

func (s *spilled) next() (ok bool, err error) {
	if more, err := s.from.More(); err != nil || !more {
		return false, err
	}
	var head [16]byte
	if err := s.from.Fill(head[:]); err != nil {
		return false, err
	}
	n := int(binary.LittleEndian.Uint64(head[:]))
	s.text = slices.Grow(s.text[:0], n)[:n]
	if err := s.from.Fill(s.text); err != nil {
		return false, err
	}
	s.key, s.units = string(s.text), int64(binary.LittleEndian.Uint64(head[8:]))
	return true, nil
}

// merging is a heap of runs by their next keys.
type merging []*spilled

func (m merging) Len() int           { return len(m) }
func (m merging) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m merging) Less(i, j int) bool { return m[i].key < m[j].key }

// Push is for package heap.
func (m *merging) Push(x any) { *m = append(*m, x.(*spilled)) }

// Pop is for package heap.
func (m *merging) Pop() any {
	last := len(*m) - 1
	x := (*m)[last]
	*m = (*m)[:last]
	return x
}
