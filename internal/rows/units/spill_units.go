package units

import "unsafe"

// Units that do not fit in memory are written down as partial results, by the top bits of their hashes, and begun anew.
// A unit may so be written several times. Each partition is read on its own afterwards, and what belongs to one unit is
// combined. A partition that does not fit either is divided by the next bits.

// deepest is where hashes have no more bits to divide by. Only a unit with a very long key gets there, and fits.
const deepest = 64/shardBits - 5

// spilled is a unit as a partition holds it: its record, in which the word of the key is the length of a text, and the
// text.
type spilled struct {
	record []uint64
	text   []byte
	hash   uint64
}

// writeUnit writes a unit without what its tallies hold.
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
		if err := r.bytes(u.text); err != nil {
			return err
		}
		u.hash = k.mix(k.hashText(u.text))
	default:
		u.hash = k.mix(u.record[keyWord])
	}
	return nil
}

// findSpilled returns the unit of what was spilled. Room for it was reserved.
func (s *unitShard) findSpilled(k *keyer, u *spilled) uint32 {
	if u.record[firstWord]&ownUnit != 0 {
		return s.insert(0, u.record[firstWord])
	}
	return s.find(k, u.hash, u.record[keyWord], unsafe.String(unsafe.SliceData(u.text), len(u.text)), u.record[firstWord])
}

// fits says whether the units of a partition fit in memory at once.
func (p *partition) fits(width int, memory int64) bool {
	return p.records*(8*int64(padded(width))+24)+p.extra <= memory // slots are a third full at least
}

// divide divides a partition by the bits of hashes at a depth. Follow copies what follows a unit.
func (p *partition) divide(k *keyer, width, depth int, follow func(from *partReader, to *partition, record []uint64) error) ([]partition, error) {
	parts := make([]partition, shards)
	for i := range parts {
		parts[i].disk = p.disk
	}
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
		if err := parts[i].end(); err != nil {
			return nil, err
		}
	}
	return parts, nil
}
