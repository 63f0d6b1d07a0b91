package table

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
)

// Key is the secret under which content is fingerprinted.
type Key [32]byte

// Fingerprint is a keyed digest of all stored bytes of some columns.
type Fingerprint [32]byte

// fingerprintVersion is part of every fingerprint: those of different versions never agree. Version 1 hashed stretches
// of 256 KiB, page headers among them, with GMAC.
const fingerprintVersion = "dprelease fingerprint 2\n"

// Fingerprint reads what no scan has, and returns the digest of everything under the key. The order of the columns'
// names makes no difference; how the rows are laid out in files, row groups and pages does, and so do the columns'
// descriptions.
//
// Each segment is hashed by XXH3 to 128 bits, and the digests, with a description of what they are of, by HMAC-SHA-256.
// So a fingerprint says nothing about the data without the key (with it, it is as private as they are: P19), and two
// tables that were not made to collide have different ones. XXH3 is no cryptographic hash: who may write the table and
// wants to can make two that agree. All he gains is that a release of the first stands for the second, which draws
// nothing and tells nothing of the second.
func (c *Content) Fingerprint(ctx context.Context, key Key) (Fingerprint, error) {
	if err := c.rest(ctx, func(dataFile) bool { return true }); err != nil {
		return Fingerprint{}, err
	}
	return c.digest(key, c.cols)
}

// Columns returns the fingerprint of each column on its own, by its name: what Fingerprint returns for a Content of that
// column alone. It reads what no scan has.
func (c *Content) Columns(ctx context.Context, key Key) (map[string]Fingerprint, error) {
	if err := c.rest(ctx, func(dataFile) bool { return true }); err != nil {
		return nil, err
	}
	out := map[string]Fingerprint{}
	for _, col := range c.cols {
		f, err := c.digest(key, []int{col})
		if err != nil {
			return nil, err
		}
		out[c.table.columns[col].Name] = f
	}
	return out, nil
}

// digest is the fingerprint of some columns, all of which were read.
func (c *Content) digest(key Key, cols []int) (Fingerprint, error) {
	mac := hmac.New(sha256.New, key[:])
	_, _ = mac.Write([]byte(fingerprintVersion))
	head, err := c.describe(cols)
	if err != nil {
		return Fingerprint{}, err
	}
	_, _ = mac.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(head))))
	_, _ = mac.Write(head)
	b := make([]byte, 0, 24)
	c.mu.Lock()
	for _, r := range c.runs {
		if !slices.Contains(cols, r.col) {
			continue
		}
		for _, s := range c.segments[r.from:r.to] {
			b = binary.LittleEndian.AppendUint64(b[:0], uint64(s.size))
			b = binary.LittleEndian.AppendUint64(b, s.sum.Lo)
			_, _ = mac.Write(binary.LittleEndian.AppendUint64(b, s.sum.Hi))
		}
	}
	c.mu.Unlock()
	for _, f := range c.table.files {
		if err := f.changed(); err != nil {
			return Fingerprint{}, err
		}
	}
	return Fingerprint(mac.Sum(nil)), nil
}

// Fingerprint is that of a Content which has seen no scan: it reads the stored bytes of the named columns (nil: every
// usable one), of all rows, and decodes nothing.
func (t *Table) Fingerprint(ctx context.Context, columns []string, key Key) (Fingerprint, error) {
	c, err := t.Content(ctx, columns)
	if err != nil {
		return Fingerprint{}, err
	}
	return c.Fingerprint(ctx, key)
}

// describe says what the segments are of: the columns, the layout of every file, and how many segments are whose. With
// it the segments can be read in one way only.
func (c *Content) describe(cols []int) ([]byte, error) {
	type stored struct {
		Storage  string
		Segments int
	}
	var d struct {
		Columns []Column
		Rows    [][]int64
		Stored  []stored
	}
	for _, col := range cols {
		d.Columns = append(d.Columns, c.table.columns[col])
	}
	for _, f := range c.table.files {
		d.Rows = append(d.Rows, f.groups())
	}
	for _, r := range c.runs {
		if !slices.Contains(cols, r.col) {
			continue
		}
		d.Stored = append(d.Stored, stored{r.file.storage(r.col), r.to - r.from})
	}
	b, err := json.Marshal(d)
	if err != nil {
		return nil, fail(CodeUsage, "", "the table cannot be described")
	}
	return b, nil
}

func (o *opened) readAt(b []byte, off int64) (int, error) { return o.f.ReadAt(b, off) }

// pagesOf returns where the pages of a chunk lie: the dictionary if there is one, the pages with rows, and the others.
// Their headers are part of storage.
func (f *parquetFile) pagesOf(group, col int) []extent {
	var out []extent
	l := f.layout(group, col)
	if l.Dict != nil {
		out = append(out, extent{l.Dict.Off, int64(l.Dict.Stored)})
	}
	for i := range l.Data {
		out = append(out, extent{l.Data[i].Off, int64(l.Data[i].Stored)})
	}
	for i := range l.Other {
		out = append(out, extent{l.Other[i].Off, int64(l.Other[i].Stored)})
	}
	return out
}

// segments are a column's buffers in every batch, and those of the dictionaries that the batches refer to, cut so that
// several goroutines can share a large one.
func (f *arrowFile) segments(col int) []extent {
	var out []extent
	add := func(parts []extent) {
		for _, e := range parts {
			for ; e.size > 0; e.off, e.size = e.off+segmentBytes, e.size-segmentBytes {
				out = append(out, extent{e.off, min(e.size, segmentBytes)})
			}
		}
	}
	seen := map[*arrowDict]bool{}
	for _, b := range f.batches {
		for d := b.dicts[col]; d != nil && !seen[d]; d = d.prev {
			seen[d] = true
			add(d.batch.columns[0].parts)
		}
		add(b.columns[col].parts)
	}
	return out
}

// storage says how the bytes of a column are to be read: its type, and by chunk the codec and the page headers.
func (f *parquetFile) storage(col int) string {
	leaf := &f.footer.Leaves[col]
	h := sha256.New()
	for g := range f.footer.Groups {
		_, _ = h.Write([]byte{byte(f.footer.Groups[g].Chunks[col].Codec)})
		headers := f.layout(g, col).Headers
		_, _ = h.Write(headers[:])
	}
	return fmt.Sprintf("parquet %v %d %d %x", leaf.Type, leaf.TypeLen, leaf.MaxDef, h.Sum(nil))
}

func (f *arrowFile) storage(col int) string {
	field := &f.schema.fields[col]
	// How many nulls a batch says that it has decides whether its validity is read.
	var batches, dicts [][]int64
	add := func(to *[][]int64, b *arrowBatch, c *batchColumn) {
		facts := []int64{b.rows, int64(b.codec), c.nulls}
		for _, e := range c.parts {
			facts = append(facts, e.size)
		}
		*to = append(*to, facts)
	}
	seen := map[*arrowDict]bool{}
	for _, b := range f.batches {
		for d := b.dicts[col]; d != nil && !seen[d]; d = d.prev {
			seen[d] = true
			add(&dicts, d.batch, &d.batch.columns[0])
		}
		add(&batches, b, &b.columns[col])
	}
	return fmt.Sprint("arrow", field.store, field.values, field.hasDict, batches, dicts)
}
