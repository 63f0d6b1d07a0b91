package units

import (
	"cmp"
	"hash/maphash"
	"strings"

	"github.com/dprelease/dprelease/internal/data/table"
)

// Counter adds up the number of units of each key, for package keys. Beyond its limit of memory it sorts its keys by a hash, with a
// Sorter, whose errors it returns.
type Counter struct {
	memory int64
	dir    string
	units  map[string]int64
	bytes  int64
	late   *Sorter // nil as long as all keys fit in memory
	seed   maphash.Seed
	spills int
}

// NewCounter makes a counter that takes about memory bytes, and spills to dir ("" for the folder of temporary files).
func NewCounter(memory int64, dir string) *Counter {
	return &Counter{memory: cmp.Or(memory, table.DefaultMemory), dir: dir, units: map[string]int64{}, seed: maphash.MakeSeed()}
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
	if c.bytes += int64(len(key)) + entryBytes; c.bytes > c.memory/4*3 {
		return c.spill()
	}
	return nil
}

// counterParts is the number of parts into which keys are spilled.
const counterParts = 64

// spill puts all keys aside, each in the part that a hash with a secret of the run names.
func (c *Counter) spill() error {
	if c.late == nil {
		c.late = NewSorter(counterParts, c.memory/4, c.dir)
	}
	var row []uint32
	for key, n := range c.units {
		row = appendText(append(row[:0], uint32(n), uint32(n>>32)), key)
		if err := c.late.Add(int(maphash.String(c.seed, key)%counterParts), row...); err != nil {
			return err
		}
	}
	clear(c.units)
	c.bytes, c.spills = 0, c.spills+1
	return nil
}

// Counts visits every key once. It is called once, after the last Add.
func (c *Counter) Counts(visit func(key string, units int64) error) error {
	if c.late == nil {
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
	for part := range counterParts {
		if err := c.part(part, visit); err != nil {
			return err
		}
	}
	return nil
}

// part counts the keys of one part, which may have to be divided again.
func (c *Counter) part(part int, visit func(key string, units int64) error) error {
	one := NewCounter(max(c.memory, 1<<20), c.dir)
	defer one.Close()
	err := c.late.Each(part, func(rows []uint32) error {
		for len(rows) > 0 {
			n, key := int64(rows[1])<<32|int64(rows[0]), ""
			key, rows = textOf(rows[2:])
			if err := one.Add(strings.Clone(key), n); err != nil { // a map takes over the text, also of a key that it has
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return one.Counts(visit)
}

// Close gives up the memory and the file.
func (c *Counter) Close() {
	_ = c.late.Close() // it has no name: nothing is left of it
	c.late, c.units = nil, nil
}
