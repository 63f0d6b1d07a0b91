package units

import "github.com/dprelease/dprelease/internal/data/unlinked"

// numbers holds a number for each row. The first pages are in memory, and the others on the disk, except the last page until
// it is full.
type numbers struct {
	dir   string
	room  int64      // the most pages in memory
	pages [][]uint32 // of chunkRows numbers
	last  []uint32   // the last page
	rows  int64
	disk  *unlinked.File
}

// add adds the numbers of the next rows.
func (n *numbers) add(ids []uint32) error {
	for len(ids) > 0 {
		if n.last == nil && len(n.pages) > 0 {
			n.last = make([]uint32, 0, chunkRows)
		}
		some := min(len(ids), chunkRows-len(n.last))
		n.last = append(n.last, ids[:some]...)
		ids, n.rows = ids[some:], n.rows+int64(some)
		if len(n.last) == chunkRows {
			if err := n.keep(); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep puts a full last page away.
func (n *numbers) keep() (err error) {
	if int64(len(n.pages)) < n.room {
		n.pages, n.last = append(n.pages, n.last), nil
		return nil
	}
	if n.disk == nil {
		if n.disk, err = unlinked.New(n.dir); err != nil {
			return err
		}
	}
	_, err = n.disk.Append(asBytes(n.last))
	n.last = n.last[:0]
	return err
}

// page returns the page of a row, unless it is on the disk.
func (n *numbers) page(row int64) (page []uint32, onDisk bool) {
	switch i := row / chunkRows; {
	case i < int64(len(n.pages)):
		return n.pages[i], false
	case i == n.rows/chunkRows:
		return n.last, false
	}
	return nil, true
}

// read writes the numbers of consecutive rows.
func (n *numbers) read(first int64, dst []int32) error {
	if first < 0 || first+int64(len(dst)) > n.rows {
		return errShape
	}
	for len(dst) > 0 {
		from := first % chunkRows
		some := min(len(dst), int(chunkRows-from))
		page, onDisk := n.page(first)
		if onDisk {
			at := (first/chunkRows-int64(len(n.pages)))*chunkRows + from
			if err := n.disk.Fill(asBytes(dst[:some]), 4*at); err != nil {
				return err
			}
		} else {
			for i, id := range page[from : from+int64(some)] {
				dst[i] = int32(id) // noUnit is -1
			}
		}
		dst, first = dst[some:], first+int64(some)
	}
	return nil
}
