package units

import (
	"unsafe"

	"github.com/dprelease/dprelease/internal/data/unlinked"
)

// asBytes returns the memory of numbers. Machines are little-endian: see package table.
func asBytes[T uint32 | int32 | uint64](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*new(T))))
}

// spillBuffer is the number of bytes that are read at once.
const spillBuffer = 1 << 16

// partition is a sequence of records in a file. It is written, ended, and then read.
type partition struct {
	unlinked.Stream
	records int64 // counted by their writer
	extra   int64 // bytes that records take in memory beside their words
}

// newPartitions makes a partition for each shard.
func newPartitions(disk *unlinked.File) []partition {
	parts := make([]partition, shards)
	for i := range parts {
		parts[i].Stream = disk.Stream()
	}
	return parts
}

// write adds bytes.
func (p *partition) write(b []byte) error {
	_, err := p.Write(b)
	return err
}

func (p *partition) writeWords(w ...uint64) error { return p.write(asBytes(w)) }

// reader reads a partition that has ended.
func (p *partition) reader(buffer int) *partReader { return &partReader{p.Reader(buffer)} }

// partReader reads the records of a partition.
type partReader struct{ *unlinked.Reader }

// words fills w.
func (r *partReader) words(w []uint64) error { return r.Fill(asBytes(w)) }
