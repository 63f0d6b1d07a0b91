package table

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/dprelease/dprelease/internal/data/table/pagewalk"
)

var errUnpack = fail(CodeCorrupt, "", "a compressed page cannot be unpacked to the size it declares")

// unpacker decompresses pages for one goroutine. Every method writes into memory of the declared size and fails if the
// data holds more or less, so that no input decides how much is allocated.
type unpacker struct {
	zstd *zstd.Decoder
	lz4  *lz4.Reader
}

func (u *unpacker) close() {
	if u.zstd != nil {
		u.zstd.Close()
	}
}

func (u *unpacker) unpack(codec int8, dst, src []byte) error {
	if len(dst) == 0 {
		return nil // a page of nulls, from which nothing is read
	}
	switch codec {
	case pagewalk.Uncompressed:
		if copy(dst, src) != len(src) || len(src) != len(dst) {
			return errUnpack
		}
		return nil
	case pagewalk.Snappy:
		if n, err := snappy.DecodedLen(src); err != nil || n != len(dst) {
			return errUnpack
		}
		out, err := snappy.Decode(dst, src)
		return exactly(out, err, dst)
	case pagewalk.Zstd:
		return u.unpackZstd(dst, src)
	case pagewalk.Gzip, pagewalk.Brotli, pagewalk.LZ4Raw:
		c, err := compress.GetCodec(compress.Compression(codec))
		if err != nil {
			return fail(CodeUnsupported, "", "a codec that is not read here")
		}
		// The full slice expression keeps a codec from writing past the page.
		out, err := compress.Decode(c, dst[:len(dst):len(dst)], src)
		return exactly(out, err, dst)
	case pagewalk.LZ4Hadoop:
		return unpackHadoop(dst, src)
	}
	return fail(CodeUnsupported, "", "a codec that is not read here (lzo or unknown)")
}

func (u *unpacker) unpackZstd(dst, src []byte) error {
	if u.zstd == nil {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return errUnpack
		}
		u.zstd = d
	}
	out, err := u.zstd.DecodeAll(src, dst[:0:len(dst)])
	return exactly(out, err, dst)
}

// unpackArrow unpacks one buffer of a record batch.
func (u *unpacker) unpackArrow(codec int8, dst, src []byte) error {
	if len(dst) == 0 {
		return nil
	}
	if codec == codecZstd {
		return u.unpackZstd(dst, src)
	}
	if u.lz4 == nil {
		u.lz4 = lz4.NewReader(nil)
	}
	u.lz4.Reset(bytes.NewReader(src))
	if _, err := io.ReadFull(u.lz4, dst); err != nil {
		return errUnpack
	}
	var more [1]byte
	if n, err := u.lz4.Read(more[:]); n != 0 || err != io.EOF {
		return errUnpack
	}
	return nil
}

func exactly(out []byte, err error, dst []byte) error {
	if err != nil || len(out) != len(dst) || len(out) > 0 && &out[0] != &dst[0] {
		return errUnpack
	}
	return nil
}

// unpackHadoop reads the deprecated codec LZ4: Hadoop's frames (two big-endian lengths, then a block), or the bare block
// that some writers store under the same name.
func unpackHadoop(dst, src []byte) error {
	if unpackFrames(dst, src) {
		return nil
	}
	n, err := lz4.UncompressBlock(src, dst)
	if err != nil || n != len(dst) {
		return errUnpack
	}
	return nil
}

func unpackFrames(dst, src []byte) bool {
	for len(src) >= 8 {
		size, stored := binary.BigEndian.Uint32(src), binary.BigEndian.Uint32(src[4:])
		src = src[8:]
		if uint64(stored) > uint64(len(src)) || uint64(size) > uint64(len(dst)) {
			return false
		}
		n, err := lz4.UncompressBlock(src[:stored], dst[:size])
		if err != nil || n != int(size) {
			return false
		}
		src, dst = src[stored:], dst[size:]
	}
	return len(src) == 0 && len(dst) == 0
}
