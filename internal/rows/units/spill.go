package units

import (
	"bufio"
	"errors"
	"io"
	"os"
	"syscall"
	"unsafe"

	"github.com/dprelease/dprelease/internal/nameless"
)

// scratch is a file for what does not fit in memory. It has no name, so that nobody else can open it and the system deletes
// it whenever the process ends.
type scratch struct {
	file *os.File
	size int64
}

// newScratch makes a file in a folder; "" is the folder of temporary files.
func newScratch(dir string) (*scratch, error) {
	f, err := nameless.File(dir)
	if err != nil {
		return nil, diskError(err)
	}
	return &scratch{file: f}, nil
}

// diskError drops the text of a system error, which may name a path.
func diskError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return ErrDiskFull
	}
	return ErrDisk
}

// extent is a stretch of a scratch file.
type extent struct{ at, size int64 }

// write adds bytes at the end.
func (s *scratch) write(b []byte) (extent, error) {
	e := extent{s.size, int64(len(b))}
	if _, err := s.file.WriteAt(b, s.size); err != nil {
		return e, diskError(err)
	}
	s.size += e.size
	return e, nil
}

// writeAt overwrites bytes.
func (s *scratch) writeAt(b []byte, at int64) error {
	if _, err := s.file.WriteAt(b, at); err != nil {
		return diskError(err)
	}
	return nil
}

// readAt fills b.
func (s *scratch) readAt(b []byte, at int64) error {
	if _, err := s.file.ReadAt(b, at); err != nil {
		return ErrDisk
	}
	return nil
}

// close deletes the file. A nil scratch has none.
func (s *scratch) close() error {
	if s == nil {
		return nil
	}
	return s.file.Close()
}

// asBytes returns the memory of numbers. Machines are little-endian: see package table.
func asBytes[T uint32 | int32 | uint64](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*new(T))))
}

// spillBuffer is how much is written at once.
const spillBuffer = 1 << 16

// partition is a sequence of records in a scratch file. It is written, ended, and then read.
type partition struct {
	disk    *scratch
	extents []extent
	buffer  []byte
	records int64 // counted by their writer
	extra   int64 // bytes that records take in memory beside their words
}

// newPartitions makes a partition for each shard.
func newPartitions(disk *scratch) []partition {
	parts := make([]partition, shards)
	for i := range parts {
		parts[i].disk = disk
	}
	return parts
}

// write adds bytes.
func (p *partition) write(b []byte) error {
	if len(p.buffer)+len(b) > spillBuffer {
		if err := p.flush(); err != nil {
			return err
		}
	}
	p.buffer = append(p.buffer, b...)
	return nil
}

func (p *partition) writeWords(w ...uint64) error { return p.write(asBytes(w)) }

// flush writes the buffer to the file.
func (p *partition) flush() error {
	if len(p.buffer) == 0 {
		return nil
	}
	e, err := p.disk.write(p.buffer)
	if err != nil {
		return err
	}
	p.buffer = p.buffer[:0]
	if n := len(p.extents); n > 0 && p.extents[n-1].at+p.extents[n-1].size == e.at {
		p.extents[n-1].size += e.size
	} else {
		p.extents = append(p.extents, e)
	}
	return nil
}

// end writes the rest and frees the buffer.
func (p *partition) end() error {
	err := p.flush()
	p.buffer = nil
	return err
}

// reader reads a partition that has ended.
func (p *partition) reader(buffer int) *partReader {
	all := make([]io.Reader, len(p.extents))
	for i, e := range p.extents {
		all[i] = io.NewSectionReader(p.disk.file, e.at, e.size)
	}
	return &partReader{bufio.NewReaderSize(io.MultiReader(all...), buffer)}
}

// partReader reads the records of a partition.
type partReader struct{ r *bufio.Reader }

// more reports whether there is another record.
func (r *partReader) more() (bool, error) {
	_, err := r.r.Peek(1)
	if err == io.EOF {
		return false, nil
	}
	if err != nil {
		return false, ErrDisk
	}
	return true, nil
}

// words fills w.
func (r *partReader) words(w []uint64) error { return r.bytes(asBytes(w)) }

func (r *partReader) bytes(b []byte) error {
	if _, err := io.ReadFull(r.r, b); err != nil {
		return ErrDisk
	}
	return nil
}
