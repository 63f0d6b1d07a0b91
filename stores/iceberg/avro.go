package iceberg

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"io"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// unpacksTo reports whether the blocks of an Avro file unpack to at most so many bytes in all. The library bounds the size of
// a block, and not their number. unpacksTo reads only the frames; the library finds what is wrong inside.
func unpacksTo(file []byte, most int64) bool {
	in := bytes.NewReader(file)
	number := func() int64 {
		n, err := binary.ReadVarint(in)
		if err != nil || n < -1<<40 || n > 1<<40 {
			in.Reset(nil)
			return 0
		}
		return n
	}
	take := func(n int64) []byte {
		if n < 0 || n > int64(in.Len()) {
			in.Reset(nil)
			return nil
		}
		at := in.Size() - int64(in.Len())
		_, _ = in.Seek(n, io.SeekCurrent)
		return file[at : at+n]
	}
	codec := "null"
	take(4)
	for n := number(); n != 0 && in.Len() > 0; n = number() {
		if n < 0 {
			n = -n
			number() // the bytes of the block
		}
		for ; n > 0 && in.Len() > 0; n-- {
			key := take(number())
			if value := take(number()); string(key) == "avro.codec" {
				codec = string(value)
			}
		}
	}
	take(16)
	for in.Len() > 0 {
		number() // of records
		block := take(number())
		take(16)
		size, ok := unpacked(codec, block, most)
		if most -= size; !ok || most < 0 {
			return false
		}
	}
	return true
}

// unpacked returns the unpacked size of a block, or more than most if it is larger than that.
func unpacked(codec string, block []byte, most int64) (int64, bool) {
	var r io.Reader
	switch codec {
	case "null":
		return int64(len(block)), true
	case "snappy":
		n, err := snappy.DecodedLen(block)
		return int64(n), err == nil
	case "deflate":
		r = flate.NewReader(bytes.NewReader(block))
	case "zstandard":
		d, err := zstd.NewReader(bytes.NewReader(block), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
		if err != nil {
			return 0, false
		}
		defer d.Close()
		r = d
	default:
		return 0, false
	}
	n, err := io.Copy(io.Discard, io.LimitReader(r, most+1))
	return n, err == nil
}
