package table

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/dprelease/dprelease/internal/data/store"
)

// remote returns the objects that an address means, and their bucket. The slashes in keys make folders.
func remote(ctx context.Context, text, format string) (*store.Bucket, []located, error) {
	b, key, err := store.Open(ctx, text)
	if err != nil {
		return nil, nil, err
	}
	pattern, base := cmp.Or(key, "**"), key
	if strings.ContainsAny(pattern, "*?[") {
		if base, _ = cutPattern(pattern); base == "." {
			base = ""
		}
	}
	t := &objects{ctx: ctx, bucket: b, base: base, folders: map[string][]string{}, files: map[string]store.Listed{}}
	found, err := t.find(key, pattern, format)
	if err != nil {
		b.Close()
		return nil, nil, err
	}
	return b, found, nil
}

// objects is a bucket as a tree. It lists what lies below base once.
type objects struct {
	ctx     context.Context
	bucket  *store.Bucket
	base    string
	folders map[string][]string // the names in each
	files   map[string]store.Listed
}

func (t *objects) find(key, pattern, format string) ([]located, error) {
	prefix := t.base
	if prefix != "" && prefix != key {
		prefix += "/" // the base of a pattern is a folder
	}
	all, err := t.bucket.List(t.ctx, prefix, 0)
	if err != nil {
		return nil, err
	}
	for _, o := range all {
		t.files[o.Key] = o
		for name, dir := o.Key, path.Dir(o.Key); ; name, dir = dir, path.Dir(dir) {
			names, known := t.folders[dir]
			if base := path.Base(name); !slices.Contains(names[max(0, len(names)-1):], base) { // keys come in order
				t.folders[dir] = append(names, base)
			}
			if known || dir == "." {
				break
			}
		}
	}
	found, err := find(t, pattern, format)
	var known *Error
	if errors.As(err, &known) && known.File != "" {
		err = fail(known.Code, t.bucket.Root+"/"+strings.TrimPrefix(known.File, t.bucket.Root+"/"), known.Detail)
	}
	return found, err
}

func (t *objects) stat(name string) (fs.FileInfo, error) {
	if o, ok := t.files[name]; ok {
		return objectInfo{name: name, size: o.Size, modified: o.Modified}, nil
	}
	if _, ok := t.folders[name]; ok {
		return objectInfo{name: name, dir: true}, nil
	}
	if t.listed(name) {
		return nil, fs.ErrNotExist
	}
	all, err := t.bucket.List(t.ctx, name+"/", 1)
	if err != nil || len(all) == 0 {
		return nil, fs.ErrNotExist
	}
	return objectInfo{name: name, dir: true}, nil
}

// listed reports whether a name lies below base, so that the listing decides whether it exists.
func (t *objects) listed(name string) bool {
	return t.base == "" || name == t.base || strings.HasPrefix(name, t.base+"/")
}

func (t *objects) names(dir string) ([]string, error) {
	if names, ok := t.folders[dir]; ok || t.listed(dir) {
		return slices.Compact(slices.Sorted(slices.Values(names))), nil
	}
	all, err := t.bucket.List(t.ctx, dir+"/", 0)
	var names []string
	for _, o := range all {
		name, _, _ := strings.Cut(strings.TrimPrefix(o.Key, dir+"/"), "/")
		names = append(names, name)
	}
	return slices.Compact(names), err
}

func (t *objects) join(dir, name string) string { return path.Join(dir, name) }

func (t *objects) above(dir string) (out []string) {
	for ; dir != "." && dir != "/"; dir = path.Dir(dir) {
		out = append(out, dir)
	}
	return append(out, ".")
}

func (t *objects) head(name string) string {
	o, err := t.bucket.Object(t.ctx, name)
	if err != nil {
		return ""
	}
	defer o.Close()
	head := make([]byte, min(6, o.Size))
	if o.Fetch(t.ctx, []store.Range{{Size: int64(len(head))}}) != nil {
		return ""
	}
	_, _ = o.ReadAt(head, 0)
	return string(head)
}

// objectInfo describes an object, or a folder of objects.
type objectInfo struct {
	name     string
	size     int64
	modified time.Time
	dir      bool
}

func (i objectInfo) Name() string       { return path.Base(i.name) }
func (i objectInfo) Size() int64        { return i.size }
func (i objectInfo) ModTime() time.Time { return i.modified }
func (i objectInfo) IsDir() bool        { return i.dir }
func (i objectInfo) Sys() any           { return nil }
func (i objectInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir
	}
	return 0
}

// stores are the codes of the errors of a store.
var stores = map[error]string{
	store.ErrAddress: CodeUsage, store.ErrDriver: CodeUnsupported, store.ErrMissing: CodeNotFound, store.ErrRefused: CodeDenied,
	store.ErrAnswer: CodeUnreachable, store.ErrUntrusted: CodeUntrusted, store.ErrChanged: CodeChanged, store.ErrScratch: CodeUnreadable,
	store.ErrProgram: CodeUnreadable,
}

// announcer is a Stored that fetches whole ranges before anybody reads them. The ranges depend on the columns of the job
// and on nothing else: the store's log must not say which pages a draw touched (P19).
type announcer interface {
	Fetch(ctx context.Context, ranges []store.Range) error
	Freeze()
}

// announce fetches ranges of a file that is stored elsewhere. From then on, nothing else of it can be read.
func (o *opened) announce(ctx context.Context, all []extent) error {
	far, ok := o.f.(announcer)
	if !ok {
		return nil
	}
	ranges := make([]store.Range, len(all))
	for i, e := range all {
		ranges[i] = store.Range{Off: e.off, Size: e.size}
	}
	err := far.Fetch(ctx, ranges)
	far.Freeze()
	return refuse(o.path, err)
}
