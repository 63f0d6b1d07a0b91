package units

import "math/bits"

// When units do not fit in memory, an index writes them to the disk, forgets them, and goes on numbering. So a unit may get
// several numbers, one in each epoch. In the end the partitions show which numbers belong to one unit, and the rows get new
// numbers.

// epoch is a stretch of rows between two times that the index forgot its units.
type epoch struct {
	row  int64 // where it begins
	next uint32
}

// spill writes the units and their numbers to the disk and forgets them.
func (x *Index) spill() error {
	if x.epochs == nil {
		x.epochs = []epoch{{}}
	}
	x.epochs = append(x.epochs, epoch{x.set.row, x.next})
	return x.overflow.spill(func(_ int, p *partition, record []uint64, text []byte) error {
		if record[firstWord]&ownUnit != 0 {
			return nil // no other row has its number
		}
		return p.writeUnit(x.set.keys, record, text)
	})
}

// ranks is the set of numbers that are the first of their units. It counts those below a number.
type ranks struct {
	first []uint64 // a bitmap
	below []uint32 // how many are below every eighth word of it
}

func newRanks(n uint32) *ranks {
	r := &ranks{first: make([]uint64, n/64+1)}
	for i := range r.first {
		r.first[i] = ^uint64(0)
	}
	return r
}

func (r *ranks) clear(id uint32) { r.first[id>>6] &^= 1 << (id & 63) }

func (r *ranks) has(id uint32) bool { return r.first[id>>6]>>(id&63)&1 == 1 }

// count prepares rank. Nobody calls clear after it.
func (r *ranks) count() {
	r.below = make([]uint32, len(r.first)/8+1)
	sum := uint32(0)
	for i, w := range r.first {
		if i%8 == 0 {
			r.below[i/8] = sum
		}
		sum += uint32(bits.OnesCount64(w))
	}
}

// rank returns how many first numbers are below a number.
func (r *ranks) rank(id uint32) uint32 {
	word := int(id >> 6)
	n := r.below[word/8]
	for _, w := range r.first[word/8*8 : word] {
		n += uint32(bits.OnesCount64(w))
	}
	return n + uint32(bits.OnesCount64(r.first[word]&(1<<(id&63)-1)))
}

// settle gives every row the number that its unit would have in memory.
func (x *Index) settle() error {
	if err := x.spill(); err != nil {
		return err
	}
	ranks := newRanks(x.next)
	again, err := x.overflow.settle(
		func(*partReader, *partition, []uint64) error { return nil },
		func(p, to *partition, s *unitShard) error { return x.same(p, to, s, ranks) })
	if err != nil {
		return err
	}
	ranks.count()
	x.units = int64(ranks.rank(x.next))
	return x.renumber(again, ranks)
}

// same finds the units of a partition that have several numbers, and writes each further number with the first one.
func (x *Index) same(p, to *partition, s *unitShard, ranks *ranks) error {
	r, u := p.reader(spillBuffer), spilled{record: make([]uint64, ownWords)}
	for range p.records {
		if err := r.readUnit(x.set.keys, &u); err != nil {
			return err
		}
		id := uint32(u.record[firstWord])
		if first := uint32(s.records.at(s.findSpilled(x.set.keys, &u))[firstWord]); first != id {
			ranks.clear(id)
			if err := to.writeWords(uint64(id), uint64(first)); err != nil {
				return err
			}
		}
	}
	return nil
}

// renumber replaces the numbers of all rows, epoch by epoch: rows have only numbers of their epoch.
func (x *Index) renumber(again []partition, ranks *ranks) error {
	buffer := max(1<<12, min(1<<18, int(x.spec.Memory/8)/max(1, len(again))))
	var from []stream
	for i := range again {
		from = append(from, &spilledResults{r: again[i].reader(buffer), record: make([]uint64, 2)})
	}
	pairs := partition{disk: x.disk}
	if err := merge(from, 2, int64(x.next), func(pair []uint64) error { return pairs.writeWords(pair...) }); err != nil {
		return err
	}
	if err := pairs.end(); err != nil {
		return err
	}
	r, at := pairs.reader(spillBuffer), -1
	var final []uint32 // the new numbers of an epoch
	return x.numbers.each(func(first int64, ids []uint32) (err error) {
		for len(ids) > 0 {
			for at < 0 || first >= x.epochs[at+1].row {
				at++
				if final, err = finals(final[:0], x.epochs[at].next, x.epochs[at+1].next, ranks, r); err != nil {
					return err
				}
			}
			n := min(int64(len(ids)), x.epochs[at+1].row-first)
			for i, id := range ids[:n] {
				if id != noUnit {
					ids[i] = final[id-x.epochs[at].next]
				}
			}
			ids, first = ids[n:], first+n
		}
		return nil
	})
}

// finals returns the new numbers for the numbers between two. pairs holds, in order, the numbers that are not the first of
// their units.
func finals(to []uint32, from, end uint32, ranks *ranks, pairs *partReader) ([]uint32, error) {
	n := ranks.rank(from)
	for id := from; id < end; id++ {
		if ranks.has(id) {
			to = append(to, n)
			n++
			continue
		}
		var pair [2]uint64
		if err := pairs.words(pair[:]); err != nil {
			return nil, err
		}
		to = append(to, ranks.rank(uint32(pair[1])))
	}
	return to, nil
}
