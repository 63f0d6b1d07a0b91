package table

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
)

const (
	csvBytes   = 4 << 20  // about the size of a block, unless it has blockRows lines before that
	csvRecord  = 16 << 20 // the longest record
	csvStretch = 1 << 18  // how much is read at once
)

// splitter cuts a text into runs of whole records. It looks at quotes and line ends only: up to the first mistake in a
// text, a line end ends a record if the number of quotes before it is even. So the parser, which gets the runs one by one,
// finds the same first mistake as in the whole text.
type splitter struct {
	r    io.Reader
	size int                               // about the size of a run; 0 means csvBytes
	rest []byte                            // was read and not handed out
	end  bool                              // nothing more can be read
	line int                               // line ends that were handed out
	long func(text []byte, line int) error // makes the error for a record that is too long, which begins at a line
}

// next returns the next run, of at most blockRows records, or nothing at the end of the text. It uses the memory of buf
// if that is large enough.
func (s *splitter) next(buf []byte) ([]byte, error) {
	size := s.size
	if size == 0 {
		size = csvBytes
	}
	buf = append(buf[:0], s.rest...)
	seen, lines, look := 0, 0, 0
	for {
		seen, lines = countLines(buf, seen, lines)
		if len(buf) >= look && (lines == blockRows || len(buf) >= size) || s.end {
			n := len(buf)
			if !s.end || lines == blockRows {
				if n = lastRecord(buf[:seen]); n == 0 {
					n = firstRecord(buf)
				}
				if s.end && n == 0 {
					n = len(buf) // the parser says what is wrong with it
				}
			}
			if n > 0 || s.end {
				s.rest = append(s.rest[:0], buf[n:]...)
				s.line += bytes.Count(buf[:n], newline)
				return buf[:n], nil
			}
			if len(buf) >= csvRecord {
				return nil, s.long(buf, s.line+1)
			}
			look = min(csvRecord, len(buf)+len(buf)/2) // so that a long record is not searched again for every stretch
		}
		if err := s.read(&buf); err != nil {
			return nil, err
		}
	}
}

// read reads a little more.
func (s *splitter) read(buf *[]byte) error {
	b := *buf
	if cap(b)-len(b) < csvStretch {
		b = append(make([]byte, 0, 2*cap(b)+csvStretch), b...)
	}
	for end := len(b) + csvStretch; len(b) < end && !s.end; {
		n, err := s.r.Read(b[len(b):end])
		b = b[:len(b)+n]
		switch {
		case err == io.EOF:
			s.end = true
		case errors.As(err, new(*fs.PathError)):
			return fail(CodeUnreadable, "", "it cannot be read")
		case err != nil:
			return errPacked
		}
	}
	*buf = b
	return nil
}

// countLines counts on from a place and a number of lines, up to the end of the text or of blockRows lines.
func countLines(text []byte, at, lines int) (int, int) {
	for at < len(text) && lines < blockRows {
		part := text[at:min(len(text), at+4096)]
		n := bytes.Count(part, newline)
		if lines+n < blockRows {
			at, lines = at+len(part), lines+n
			continue
		}
		for ; lines < blockRows; lines++ {
			at += bytes.IndexByte(text[at:], '\n') + 1
		}
	}
	return at, lines
}

// lastRecord returns where the last whole record of a text ends, or 0.
func lastRecord(text []byte) int {
	end := bytes.LastIndexByte(text, '\n') + 1
	for odd := bytes.Count(text[:end], quote) % 2; odd == 1; {
		before := bytes.LastIndexByte(text[:end-1], '\n') + 1
		odd = (odd + bytes.Count(text[before:end], quote)) % 2
		end = before
	}
	return end
}

// firstRecord returns where the first whole record of a text ends, or 0.
func firstRecord(text []byte) int {
	for at, odd := 0, 0; ; {
		n := bytes.IndexByte(text[at:], '\n') + 1
		if n == 0 {
			return 0
		}
		odd = (odd + bytes.Count(text[at:at+n], quote)) % 2
		if at += n; odd == 0 {
			return at
		}
	}
}

var newline, quote = []byte{'\n'}, []byte{'"'}
