package keys

import (
	"encoding/binary"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/data/unlinked"
)

// Counter adds up the number of units of each key. Beyond its limit of memory it writes its keys, by a hash, to a file of
// package unlinked, whose errors it returns.
type Counter struct {
	memory int64
	dir    string
	units  map[string]int64
	bytes  int64
	disk   *unlinked.File // nil as long as all keys fit in memory
	parts  []unlinked.Stream
	seed   maphash.Seed
	spills int
}

// DefaultMemory is the memory of a Counter in bytes, where none is given.
const DefaultMemory = 1 << 30

// NewCounter makes a counter that takes about memory bytes, and spills to dir ("" for the folder of temporary files).
func NewCounter(memory int64, dir string) *Counter {
	if memory <= 0 {
		memory = DefaultMemory
	}
	return &Counter{memory: memory, dir: dir, units: map[string]int64{}, seed: maphash.MakeSeed()}
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

// counterParts is the number of parts into which keys are spilled.
const counterParts = 64

// spill writes all keys to the disk, each to the part that a hash with a secret of the run names.
func (c *Counter) spill() (err error) {
	if c.disk == nil {
		if c.disk, err = unlinked.New(c.dir); err != nil {
			return err
		}
		for range counterParts {
			c.parts = append(c.parts, c.disk.Stream())
		}
	}
	var record []byte
	for key, units := range c.units {
		record = binary.LittleEndian.AppendUint64(record[:0], uint64(len(key)))
		record = binary.LittleEndian.AppendUint64(record, uint64(units))
		if _, err := c.parts[maphash.String(c.seed, key)%counterParts].Write(append(record, key...)); err != nil {
			return err
		}
	}
	clear(c.units)
	c.bytes, c.spills = 0, c.spills+1
	return nil
}

// Counts visits every key once. It is called once, after the last Add.
func (c *Counter) Counts(visit func(key string, units int64) error) error {
	if c.disk == nil {
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
	for i := range c.parts {
		if err := c.part(&c.parts[i], visit); err != nil {
			return err
		}
	}
	return nil
}

// part counts the keys of one part, which may have to be divided again.
func (c *Counter) part(p *unlinked.Stream, visit func(key string, units int64) error) error {
	if err := p.End(); err != nil {
		return err
	}
	one := NewCounter(max(c.memory, 1<<20), c.dir)
	defer one.Close()
	r, head, text := p.Reader(1<<16), make([]byte, 16), []byte(nil)
	for {
		switch more, err := r.More(); {
		case err != nil:
			return err
		case !more:
			return one.Counts(visit)
		}
		if err := r.Fill(head); err != nil {
			return err
		}
		n := int(binary.LittleEndian.Uint64(head))
		text = slices.Grow(text[:0], n)[:n]
		if err := r.Fill(text); err != nil {
			return err
		}
		if err := one.Add(string(text), int64(binary.LittleEndian.Uint64(head[8:]))); err != nil {
			return err
		}
	}
}

// Close gives up the memory and the file.
func (c *Counter) Close() {
	_ = c.disk.Close() // it has no name: nothing is left of it
	c.disk, c.parts, c.units = nil, nil, nil
}
