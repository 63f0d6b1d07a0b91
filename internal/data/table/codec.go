package table

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/dprelease/dprelease/internal/data/table/pagewalk"
)

var errUnpack = fail(CodeCorrupt, "", "a compressed page cannot be unpacked to the size it declares")

// unpacker decompresses pages for one goroutine. Every method writes into memory of the declared size and fails if the
// data holds more or less, so that no input decides how much is allocated.
type unpacker struct {
	zstd   *zstd.Decoder
	gzip   *gzip.Reader
	brotli *brotli.Reader
	lz4    *lz4.Reader

	stream *zstd.Decoder // of those that are not unpacked to their end
}

func (u *unpacker) close() {
	if u.zstd != nil {
		u.zstd.Close()
	}
	if u.stream != nil {
		u.stream.Close()
	}
}

func (u *unpacker) unpack(codec int8, dst, src []byte) error {
	if len(dst) == 0 {
		return nil // a page of nulls, from which nothing is read
	}
	switch codec {
	case pagewalk.Snappy:
		if n, err := snappy.DecodedLen(src); err != nil || n != len(dst) {
			return errUnpack
		}
		out, err := snappy.Decode(dst, src)
		return exactly(out, err, dst)
	case pagewalk.Zstd:
		return u.unpackZstd(dst, src)
	case pagewalk.Gzip:
		return u.unpackGzip(dst, src)
	case pagewalk.Brotli:
		if u.brotli == nil {
			u.brotli = new(brotli.Reader)
		}
		if u.brotli.Reset(bytes.NewReader(src)) != nil {
			return errUnpack
		}
		return readExactly(u.brotli, dst)
	case pagewalk.LZ4Raw, pagewalk.LZ4Hadoop:
		// The deprecated codec has frames, or the bare block that some writers store under the same name.
		if codec == pagewalk.LZ4Hadoop && unpackFrames(dst, src) {
			return nil
		}
		n, err := lz4.UncompressBlock(src, dst)
		return exactly(dst[:max(n, 0)], err, dst)
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

// beginZstd fills dst with the first bytes of a page that zstd packed. It returns false where the page does not declare this
// size.
func (u *unpacker) beginZstd(packed *io.SectionReader, dst []byte, size int64) bool {
	if !declares(packed, size) {
		return false
	}
	if len(dst) == 0 {
		return true
	}
	var err error
	if u.stream == nil {
		u.stream, err = zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxZstdWindow))
	} else {
		err = u.stream.Reset(packed)
	}
	if err == nil {
		_, err = io.ReadFull(u.stream, dst)
	}
	return err == nil
}

// maxZstdWindow bounds the memory of a page that is unpacked in part. One that needs more is unpacked as a whole.
const maxZstdWindow = 8 << 20

// beginSnappy is beginZstd for snappy, whose library unpacks only whole blocks.
func beginSnappy(r *bufio.Reader, dst []byte, size int) bool {
	if n, err := binary.ReadUvarint(r); err != nil || n != uint64(size) {
		return false
	}
	for at := 0; at < len(dst); {
		tag, err := r.ReadByte()
		if err != nil {
			return false
		}
		n, more := int(tag>>2)+1, [...]int{0, 1, 2, 4}[tag&3]
		if tag&3 == 0 && n > 60 {
			more = n - 60
		}
		var arg uint32
		for i := range more {
			b, err := r.ReadByte()
			if err != nil {
				return false
			}
			arg |= uint32(b) << (8 * i)
		}
		if tag&3 == 0 {
			if more > 0 {
				n = int(arg) + 1
			}
			if n > size-at {
				return false
			}
			n = min(n, len(dst)-at)
			if _, err := io.ReadFull(r, dst[at:at+n]); err != nil {
				return false
			}
			at += n
			continue
		}
		from := int(arg)
		if tag&3 == 1 {
			n, from = int(tag>>2&7)+4, int(tag>>5)<<8|from
		}
		if from == 0 || from > at || n > size-at {
			return false
		}
		for ; n > 0 && at < len(dst); n-- {
			dst[at] = dst[at-from]
			at++
		}
	}
	return true
}

func (u *unpacker) unpackGzip(dst, src []byte) (err error) {
	if u.gzip == nil {
		u.gzip, err = gzip.NewReader(bytes.NewReader(src))
	} else {
		err = u.gzip.Reset(bytes.NewReader(src))
	}
	if err != nil {
		u.gzip = nil
		return errUnpack
	}
	return readExactly(u.gzip, dst)
}

// readExactly fills dst, and fails unless the data ends there.
func readExactly(r io.Reader, dst []byte) error {
	if _, err := io.ReadFull(r, dst); err != nil {
		return errUnpack
	}
	var more [1]byte
	if n, err := io.ReadFull(r, more[:]); n != 0 || err != io.EOF {
		return errUnpack
	}
	return nil
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
	return readExactly(u.lz4, dst)
}

func exactly(out []byte, err error, dst []byte) error {
	if err != nil || len(out) != len(dst) || len(out) > 0 && &out[0] != &dst[0] {
		return errUnpack
	}
	return nil
}

// unpackFrames reads Hadoop's frames: two big-endian lengths, then a block.
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
