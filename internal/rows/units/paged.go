package units

import (
	"unsafe"

	"github.com/dprelease/dprelease/internal/data/unlinked"
)

// paged holds pages of one length: the first in memory, and the others on the disk.
type paged[T uint32 | uint64] struct {
	dir    string
	room   int64 // the most pages in memory
	length int64 // of a page
	held   [][]T
	disk   *unlinked.File
}

// keep adds a page. It returns the page's memory if that is free again.
func (p *paged[T]) keep(page []T) (free []T, err error) {
	if int64(len(p.held)) < p.room {
		p.held = append(p.held, page)
		return nil, nil
	}
	if p.disk == nil {
		if p.disk, err = unlinked.New(p.dir); err != nil {
			return nil, err
		}
	}
	_, err = p.disk.Append(asBytes(page))
	return page[:0], err
}

// page returns a page, or nil if it is not in memory.
func (p *paged[T]) page(i int64) []T {
	if i < int64(len(p.held)) {
		return p.held[i]
	}
	return nil
}

// fill reads as many bytes as dst has of a page on the disk, from a place in it on.
func (p *paged[T]) fill(dst []byte, page, from int64) error {
	at := (page-int64(len(p.held)))*p.length + from
	return p.disk.Fill(dst, at*int64(unsafe.Sizeof(T(0))))
}
