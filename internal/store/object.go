package store

import (
	"cmp"
	"context"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"gocloud.dev/blob"
	"golang.org/x/sync/errgroup"

	"github.com/dprelease/dprelease/internal/nameless"
)

// Range is a stretch of bytes of an object.
type Range struct{ Off, Size int64 }

// Object is an object that is read by ranges. A nameless file holds them, at the same places.
type Object struct {
	Size   int64
	bucket *Bucket
	key    string
	about  blob.Attributes
	cache  *os.File
	frozen atomic.Bool

	mu   sync.Mutex
	have []Range // sorted, apart
}

// Object opens an object.
func (b *Bucket) Object(ctx context.Context, key string) (*Object, error) {
	about, err := b.blobs.Attributes(ctx, key)
	if err != nil {
		return nil, failed(ctx, err, ErrAnswer)
	}
	f, err := nameless.File("")
	if err != nil {
		return nil, ErrScratch
	}
	return &Object{Size: about.Size, bucket: b, key: key, about: *about, cache: f}, nil
}

// Close frees what was fetched.
func (o *Object) Close() error { return o.cache.Close() }

// Unchanged returns nil: Fetch compares versions.
func (o *Object) Unchanged() error { return nil }

// Freeze ends fetching. From now on, reading anything that was not fetched fails and does not reach the store.
func (o *Object) Freeze() { o.frozen.Store(true) }

const (
	blockBytes = 1 << 18 // fetched for a read that nobody announced, as of a footer
	partBytes  = 8 << 20 // the most bytes of one request
	atOnce     = 8       // requests side by side
	copyBytes  = 1 << 20 // what is copied at once
)

// ReadAt reads what was fetched. Before Freeze it fetches what is missing.
func (o *Object) ReadAt(b []byte, off int64) (int, error) {
	if off >= o.Size {
		return 0, io.EOF
	}
	want := Range{off, min(int64(len(b)), o.Size-off)}
	if len(o.missing(want)) > 0 {
		if o.frozen.Load() {
			return 0, errUnfrozen
		}
		want.Off -= off % blockBytes
		want.Size = min((off+want.Size+blockBytes-1)/blockBytes*blockBytes, o.Size) - want.Off
		if err := o.Fetch(context.Background(), []Range{want}); err != nil {
			return 0, err
		}
	}
	n, err := o.cache.ReadAt(b[:min(int64(len(b)), o.Size-off)], off)
	if err == nil && n < len(b) {
		err = io.EOF
	}
	return n, err
}

// missing returns the parts of r that were not fetched.
func (o *Object) missing(r Range) (out []Range) {
	o.mu.Lock()
	defer o.mu.Unlock()
	end := r.Off + r.Size
	i, _ := slices.BinarySearchFunc(o.have, r.Off, func(h Range, off int64) int {
		if h.Off+h.Size <= off {
			return -1
		}
		return 1
	})
	for ; i < len(o.have) && o.have[i].Off < end; i++ {
		if h := o.have[i]; h.Off > r.Off {
			out = append(out, Range{r.Off, h.Off - r.Off})
		}
		r.Off = max(r.Off, o.have[i].Off+o.have[i].Size)
	}
	if r.Off < end {
		out = append(out, Range{r.Off, end - r.Off})
	}
	return out
}

// Fetch fetches whole ranges that are not there yet, in parallel requests.
func (o *Object) Fetch(ctx context.Context, ranges []Range) error {
	var todo []Range
	for _, r := range merged(slices.Clone(ranges)) {
		for _, m := range o.missing(r) {
			for ; m.Size > partBytes; m.Off, m.Size = m.Off+partBytes, m.Size-partBytes {
				todo = append(todo, Range{m.Off, partBytes})
			}
			todo = append(todo, m)
		}
	}
	if len(todo) == 0 {
		return nil
	}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, r := range todo {
		group.Go(func() error { return o.part(inner, r) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	now, err := o.bucket.blobs.Attributes(ctx, o.key)
	if err != nil {
		return failed(ctx, err, ErrAnswer)
	}
	if now.ETag != o.about.ETag || now.Size != o.about.Size || !now.ModTime.Equal(o.about.ModTime) {
		return ErrChanged
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.have = merged(append(o.have, todo...))
	return nil
}

// part fetches one range.
func (o *Object) part(ctx context.Context, r Range) error {
	in, err := o.bucket.blobs.NewRangeReader(ctx, o.key, r.Off, r.Size, nil)
	if err != nil {
		return failed(ctx, err, ErrAnswer)
	}
	defer in.Close()
	if in.Size() != o.about.Size || !in.ModTime().Equal(o.about.ModTime) {
		return ErrChanged
	}
	out := &writer{file: o.cache, at: r.Off}
	n, err := io.CopyBuffer(out, io.LimitReader(in, r.Size), make([]byte, min(r.Size, copyBytes)))
	switch {
	case out.failed:
		return ErrScratch
	case err != nil || n != r.Size:
		return failed(ctx, err, ErrAnswer)
	}
	return nil
}

// writer writes to a stretch of a file.
type writer struct {
	file   *os.File
	at     int64
	failed bool
}

func (w *writer) Write(b []byte) (int, error) {
	n, err := w.file.WriteAt(b, w.at)
	w.at += int64(n)
	w.failed = w.failed || err != nil
	return n, err
}

// merged sorts ranges and joins those that meet.
func merged(all []Range) []Range {
	slices.SortFunc(all, func(a, b Range) int { return cmp.Compare(a.Off, b.Off) })
	var out []Range
	for _, r := range all {
		if n := len(out); n > 0 && r.Off <= out[n-1].Off+out[n-1].Size {
			out[n-1].Size = max(out[n-1].Size, r.Off+r.Size-out[n-1].Off)
		} else if r.Size > 0 {
			out = append(out, r)
		}
	}
	return out
}
