package unlinked

import (
	"bufio"
	"io"
)

// streamBuffer is the number of bytes that a Stream writes at once.
const streamBuffer = 1 << 16

// Stream is a sequence of bytes in a File, beside others. It is written, ended, and then read.
type Stream struct {
	file   *File
	parts  []part
	buffer []byte
}

// part is a stretch of a file.
type part struct{ at, size int64 }

// Stream makes an empty stream.
func (f *File) Stream() Stream { return Stream{file: f} }

// File returns the file in which the stream lies.
func (s *Stream) File() *File { return s.file }

// Empty reports whether nothing was written.
func (s *Stream) Empty() bool { return len(s.parts) == 0 && len(s.buffer) == 0 }

// Write adds bytes.
func (s *Stream) Write(b []byte) (int, error) {
	if len(s.buffer)+len(b) > streamBuffer {
		if err := s.flush(); err != nil {
			return 0, err
		}
	}
	s.buffer = append(s.buffer, b...)
	return len(b), nil
}

func (s *Stream) flush() error {
	if len(s.buffer) == 0 {
		return nil
	}
	at, err := s.file.Append(s.buffer)
	if err != nil {
		return err
	}
	if n := len(s.parts); n > 0 && s.parts[n-1].at+s.parts[n-1].size == at {
		s.parts[n-1].size += int64(len(s.buffer))
	} else {
		s.parts = append(s.parts, part{at, int64(len(s.buffer))})
	}
	s.buffer = s.buffer[:0]
	return nil
}

// End writes the rest and frees the buffer.
func (s *Stream) End() error {
	err := s.flush()
	s.buffer = nil
	return err
}

// Reader reads a stream that has ended, so many bytes at a time.
func (s *Stream) Reader(buffer int) *Reader {
	all := make([]io.Reader, len(s.parts))
	for i, p := range s.parts {
		all[i] = io.NewSectionReader(s.file, p.at, p.size)
	}
	return &Reader{bufio.NewReaderSize(io.MultiReader(all...), buffer)}
}

// Reader reads a stream.
type Reader struct{ from *bufio.Reader }

// More reports whether there are more bytes.
func (r *Reader) More() (bool, error) {
	_, err := r.from.Peek(1)
	if err == io.EOF {
		return false, nil
	}
	return err == nil, fixed(err)
}

// Fill reads as many bytes as b has.
func (r *Reader) Fill(b []byte) error {
	_, err := io.ReadFull(r.from, b)
	return fixed(err)
}
