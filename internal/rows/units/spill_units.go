package units

import (
	"unsafe"

	"github.com/dprelease/dprelease/internal/data/unlinked"
)

// Units that do not fit in memory are written to partitions by the top bits of their hashes, as partial results, and
// forgotten. So a unit may be written several times. In the end each partition is read on its own, and the parts of a unit
// are combined. A partition that does not fit in memory is divided by the next bits.

// overflow keeps the units of a set within a limit of memory.
type overflow struct {
	set   *unitSet
	width int            // words of a record
	limit int64          // the most bytes that units may take
	dir   string         // where the others go; "" is the folder of temporary files
	disk  *unlinked.File // nil as long as all units fit in memory
	parts []partition
}

// makeRoom spills the units where those of the next chunk might not fit. more is what they take beside the set.
func (o *overflow) makeRoom(more int64, spill func() error) error {
	need, grows := o.set.wants()
	if !grows || need+more <= o.limit {
		return nil
	}
	if err := spill(); err != nil {
		return err
	}
	if need, _ = o.set.wants(); need > o.limit {
		o.set.free() // the memory is in the wrong places
	}
	return nil
}

// spill hands all units to write, shard by shard, and forgets them. write may change the record that it gets.
func (o *overflow) spill(write func(shard int, p *partition, record []uint64, text []byte) error) (err error) {
	if o.disk == nil {
		if o.disk, err = unlinked.New(o.dir); err != nil {
			return err
		}
		o.parts = newPartitions(o.disk)
	}
	record := make([]uint64, o.width)
	for i := range o.parts {
		p, s := &o.parts[i], &o.set.shards[i]
		for n := range uint32(s.records.count) {
			copy(record, s.records.at(n))
			var text []byte
			if o.set.keys.text && record[firstWord]&ownUnit == 0 {
				text = s.texts.at(record[keyWord])
			}
			if err := write(i, p, record, text); err != nil {
				return err
			}
		}
		s.reset()
		if err := p.End(); err != nil {
			return err
		}
	}
	return nil
}

// settle calls combine for each partition, with an empty shard that has room for its units, and returns what combine
// wrote. A partition that does not fit in memory is divided first; follow copies what follows a unit.
func (o *overflow) settle(follow func(from *partReader, to *partition, record []uint64) error,
	combine func(p, to *partition, s *unitShard) error) (out []partition, err error) {
	o.set.free()
	var settle func(p *partition, depth int) error
	settle = func(p *partition, depth int) error {
		switch {
		case p.records == 0:
			return nil
		case p.records > 1 && depth < deepest && !p.fits(o.width, o.limit):
			parts, err := p.divide(o.set.keys, o.width, depth, follow)
			for i := 0; err == nil && i < len(parts); i++ {
				err = settle(&parts[i], depth+1)
			}
			return err
		}
		s := &o.set.shards[0] // the memory of one shard serves all partitions in turn
		s.reset()
		s.reserve(o.set.keys, int(p.records))
		to := partition{Stream: o.disk.Stream()}
		if err := combine(p, &to, s); err != nil {
			return err
		}
		if err := to.End(); err != nil || to.Empty() {
			return err
		}
		out = append(out, to)
		return nil
	}
	for i := range o.parts {
		if err := settle(&o.parts[i], 1); err != nil {
			return nil, err
		}
	}
	o.parts = nil
	o.set.free()
	return out, nil
}

// close gives up the units and the file.
func (o *overflow) close() error {
	o.set.free()
	o.parts = nil
	err := o.disk.Close()
	o.disk = nil
	return err
}

// deepest is the depth at which hashes have no more bits. Only a unit with a very long key gets there, and it fits.
const deepest = 64/shardBits - 5

// spilled is a unit of a partition: its record and, if keys are texts, its key. The key's word in the record is then the
// length of the text.
type spilled struct {
	record []uint64
	text   []byte
	hash   uint64
}

// writeUnit writes a unit without its tallies.
func (p *partition) writeUnit(k *keyer, record []uint64, text []byte) error {
	p.records++
	if !k.text || record[firstWord]&ownUnit != 0 {
		return p.write(asBytes(record))
	}
	p.extra += int64(len(text)) + 4
	key := record[keyWord]
	record[keyWord] = uint64(len(text))
	err := p.write(asBytes(record))
	record[keyWord] = key
	if err != nil {
		return err
	}
	return p.write(text)
}

// readUnit reads what writeUnit wrote.
func (r *partReader) readUnit(k *keyer, u *spilled) error {
	if err := r.words(u.record); err != nil {
		return err
	}
	switch {
	case u.record[firstWord]&ownUnit != 0:
		u.hash = k.mix(u.record[firstWord])
	case k.text:
		n := int(u.record[keyWord])
		if cap(u.text) < n {
			u.text = make([]byte, n)
		}
		u.text = u.text[:n]
		if err := r.Fill(u.text); err != nil {
			return err
		}
		u.hash = k.mix(k.hashText(u.text))
	default:
		u.hash = k.mix(u.record[keyWord])
	}
	return nil
}

// findSpilled returns the unit of a spilled one. The caller has reserved room for it.
func (s *unitShard) findSpilled(k *keyer, u *spilled) uint32 {
	if u.record[firstWord]&ownUnit != 0 {
		return s.insert(0, u.record[firstWord])
	}
	return s.find(k, u.hash, u.record[keyWord], unsafe.String(unsafe.SliceData(u.text), len(u.text)), u.record[firstWord])
}

// fits reports whether the units of a partition fit in memory at once.
func (p *partition) fits(width int, memory int64) bool {
	return p.records*(8*int64(padded(width))+24)+p.extra <= memory // slots are a third full at least
}

// divide divides a partition by the bits of hashes at a depth. follow copies what follows a unit.
func (p *partition) divide(k *keyer, width, depth int,
	follow func(from *partReader, to *partition, record []uint64) error) ([]partition, error) {
	parts := newPartitions(p.File())
	r, u := p.reader(spillBuffer), spilled{record: make([]uint64, width)}
	for range p.records {
		if err := r.readUnit(k, &u); err != nil {
			return nil, err
		}
		to := &parts[shardOf(u.hash, depth)]
		if err := to.writeUnit(k, u.record, u.text); err != nil {
			return nil, err
		}
		if err := follow(r, to, u.record); err != nil {
			return nil, err
		}
	}
	for i := range parts {
		if err := parts[i].End(); err != nil {
			return nil, err
		}
	}
	return parts, nil
}
