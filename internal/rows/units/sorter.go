package units

import "github.com/dprelease/dprelease/internal/data/unlinked"

// Sorter sorts rows, of some words each, by the part that they belong to: that of a unit, or a group. The rows of a part come
// back in the order in which they were added. Beyond its limit of memory a Sorter writes all rows to a file of package
// unlinked, whose errors it returns.
type Sorter struct {
	width, page int // words of a row, and of a page
	parts       []sortedRows
	memory      int64
	held        int64 // bytes of rows in memory
	dir         string
	disk        *unlinked.File // nil as long as everything fits in memory
}

// sortedRows are the rows of a part: the first ones on the disk, the others in memory.
type sortedRows struct {
	unlinked.Stream
	stored int64 // words on the disk
	pages  [][]uint32
}

// NewSorter makes a sorter of rows of so many words. dir is the folder for rows that do not fit in memory; "" is the folder of
// temporary files.
func NewSorter(parts, width int, memory int64, dir string) *Sorter {
	return &Sorter{width: width, page: max(1, 1<<14/width) * width, parts: make([]sortedRows, parts), memory: memory, dir: dir}
}

// Add adds a row to a part.
func (s *Sorter) Add(part int, row ...uint32) error {
	p := &s.parts[part]
	last := len(p.pages) - 1
	if last < 0 || len(p.pages[last]) == s.page {
		size := 0
		if last >= 0 {
			size = s.page // the first page grows
		}
		p.pages, last = append(p.pages, make([]uint32, 0, size)), last+1
	}
	p.pages[last] = append(p.pages[last], row...)
	if s.held += 4 * int64(len(row)); s.held > s.memory {
		return s.spill()
	}
	return nil
}

// spill writes all rows to the disk.
func (s *Sorter) spill() (err error) {
	if s.disk == nil {
		if s.disk, err = unlinked.New(s.dir); err != nil {
			return err
		}
	}
	for i := range s.parts {
		p := &s.parts[i]
		if len(p.pages) > 0 && p.File() == nil {
			p.Stream = s.disk.Stream()
		}
		for _, page := range p.pages {
			if _, err := p.Write(asBytes(page)); err != nil {
				return err
			}
			p.stored += int64(len(page))
		}
		p.pages = nil
		if err := p.End(); err != nil {
			return err
		}
	}
	s.held = 0
	return nil
}

// Each visits the rows of a part, some at a time. Several goroutines may call it.
func (s *Sorter) Each(part int, visit func(rows []uint32) error) error {
	p := &s.parts[part]
	if p.stored > 0 {
		r, page := p.Reader(spillBuffer), make([]uint32, s.page)
		for left := p.stored; left > 0; left -= int64(len(page)) {
			page = page[:min(left, int64(s.page))]
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

// Close frees the memory and the file of a sorter.
func (s *Sorter) Close() error {
	err := s.disk.Close()
	s.disk, s.parts = nil, nil
	return err
}
