package units

// numbers holds a number for each row, in pages of chunkRows numbers.
type numbers struct {
	paged[uint32]
	last []uint32 // the last page, until it is full
	rows int64
}

// numbersIn makes an empty list with room for some pages in memory.
func numbersIn(dir string, room int64) numbers {
	return numbers{paged: paged[uint32]{dir: dir, room: room, length: chunkRows}}
}

// add adds the numbers of the next rows.
func (n *numbers) add(ids []uint32) (err error) {
	for len(ids) > 0 {
		if n.last == nil && n.rows > 0 {
			n.last = make([]uint32, 0, chunkRows)
		}
		some := min(len(ids), chunkRows-len(n.last))
		n.last = append(n.last, ids[:some]...)
		ids, n.rows = ids[some:], n.rows+int64(some)
		if len(n.last) == chunkRows {
			if n.last, err = n.keep(n.last); err != nil {
				return err
			}
		}
	}
	return nil
}

// read writes the numbers of consecutive rows.
func (n *numbers) read(first int64, dst []int32) error {
	for len(dst) > 0 {
		i, from := first/chunkRows, first%chunkRows
		some := min(len(dst), int(chunkRows-from))
		page := n.page(i)
		if i == n.rows/chunkRows {
			page = n.last
		}
		if page == nil {
			if err := n.fill(asBytes(dst[:some]), i, from); err != nil {
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
