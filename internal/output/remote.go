package output

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/internal/data/store"
	"github.com/dprelease/dprelease/internal/data/store/address"
	"github.com/dprelease/dprelease/internal/guard"
	"github.com/dprelease/dprelease/ledger"
)

// Object storage has no folders and renames nothing. There an output folder is what lies below a key, and the report is
// written last, when all other objects are there: a release is where its report.json is. Objects are made whole and
// never written over. What a run that was cut off has put there are parts of what its ledger holds; the next run puts the rest.

// patience is the time that a store may take over one step.
const patience = 5 * time.Minute

// shelf is a place in object storage.
type shelf struct {
	bucket *store.Bucket
	key    string
}

// onShelf does something at an address.
func onShelf(dir string, do func(ctx context.Context, s shelf) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	b, key, err := store.Open(ctx, dir)
	if err != nil {
		return err
	}
	defer b.Close()
	if key == "" {
		return store.ErrAddress // the whole bucket is no output folder
	}
	return do(ctx, shelf{b, key})
}

// readIn reads a file of an output folder, of this machine or in object storage.
func readIn(dir, name string) (text []byte, err error) {
	if !address.Is(dir) {
		return file.Read(filepath.Join(dir, name), maxRelease)
	}
	err = onShelf(dir, func(ctx context.Context, s shelf) error {
		text, err = s.bucket.Read(ctx, path.Join(s.key, name))
		return err
	})
	if errors.Is(err, store.ErrMissing) {
		err = fs.ErrNotExist
	}
	return text, err
}

// shelfTaken reports whether anything lies below an address.
func shelfTaken(dir string) (taken bool, err error) {
	err = onShelf(dir, func(ctx context.Context, s shelf) error {
		found, err := s.bucket.List(ctx, s.key+"/", 2)
		taken = slices.ContainsFunc(found, func(o store.Listed) bool { return o.Key != s.tried() })
		return err
	})
	return taken || err != nil, err
}

// tried is the key of the object with which a run tries whether it may write to its output folder. It is no part of a release.
func (s shelf) tried() string { return path.Join(s.key, ".dprelease-try") }

// tryShelf finds out, before the debit, whether objects can be made below an address. It removes what it made; a user who may
// not remove objects leaves it there, and it counts as nothing.
func tryShelf(dir string) error {
	return onShelf(dir, func(ctx context.Context, s shelf) error {
		err := s.bucket.Create(ctx, s.tried(), []byte("dprelease tried whether it may write here\n"))
		if errors.Is(err, store.ErrThere) {
			err = nil // a store refuses who may not write before it looks
		}
		if err == nil {
			_ = s.bucket.Remove(ctx, s.tried())
		}
		return err
	})
}

// Begun reports whether an address holds some of these files, and nothing else: a run that had them stored was cut off
// while it put them there.
func Begun(dir string, files []ledger.File) (begun bool) {
	if !address.Is(dir) || len(files) == 0 {
		return false
	}
	err := onShelf(dir, func(ctx context.Context, s shelf) error {
		found, err := s.bucket.List(ctx, s.key+"/", 0)
		if err != nil {
			return err
		}
		known := map[string][]byte{}
		for _, f := range files {
			known[path.Join(s.key, f.Path)] = f.Data
		}
		for _, o := range found {
			if o.Key == s.tried() {
				continue
			}
			data, ok := known[o.Key]
			if !ok {
				return fs.ErrExist
			}
			if err := s.same(ctx, o.Key, data); err != nil {
				return err
			}
		}
		return nil
	})
	return err == nil
}

// same fails where an object is not what it should be.
func (s shelf) same(ctx context.Context, key string, data []byte) error {
	there, err := s.bucket.Read(ctx, key)
	if err == nil && !bytes.Equal(there, data) {
		err = fs.ErrExist
	}
	return err
}

// put makes an object. One that is there already must be the same.
func (s shelf) put(ctx context.Context, f ledger.File) error {
	key := path.Join(s.key, f.Path)
	err := s.bucket.Create(ctx, key, f.Data)
	if errors.Is(err, store.ErrThere) {
		err = s.same(ctx, key, f.Data)
	}
	return err
}

// publishShelf puts all files below an address, the report last.
func publishShelf(dir string, all []ledger.File) error {
	return onShelf(dir, func(ctx context.Context, s shelf) error {
		group, inner := errgroup.WithContext(ctx)
		group.SetLimit(writesAtOnce)
		for _, f := range all {
			if f.Path != reportFile {
				group.Go(func() error { return guard.Do(func() error { return s.put(inner, f) }) })
			}
		}
		if err := group.Wait(); err != nil {
			return err
		}
		for _, f := range all {
			if f.Path == reportFile {
				return s.put(ctx, f)
			}
		}
		return nil
	})
}
