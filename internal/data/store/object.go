package store

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/dprelease/dprelease/internal/data/store/call"
)

// Range is a stretch of bytes of an object.
type Range = call.Range

// Object is an object that is read by ranges. A nameless file holds them, at the object's place in it.
type Object struct {
	Size int64

	program *program
	key     string
	version call.Version
	at      int64 // its place in the scratch file
	frozen  atomic.Bool
	closed  atomic.Bool

	mu   sync.Mutex
	have []Range // sorted, apart
}

var errUnfrozen = errors.New("was asked for a part that was not announced")

// Object opens an object.
func (b *Bucket) Object(ctx context.Context, key string) (*Object, error) {
	a, err := b.program.ask(ctx, call.Request{Kind: call.Attributes, Key: key})
	if err != nil {
		return nil, err
	}
	v := a.Version
	return &Object{Size: v.Size, program: b.program, key: key, version: v, at: b.program.reserve(v.Size)}, nil
}

// Close frees what was fetched when the bucket and its other objects are closed, too.
func (o *Object) Close() error {
	if o.closed.CompareAndSwap(false, true) {
		o.program.release()
	}
	return nil
}

// Unchanged returns nil: Fetch compares versions.
func (o *Object) Unchanged() error { return nil }

// Freeze ends fetching. From now on, reading anything that was not fetched fails and does not reach the store.
func (o *Object) Freeze() { o.frozen.Store(true) }

const (
	blockBytes = 1 << 18 // fetched for a read that nobody announced, as of a footer
	mostRanges = 4096    // in one request
)

// ReadAt reads what was fetched. Before Freeze it fetches what is missing.
func (o *Object) ReadAt(b []byte, off int64) (int, error) {
	if off >= o.Size {
		return 0, io.EOF
	}
	want := Range{Off: off, Size: min(int64(len(b)), o.Size-off)}
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
	n, err := o.program.scratch.ReadAt(b[:min(int64(len(b)), o.Size-off)], o.at+off)
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
			out = append(out, Range{Off: r.Off, Size: h.Off - r.Off})
		}
		r.Off = max(r.Off, o.have[i].Off+o.have[i].Size)
	}
	if r.Off < end {
		out = append(out, Range{Off: r.Off, Size: end - r.Off})
	}
	return out
}

// Fetch has the companion fetch whole ranges that are not there yet.
func (o *Object) Fetch(ctx context.Context, ranges []Range) error {
	var todo []Range
	for _, r := range merged(slices.Clone(ranges)) {
		todo = append(todo, o.missing(r)...)
	}
	for some := range slices.Chunk(todo, mostRanges) {
		if _, err := o.program.ask(ctx, call.Request{Kind: call.Ranges, Key: o.key, Ranges: some, At: o.at, Version: o.version}); err != nil {
			return err
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.have = merged(append(o.have, todo...))
	return nil
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
