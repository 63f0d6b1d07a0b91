package pagewalk

import (
	"context"
	"crypto/sha256"
	"hash/crc32"
	"io"
)

// Layout lists the pages of one chunk.
type Layout struct {
	Dict *Page // nil when the chunk has none
	Data []Page
	// Other pages hold no row: an index, or a data page without a value. Only their places matter.
	Other []Page
	// Headers is the digest of the stored bytes of all page headers.
	Headers [sha256.Size]byte
}

// Walk reads the page headers of a chunk. The pages must tile it exactly, fit their column and the limits, and sum to the
// values that the footer declares. Walk reads the body of a page only to compare its checksum.
func Walk(ctx context.Context, r io.ReaderAt, leaf *Leaf, k *Chunk) (*Layout, error) {
	l := &Layout{}
	if k.Values == 0 {
		return l, nil
	}
	if k.Codec < 0 || k.Codec > LZ4Raw || k.Codec == LZO {
		return nil, unsupported("column %s: a codec that is not read here (lzo or unknown)", leaf)
	}
	w := window{r: r, end: k.Start + k.Len}
	headers := sha256.New()
	var sum int64
	for off := k.Start; off < w.end; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p, raw, err := w.header(off, leaf)
		if err != nil {
			return nil, err
		}
		headers.Write(raw)
		if err := p.check(leaf, k); err != nil {
			return nil, err
		}
		p.Off, p.First = off+int64(len(raw)), sum
		if int64(p.Stored) > w.end-p.Off {
			return nil, corrupt("column %s: a page runs over the end of its chunk", leaf)
		}
		if p.HasCRC {
			if err := w.checksum(&p, leaf); err != nil {
				return nil, err
			}
		}
		if err := l.add(p, off, leaf, k); err != nil {
			return nil, err
		}
		if p.kind == dataPage || p.kind == dataPageV2 {
			sum += int64(p.Values)
		}
		off = p.Off + int64(p.Stored)
	}
	if sum != k.Values {
		return nil, corrupt("column %s: the pages of a chunk do not sum to its values", leaf)
	}
	headers.Sum(l.Headers[:0])
	return l, nil
}

func (l *Layout) add(p Page, off int64, leaf *Leaf, k *Chunk) error {
	if len(l.Data)+len(l.Other) >= maxPages {
		return tooBig("column %s: more than %d pages in one chunk", leaf, maxPages)
	}
	switch p.kind {
	case dictionaryPage:
		if l.Dict != nil || len(l.Data) > 0 || off != k.Start {
			return corrupt("column %s: a dictionary that is not the first page of its chunk", leaf)
		}
		l.Dict = &p
		return nil
	case indexPage:
		l.Other = append(l.Other, p)
		return nil
	}
	if len(l.Data) == 0 {
		// Some writers let the footer's offset of the first data page point at the dictionary in front of it.
		if off != k.DataPage && k.DataPage != k.Start {
			return corrupt("column %s: the first data page is not where the footer says", leaf)
		}
		if k.HasDict && l.Dict == nil {
			return corrupt("column %s: the dictionary is not where the footer says", leaf)
		}
	}
	if l.Dict == nil && p.Coded() {
		return corrupt("column %s: a page refers to a dictionary that is not there", leaf)
	}
	if p.Values > 0 {
		l.Data = append(l.Data, p)
	} else {
		l.Other = append(l.Other, p)
	}
	return nil
}

// window reads headers through a small buffer, so that many small pages do not cost one system call each.
type window struct {
	r    io.ReaderAt
	end  int64
	off  int64
	buf  []byte
	body []byte
}

const windowBytes = 8 << 10

// header returns the page header at off, and its bytes, which are valid until the next call.
func (w *window) header(off int64, leaf *Leaf) (Page, []byte, error) {
	want := windowBytes
	for {
		b, err := w.at(off, want)
		if err != nil {
			return Page{}, nil, &Fault{ReadFailed, "column " + leaf.String() + ": a page header cannot be read"}
		}
		p, n, more, err := parseHeader(b)
		switch {
		case err != nil:
			return p, nil, corrupt("column %s: %s", leaf, err)
		case !more:
			return p, b[:n], nil
		case int64(len(b)) == w.end-off:
			return p, nil, corrupt("column %s: a page header runs over the end of its chunk", leaf)
		case len(b) >= maxHeaderBytes:
			return p, nil, tooBig("column %s: a page header is longer than %d bytes", leaf, maxHeaderBytes)
		case len(b) >= want:
			want *= 8
		}
		w.buf = w.buf[:0]
	}
}

// at returns bytes from off on: what the buffer holds of them, or else up to n bytes.
func (w *window) at(off int64, n int) ([]byte, error) {
	if skip := off - w.off; skip >= 0 && skip < int64(len(w.buf)) {
		return w.buf[skip:], nil
	}
	if left := w.end - off; int64(n) > left {
		n = int(left)
	}
	if cap(w.buf) < n {
		w.buf = make([]byte, n)
	}
	w.buf, w.off = w.buf[:n], off
	if _, err := w.r.ReadAt(w.buf, off); err != nil {
		return nil, err
	}
	return w.buf, nil
}

const bodyBytes = 256 << 10

func (w *window) checksum(p *Page, leaf *Leaf) error {
	var sum uint32
	for off, left := p.Off, int64(p.Stored); left > 0; {
		var b []byte
		if skip := off - w.off; skip >= 0 && skip < int64(len(w.buf)) {
			b = w.buf[skip:]
			b = b[:min(int64(len(b)), left)]
		} else {
			if w.body == nil {
				w.body = make([]byte, bodyBytes)
			}
			b = w.body[:min(bodyBytes, left)]
			if _, err := w.r.ReadAt(b, off); err != nil {
				return &Fault{ReadFailed, "column " + leaf.String() + ": a page cannot be read"}
			}
		}
		sum = crc32.Update(sum, crc32.IEEETable, b)
		off, left = off+int64(len(b)), left-int64(len(b))
	}
	if sum != p.CRC {
		return corrupt("column %s: the checksum of a page does not match its bytes", leaf)
	}
	return nil
}
