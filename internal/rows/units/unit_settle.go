package units

import (
	"cmp"
	"math/bits"
)

// When units do not fit in memory, an index writes them and their numbers to partitions, and from then on all rows with
// their keys. In the end it reads each partition on its own and finds the first row of each row's unit. Put in order again,
// the first rows are numbered, and the other rows get the numbers of theirs.

// numbered says of a record that it holds the number of a unit in the place of a row.
const numbered = 1 << 62

// divert goes over to the disk.
func (x *Index) divert() error {
	x.diverted = x.set.row
	err := x.overflow.spill(func(_ int, p *partition, record []uint64, text []byte) error {
		if record[firstWord]&ownUnit != 0 {
			return nil // no other row has its number
		}
		record[firstWord] |= numbered
		return p.writeUnit(x.set.keys, record, text)
	})
	x.set.free()
	return err
}

// put writes the rows of a chunk, which split has sorted, to the partitions.
func (x *Index) put(texts func(off int) string) error {
	var errs [shards]error
	parallel(shards, func(i int) {
		k, record := x.set.keys, make([]uint64, ownWords)
		for n := range k.stretches {
			lo, hi := k.stretches[n].shard(i)
			for at := lo; at < hi && errs[i] == nil; at++ {
				off := int(k.sorted[at] & offMask)
				record[keyWord], record[firstWord] = k.words[at], uint64(x.set.row)+uint64(off)
				text := ""
				if k.sorted[at]&ownRow != 0 {
					record[firstWord] |= ownUnit
				} else if k.text {
					text = texts(off)
				}
				errs[i] = x.parts[i].writeUnit(k, record, []byte(text))
			}
		}
	})
	return cmp.Or(errs[:]...)
}

// settle numbers the rows that were written to the disk.
func (x *Index) settle() error {
	var found []partition
	for i := range x.parts {
		if err := x.parts[i].End(); err != nil {
			return err
		}
		if err := x.find(&x.parts[i], 1, &found); err != nil {
			return err
		}
	}
	x.set.free()
	buffer := max(1<<12, min(1<<18, int(x.spec.Memory/8)/max(1, len(found))))
	var from []stream
	for i := range found {
		from = append(from, &spilledResults{r: found[i].reader(buffer), record: make([]uint64, 2)})
	}
	firsts := newFirsts(x.diverted, x.set.row)
	base := x.next
	if err := merge(from, 2, x.set.row, func(record []uint64) error {
		row, first := int64(record[0]), record[1]
		if err := x.numbers.fill(row); err != nil {
			return err
		}
		switch {
		case first&numbered != 0:
			return x.numbers.add([]uint32{uint32(first)})
		case int64(first) == row:
			if x.next == noUnit-1 {
				return ErrLimit
			}
			x.next++
			firsts.add(row)
		}
		return x.numbers.add([]uint32{base + firsts.rank(int64(first))})
	}); err != nil {
		return err
	}
	x.units = int64(x.next)
	return x.numbers.fill(x.set.row)
}

// leastRoom is the memory that a partition may take, however little there is.
const leastRoom = 1 << 16

// find adds a list of the rows of a partition, each with the first row of its unit, or with the unit's number. A partition
// whose units do not fit in memory is divided.
func (x *Index) find(p *partition, depth int, found *[]partition) error {
	s, k := &x.set.shards[0], x.set.keys // the memory of one shard serves all partitions in turn
	s.reset()
	to := partition{Stream: x.disk.Stream()}
	r, u := p.reader(spillBuffer), spilled{record: make([]uint64, ownWords)}
	for range p.records {
		if err := r.readUnit(k, &u); err != nil {
			return err
		}
		row := u.record[firstWord]
		s.reserve(k, 1)
		first := s.records.at(s.findSpilled(k, &u))[firstWord]
		if row&numbered != 0 {
			continue
		}
		if err := to.writeWords(row&^ownUnit, first&^ownUnit); err != nil {
			return err
		}
		if s.bytes() > max(x.limit, leastRoom) && s.records.count > 1 && depth < deepest {
			return x.divide(p, depth, found)
		}
	}
	if err := to.End(); err != nil {
		return err
	}
	if !to.Empty() {
		*found = append(*found, to)
	}
	return nil
}

// divide finds the units of the parts of a partition.
func (x *Index) divide(p *partition, depth int, found *[]partition) error {
	x.set.free()
	parts, err := p.divide(x.set.keys, ownWords, depth, func(*partReader, *partition, []uint64) error { return nil })
	for i := 0; err == nil && i < len(parts); i++ {
		if parts[i].records > 0 {
			err = x.find(&parts[i], depth+1, found)
		}
	}
	return err
}

// firsts is the set of the rows that are the first ones of their units. It counts those before a row.
type firsts struct {
	from   int64    // where its rows begin
	rows   []uint64 // a bitmap
	before []uint32 // how many there are before every eighth word of it
	count  uint32
}

func newFirsts(from, to int64) *firsts {
	return &firsts{from: from, rows: make([]uint64, (to-from)/64+1)}
}

// add adds a row behind all others.
func (f *firsts) add(row int64) {
	at := row - f.from
	for int64(len(f.before)) <= at>>9 {
		f.before = append(f.before, f.count)
	}
	f.rows[at>>6] |= 1 << (at & 63)
	f.count++
}

// rank returns how many rows of the set come before one of them.
func (f *firsts) rank(row int64) uint32 {
	at := row - f.from
	n := f.before[at>>9]
	for _, w := range f.rows[at>>9<<3 : at>>6] {
		n += uint32(bits.OnesCount64(w))
	}
	return n + uint32(bits.OnesCount64(f.rows[at>>6]&(1<<(at&63)-1)))
}
