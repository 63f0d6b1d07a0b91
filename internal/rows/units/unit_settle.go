package units

import (
	"hash/maphash"
	"math"

	"github.com/dprelease/dprelease/internal/data/table"
)

// When units do not fit in memory, an index sorts them and their numbers by hashes, and from then on all rows with their keys.
// In the end it reads one part after the other, and finds the first row of each row's unit. Sorted by rows again, the first
// rows are numbered, and the other rows get the numbers of theirs.

const (
	lateBits  = 10 // of a hash, which name the part
	lateParts = 1 << lateBits
	// numbered says of a unit that its number is known, in the place of its first row. ownUnit says of a row that it is a unit
	// of its own.
	numbered = 1 << 62
	ownUnit  = 1 << 63
)

// divert makes room: the units so far go to the sorter.
func (x *Index) divert() error {
	x.from, x.late = x.rows, NewSorter(lateParts, max(x.spec.Memory/4, leastRoom), x.spec.Dir)
	var row []uint32
	for i := range x.shards {
		s := &x.shards[i]
		for _, u := range s.units {
			key, text := u.key, ""
			if x.keys.text {
				text = string(s.texts.at(u.key))
				key = maphash.String(x.keys.seed, text)
			}
			if err := x.putRow(&row, key, u.is|numbered, text); err != nil {
				return err
			}
		}
		x.shards[i] = unitShard{}
	}
	return nil
}

// put puts the rows of a chunk aside.
func (x *Index) put(unit *table.Values, first, rows int) error {
	var row []uint32
	for i, shard := range x.keys.of[:rows] {
		if shard < 0 {
			continue
		}
		key, is, text := x.keys.read[i], uint64(x.rows)+uint64(i), ""
		if shard >= ownShard {
			key, is = is, is|ownUnit
		} else if x.keys.text {
			text = unit.Dict[unit.Codes[first+i]]
		}
		if err := x.putRow(&row, key, is, text); err != nil {
			return err
		}
	}
	return nil
}

// putRow puts a key aside, and what is known of its unit.
func (x *Index) putRow(row *[]uint32, key, is uint64, text string) error {
	*row = append((*row)[:0], uint32(key), uint32(key>>32), uint32(is), uint32(is>>32))
	if x.keys.text && is&ownUnit == 0 {
		*row = appendText(*row, text)
	}
	return x.late.Add(int(x.keys.mix(key)>>(64-lateBits)), *row...)
}

// eachLate visits what was put aside in a part.
func (x *Index) eachLate(part int, visit func(hash, key, is uint64, text string) error) error {
	return x.late.Each(part, func(rows []uint32) error {
		for len(rows) > 0 {
			key, is, text := uint64(rows[1])<<32|uint64(rows[0]), uint64(rows[3])<<32|uint64(rows[2]), ""
			if rows = rows[4:]; x.keys.text && is&ownUnit == 0 {
				text, rows = textOf(rows)
			}
			if err := visit(x.keys.mix(key), key, is, text); err != nil {
				return err
			}
		}
		return nil
	})
}

// settle numbers the rows that were put aside.
func (x *Index) settle() error {
	span := (x.rows/lateParts/chunkRows + 1) * chunkRows // of the rows of a part
	byRow := NewSorter(int((x.rows+span-1)/span), max(x.spec.Memory/8, leastRoom), x.spec.Dir)
	defer byRow.Close()
	firsts := NewRowSet(x.rows - x.from)
	for part := range lateParts {
		err := x.findLate(part, 0, 0, func(row, first uint64) error {
			if row == first {
				firsts.Add(int64(row) - x.from)
			}
			return byRow.Add(int(row)/int(span), uint32(row%uint64(span)), uint32(first), uint32(first>>32))
		})
		if err != nil {
			return err
		}
	}
	x.shards[0] = unitShard{}
	base, made := int64(x.next), firsts.Count()
	if base+made >= noUnit {
		return ErrLimit
	}
	x.next += uint32(made)
	of := make([]uint64, span) // the first rows of a part, plus one
	for part := x.from / span; part*span < x.rows; part++ {
		clear(of)
		err := byRow.Each(int(part), func(rows []uint32) error {
			for ; len(rows) > 0; rows = rows[3:] {
				of[rows[0]] = (uint64(rows[2])<<32 | uint64(rows[1])) + 1
			}
			return nil
		})
		for row := max(part*span, x.from); err == nil && row < min((part+1)*span, x.rows); row++ {
			id, first := uint32(noUnit), of[row-part*span]-1
			if first&numbered == 0 {
				id = uint32(base + firsts.Before(int64(first)-x.from))
			} else if first != math.MaxUint64 {
				id = uint32(first)
			}
			err = x.numbers.add([]uint32{id})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// leastRoom is the memory of a sorter, and of the units of a part, however little there is.
const leastRoom = 1 << 16

// deepest bounds how often a part is halved. Only a unit with a very long key comes so far, and it fits.
const deepest = 20

// findLate finds for each row of a part the first row of its unit, or the unit's number. Where the units do not fit in memory, it
// reads the part once for each half of them, by the next bit of their hashes.
func (x *Index) findLate(part, depth int, half uint64, visit func(row, first uint64) error) error {
	s, k := &x.shards[0], x.keys
	s.reset()
	mine := func(hash uint64) bool { return hash<<lateBits>>(64-depth) == half }
	err := x.eachLate(part, func(hash, key, is uint64, text string) error {
		if is&ownUnit != 0 || !mine(hash) {
			return nil
		}
		s.reserve(k, 1)
		s.find(k, hash, key, text, is)
		if s.bytes() > max(x.spec.Memory/8, leastRoom) && len(s.units) > 1 && depth < deepest {
			return errRoom
		}
		return nil
	})
	if err == errRoom {
		*s = unitShard{}
		if err = x.findLate(part, depth+1, 2*half, visit); err == nil {
			err = x.findLate(part, depth+1, 2*half+1, visit)
		}
		return err
	}
	if err != nil {
		return err
	}
	return x.eachLate(part, func(hash, key, is uint64, text string) error {
		switch {
		case is&numbered != 0 || !mine(hash):
			return nil
		case is&ownUnit != 0:
			return visit(is&^ownUnit, is&^ownUnit)
		}
		at, _ := s.find(k, hash, key, text, is)
		return visit(is, s.units[at].is)
	})
}
