package keys

import (
	"bufio"
	"container/heap"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/nameless"
)

// Counter adds up the number of units of each key. Beyond its limit of memory it writes its keys, sorted, to a file
// without a name, which the system deletes when the process ends in any way.
type Counter struct {
	memory int64
	dir    string
	units  map[string]int64
	bytes  int64
	runs   []*os.File
}

// ErrSpill says that the keys do not fit in memory, and that the disk for them cannot be used. It says nothing more.
var ErrSpill = errors.New("keys: the keys do not fit in memory, and the disk for them cannot be used")

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

// spill writes all keys, sorted, to a file.
func (c *Counter) spill() error {
	f, err := nameless.File(c.dir)
	if err != nil {
		return ErrSpill
	}
	c.runs = append(c.runs, f)
	w := bufio.NewWriterSize(f, 1<<20)
	var head []byte
	for _, key := range slices.Sorted(maps.Keys(c.units)) {
		head = binary.AppendUvarint(head[:0], uint64(len(key)))
		head = binary.AppendUvarint(head, uint64(c.units[key]))
		if _, err := w.Write(head); err != nil {
			return ErrSpill
		}
		if _, err := w.WriteString(key); err != nil {
			return ErrSpill
		}
	}
	if w.Flush() != nil {
		return ErrSpill
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return ErrSpill
	}
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
	for _, f := range c.runs {
		r := &spilled{from: bufio.NewReaderSize(f, 1<<16)}
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

// Close gives up the memory and the files.
func (c *Counter) Close() {
	for _, f := range c.runs {
		_ = f.Close() // it has no name: nothing is left of it
	}
	c.runs, c.units = nil, nil
}

// spilled is a sorted file of keys, read from its beginning.
type spilled struct {
	from  *bufio.Reader
	key   string
	units int64
	text  []byte
}

func (s *spilled) next() (ok bool, err error) {
	n, err := binary.ReadUvarint(s.from)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	units, more := binary.ReadUvarint(s.from)
	if err != nil || more != nil {
		return false, ErrSpill
	}
	s.text = slices.Grow(s.text[:0], int(n))[:n]
	if _, err := io.ReadFull(s.from, s.text); err != nil {
		return false, ErrSpill
	}
	s.key, s.units = string(s.text), int64(units)
	return true, nil
}

// merging is a heap of files by their next keys.
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
