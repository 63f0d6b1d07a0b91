package table

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// Key is the secret under which content is fingerprinted.
type Key [32]byte

// Fingerprint is a keyed digest of all stored bytes of some columns.
type Fingerprint [32]byte

// fingerprintBytes is how much is hashed at once: little enough to stay in a core's cache.
const fingerprintBytes = 1 << 18

// Fingerprint reads the stored bytes of the named columns (nil: every usable one), of all rows, and returns their
// digest under the key. It decodes nothing. The order of the names makes no difference; how the rows are laid out in
// files, row groups and pages does, and so do the columns' descriptions.
//
// Two tables that were chosen without knowing the key have the same fingerprint with a probability below 2^-64 times
// their number of segments: each segment is hashed by GMAC, a universal hash of the bytes, and the tags by HMAC. Without
// the key a fingerprint says nothing about the data; with it, it is as private as they are. // P19
func (t *Table) Fingerprint(ctx context.Context, columns []string, key Key) (Fingerprint, error) {
	cols, err := t.scanned(columns)
	if err != nil {
		return Fingerprint{}, err
	}
	slices.Sort(cols)
	cols = slices.Compact(cols)
	gcm, mac, err := keyed(key)
	if err != nil {
		return Fingerprint{}, err
	}
	type segment struct {
		file dataFile
		at   extent
	}
	var segments []segment
	for _, c := range cols {
		for _, f := range t.files {
			for _, e := range f.extents(c) {
				for ; e.size > 0; e.off, e.size = e.off+fingerprintBytes, e.size-fingerprintBytes {
					segments = append(segments, segment{f, extent{e.off, min(e.size, fingerprintBytes)}})
				}
			}
		}
	}
	tags := make([]byte, len(segments)*gcm.Overhead())
	buffers := sync.Pool{New: func() any { return new([fingerprintBytes]byte) }}
	err = parallel(ctx, workersOr(0), len(segments), func(_ context.Context, i int) error {
		buf := buffers.Get().(*[fingerprintBytes]byte)
		defer buffers.Put(buf)
		s := segments[i]
		b := buf[:s.at.size]
		if _, err := s.file.readAt(b, s.at.off); err != nil {
			return fail(CodeUnreadable, s.file.name(), "cannot be read")
		}
		var nonce [12]byte
		binary.LittleEndian.PutUint64(nonce[:], uint64(i))
		at := i * gcm.Overhead()
		gcm.Seal(tags[at:at:at+gcm.Overhead()], nonce[:], nil, b)
		return nil
	})
	if err != nil {
		return Fingerprint{}, err
	}
	if err := t.describe(mac.Write, cols); err != nil {
		return Fingerprint{}, err
	}
	mac.Write(tags)
	for _, f := range t.files {
		if err := f.changed(); err != nil {
			return Fingerprint{}, err
		}
	}
	return Fingerprint(mac.Sum(nil)), nil
}

// keyed derives the keys of the two hashes.
func keyed(key Key) (cipher.AEAD, interface {
	Write([]byte) (int, error)
	Sum([]byte) []byte
}, error) {
	derive := func(purpose string) []byte {
		m := hmac.New(sha256.New, key[:])
		m.Write([]byte(purpose))
		return m.Sum(nil)
	}
	block, err := aes.NewCipher(derive("dprelease fingerprint segments"))
	if err != nil {
		return nil, nil, fail(CodeUnsupported, "", "no cipher to hash with")
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, nil, fail(CodeUnsupported, "", "no cipher to hash with")
	}
	return gcm, hmac.New(sha256.New, derive("dprelease fingerprint")), nil
}

// describe writes what the bytes mean: the columns, and the layout of every file, in a form that can be read in one
// way only.
func (t *Table) describe(write func([]byte) (int, error), cols []int) error {
	type layout struct {
		Rows    []int64
		Storage []string
		Extents [][]int64
	}
	var d struct {
		Columns []Column
		Files   []layout
	}
	for _, c := range cols {
		d.Columns = append(d.Columns, t.columns[c])
	}
	for _, f := range t.files {
		l := layout{Rows: f.groups()}
		for _, c := range cols {
			var sizes []int64
			for _, e := range f.extents(c) {
				sizes = append(sizes, e.size)
			}
			l.Extents = append(l.Extents, sizes)
			l.Storage = append(l.Storage, f.storage(c))
		}
		d.Files = append(d.Files, l)
	}
	b, err := json.Marshal(d)
	if err != nil {
		return fail(CodeUsage, "", "the table cannot be described")
	}
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(len(b)))
	_, err = write(append(n[:], b...))
	return err
}

func (o *opened) readAt(b []byte, off int64) (int, error) { return o.f.ReadAt(b, off) }

// extents are the stored bytes of a column: its chunks, with page headers and dictionaries.
func (f *parquetFile) extents(col int) []extent {
	var out []extent
	for g := range f.footer.Groups {
		k := &f.footer.Groups[g].Chunks[col]
		if k.Values > 0 {
			out = append(out, extent{k.Start, k.Len})
		}
	}
	return out
}

// extents are the stored bytes of a column: its buffers in every batch, and those of the dictionaries that the batches
// refer to.
func (f *arrowFile) extents(col int) []extent {
	var out []extent
	seen := map[*arrowDict]bool{}
	for _, b := range f.batches {
		for d := b.dicts[col]; d != nil && !seen[d]; d = d.prev {
			seen[d] = true
			out = append(out, d.batch.columns[0].parts...)
		}
		out = append(out, b.columns[col].parts...)
	}
	return out
}

// storage says how the bytes of a column are to be read.
func (f *parquetFile) storage(col int) string {
	leaf := &f.footer.Leaves[col]
	codecs := make([]int8, len(f.footer.Groups))
	for g := range codecs {
		codecs[g] = f.footer.Groups[g].Chunks[col].Codec
	}
	return fmt.Sprint("parquet", leaf.Type, leaf.TypeLen, leaf.MaxDef, codecs)
}

func (f *arrowFile) storage(col int) string {
	field := &f.schema.fields[col]
	codecs := make([]int8, len(f.batches))
	for i, b := range f.batches {
		codecs[i] = b.codec
	}
	return fmt.Sprint("arrow", field.store, field.values, field.hasDict, codecs)
}
