package units

import "github.com/dprelease/dprelease/internal/data/nameless"

// A row of a partition takes three words: its unit, its cell, and the lower half of its number. Where the upper half changes,
// a record of noUnit says so.
const (
	rowWords = 3
	rowBytes = 4 * rowWords
)

// pageWords is the size of a page of rows.
const pageWords = rowWords << 12

// rowPart holds the rows of some units in the order of the table: the first ones on the disk, the others in memory.
type rowPart struct {
	nameless.Stream
	stored int64 // records on the disk
	pages  [][]uint32
	high   uint32 // the upper half of the last number
}

// add adds a row.
func (p *rowPart) add(unit, cell int32, row int64) {
	if high := uint32(row >> 32); high != p.high {
		p.high = high
		p.put(noUnit, 0, high)
	}
	p.put(uint32(unit), uint32(cell), uint32(row))
}

func (p *rowPart) put(a, b, c uint32) {
	last := len(p.pages) - 1
	if last < 0 || len(p.pages[last]) == pageWords {
		size := 0
		if last >= 0 {
			size = pageWords // the first page grows
		}
		p.pages, last = append(p.pages, make([]uint32, 0, size)), last+1
	}
	p.pages[last] = append(p.pages[last], a, b, c)
}

// rows returns how many records there are.
func (p *rowPart) rows() int64 {
	n := p.stored
	for _, page := range p.pages {
		n += int64(len(page) / rowWords)
	}
	return n
}

// spill writes what is in memory to the disk.
func (p *rowPart) spill(disk *nameless.File) error {
	if len(p.pages) == 0 {
		return nil
	}
	if p.Stream.File() == nil {
		p.Stream = disk.Stream()
	}
	for _, page := range p.pages {
		if _, err := p.Write(asBytes(page)); err != nil {
			return err
		}
		p.stored += int64(len(page) / rowWords)
	}
	p.pages[0] = p.pages[0][:0]
	p.pages = p.pages[:1]
	return nil
}

// each visits all records, some at a time. The stream must have ended.
func (p *rowPart) each(visit func(words []uint32) error) error {
	if p.stored > 0 {
		r, page := p.Reader(spillBuffer), make([]uint32, pageWords)
		for left := p.stored * rowWords; left > 0; left -= int64(len(page)) {
			page = page[:min(left, pageWords)]
			if err := r.Fill(asBytes(page)); err != nil {
				return err
			}
			if err := visit(page); err != nil {
				return err
			}
		}
	}
	for _, page := range p.pages {
		if err := visit(page); err != nil {
			return err
		}
	}
	return nil
}

// rowReader reads the records of a partition.
type rowReader struct {
	unit, cell int32
	row        int64
	high       int64
}

// next reads a record and reports whether it is a row.
func (r *rowReader) next(words []uint32) bool {
	if words[0] == noUnit {
		r.high = int64(words[2]) << 32
		return false
	}
	r.unit, r.cell, r.row = int32(words[0]), int32(words[1]), r.high|int64(words[2])
	return true
}
