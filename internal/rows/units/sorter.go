package units

import (
	"unsafe"

	"github.com/dprelease/dprelease/internal/data/unlinked"
)

// Sorter sorts rows by the part that they belong to: that of a unit, of a key, or of a group. A row is words that its reader
// understands. The rows of a part come back in the order in which they were added. Beyond its limit of memory a Sorter writes
// all rows to a file of package unlinked, whose errors it returns. Nothing else of this package is put aside in another way.
type Sorter struct {
	parts  []sortedRows
	memory int64
	held   int64 // bytes of the pages in memory
	filled []int // the parts that have such pages
	dir    string
	disk   *unlinked.File // nil as long as everything fits in memory
}

// sortedRows are the rows of a part, in pages of whole rows: the first pages on the disk, the others in memory.
type sortedRows struct {
	stored []storedPage
	pages  [][]uint32
}

// storedPage is the place of a page on the disk.
type storedPage struct {
	at    int64
	words int
}

// pageWords is the number of words of a page. A longer row has a page of its own.
const pageWords = 1 << 14

// NewSorter makes a sorter. dir is the folder for rows that do not fit in memory; "" is the folder of temporary files.
func NewSorter(parts int, memory int64, dir string) *Sorter {
	return &Sorter{parts: make([]sortedRows, parts), memory: memory, dir: dir}
}

// Add adds a row to a part.
func (s *Sorter) Add(part int, row ...uint32) error {
	p := &s.parts[part]
	last := len(p.pages) - 1
	if last < 0 || len(p.pages[last])+len(row) > pageWords && len(p.pages[last]) > 0 {
		if p.pages = append(p.pages, nil); last < 0 {
			s.filled = append(s.filled, part)
		}
		last++
	}
	page := p.pages[last]
	if need := len(page) + len(row); need > cap(page) {
		grown := make([]uint32, len(page), max(need, min(2*cap(page), pageWords)))
		s.held += 4 * int64(cap(grown)-cap(page))
		copy(grown, page)
		page = grown
	}
	if p.pages[last] = append(page, row...); s.held > s.memory {
		return s.spill()
	}
	return nil
}

// asBytes returns the memory of numbers. Machines are little-endian: see package table.
func asBytes[T uint32 | int32 | uint64](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*new(T))))
}

// spill writes all pages to the disk.
func (s *Sorter) spill() (err error) {
	if s.disk == nil {
		if s.disk, err = unlinked.New(s.dir); err != nil {
			return err
		}
	}
	for _, i := range s.filled {
		p := &s.parts[i]
		for _, page := range p.pages {
			at, err := s.disk.Append(asBytes(page))
			if err != nil {
				return err
			}
			p.stored = append(p.stored, storedPage{at, len(page)})
		}
		p.pages = nil
	}
	s.held, s.filled = 0, s.filled[:0]
	return nil
}

// Each visits the rows of a part, a page at a time. Several goroutines may call it.
func (s *Sorter) Each(part int, visit func(rows []uint32) error) error {
	p, room := &s.parts[part], []uint32(nil)
	for _, stored := range p.stored {
		room = fit(room, stored.words)
		page := room[:stored.words]
		if err := s.disk.Fill(asBytes(page), stored.at); err != nil {
			return err
		}
		if err := visit(page); err != nil {
			return err
		}
	}
	for _, page := range p.pages {
		if err := visit(page); err != nil {
			return err
		}
	}
	return nil
}

// Close frees the memory and the file of a sorter. A nil Sorter has none.
func (s *Sorter) Close() error {
	if s == nil {
		return nil
	}
	err := s.disk.Close()
	s.disk, s.parts = nil, nil
	return err
}

// appendText appends a text to a row: its length, and as many words as it takes.
func appendText(row []uint32, text string) []uint32 {
	row = append(row, uint32(len(text)))
	for ; len(text) >= 4; text = text[4:] {
		row = append(row, uint32(text[0])|uint32(text[1])<<8|uint32(text[2])<<16|uint32(text[3])<<24)
	}
	if len(text) > 0 {
		last := uint32(0)
		for i := range len(text) {
			last |= uint32(text[i]) << (8 * i)
		}
		row = append(row, last)
	}
	return row
}

// textOf reads a text of a row, and returns the words behind it. The text is valid as long as the row.
func textOf(row []uint32) (text string, rest []uint32) {
	n := int(row[0])
	words := row[1 : 1+(n+3)/4]
	return unsafe.String(unsafe.SliceData(asBytes(words)), n), row[1+len(words):]
}
