package iceberg

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/internal/data/store/address"
	"github.com/dprelease/dprelease/internal/data/store/call"
	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/stores/blobs"
)

// folder is the place of a table: in the file system or, with a bucket, in object storage.
type folder struct {
	root    string // a path, or an address without options
	options string
	bucket  *blobs.Bucket
	prefix  string // of keys
}

// isMetadata reports whether a path names a metadata file.
func isMetadata(name string) bool {
	return strings.HasSuffix(name, ".metadata.json") || strings.HasSuffix(name, ".metadata.json.gz")
}

// openFolder opens the folder of a table. If the path names a metadata file, it also returns the name of that.
func openFolder(ctx context.Context, text string) (f *folder, metadata string, err error) {
	text = address.Local(text)
	f = &folder{root: address.Plain(text)}
	if address.Is(text) {
		f.options = strings.TrimPrefix(text, f.root)
	} else {
		f.root = filepath.Clean(text)
	}
	if isMetadata(f.root) {
		whole := "./" + filepath.ToSlash(f.root)
		at := strings.LastIndex(whole, "/")
		root, inside := strings.CutSuffix(whole[:at], "/metadata")
		if !inside {
			return nil, "", table.NewError(table.CodeUsage, f.root, "a metadata file of an Iceberg table lies in the folder metadata of the table")
		}
		metadata = "metadata/" + whole[at+1:]
		f.root = cmp.Or(strings.TrimPrefix(root, "./"), "/")
	}
	if address.Is(text) {
		if err = f.open(ctx); err != nil {
			return nil, "", table.Refuse(f.root, err)
		}
	}
	return f, metadata, nil
}

// open opens the bucket of the folder.
func (f *folder) open(ctx context.Context) error {
	bucket, key, options, ok := address.Split(f.root + f.options)
	if !ok {
		return call.ErrAddress
	}
	if options != "" {
		options = "?" + options
	}
	var err error
	f.bucket, err = blobs.Open(ctx, bucket+options)
	f.prefix = key
	return err
}

func (f *folder) close() {
	if f.bucket != nil {
		f.bucket.Close()
	}
}

// name returns the name of a file of the table in messages.
func (f *folder) name(rel string) string { return address.In(f.root, rel) }

// read reads a whole file of at most so many bytes.
func (f *folder) read(ctx context.Context, rel string, most int64) ([]byte, error) {
	fail := func(err error) ([]byte, error) { return nil, table.Refuse(f.name(rel), err) }
	large := func() ([]byte, error) {
		return nil, table.NewError(table.CodeLimit, f.name(rel),
			"has more than "+strconv.FormatInt(most>>20, 10)+" MB, which is more metadata than is read")
	}
	if f.bucket != nil {
		key := path.Join(f.prefix, rel)
		before, err := f.bucket.Version(ctx, key)
		if err != nil {
			return fail(err)
		}
		if before.Size > most {
			return large()
		}
		text, err := f.bucket.Read(ctx, key)
		if err != nil {
			return fail(err)
		}
		if after, err := f.bucket.Version(ctx, key); err != nil || !after.Same(before) || int64(len(text)) != before.Size {
			return fail(cmp.Or(err, call.ErrChanged))
		}
		return text, nil
	}
	text, err := file.Read(f.name(rel), most)
	switch {
	case errors.Is(err, file.ErrLarge):
		return large()
	case err != nil:
		return fail(err)
	}
	return text, nil
}

// newest finds the metadata file with the highest number: v12.metadata.json or 00012-….metadata.json. A snapshot never
// changes, so all metadata files that have it describe it in the same way.
func (f *folder) newest(ctx context.Context) (string, error) {
	var names []string
	if f.bucket != nil {
		prefix := path.Join(f.prefix, "metadata") + "/"
		all, err := f.bucket.List(ctx, prefix, 0)
		if err != nil {
			return "", table.Refuse(f.root, err)
		}
		for _, o := range all {
			names = append(names, strings.TrimPrefix(o.Key, prefix))
		}
	} else {
		entries, err := os.ReadDir(f.name("metadata"))
		if err != nil {
			return "", table.Refuse(f.name("metadata"), err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	var best []string
	highest := int64(-1)
	for _, name := range names {
		digits := strings.TrimPrefix(name, "v")
		if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end > 0 {
			digits = digits[:end]
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || !isMetadata(name) || n < highest || strings.Contains(name, "/") {
			continue
		}
		if n > highest {
			highest, best = n, nil
		}
		best = append(best, name)
	}
	switch len(best) {
	case 0:
		return "", table.NewError(table.CodeNotFound, f.root, "is no Iceberg table: its folder metadata holds no metadata file")
	case 1:
		return "metadata/" + best[0], nil
	}
	slices.Sort(best)
	return "", table.NewError(table.CodeUsage, f.root,
		"has several metadata files of the highest number: name the one that the catalog names, such as metadata/"+best[0])
}

// rel returns a path of the metadata, relative to the folder. location is the folder in the metadata.
func (f *folder) rel(location, name string) (string, error) {
	rest, below := strings.CutPrefix(plain(name), strings.TrimRight(plain(location), "/")+"/")
	if !below || location == "" || path.Clean(rest) != rest || !filepath.IsLocal(filepath.FromSlash(rest)) {
		return "", table.NewError(table.CodeUnsupported, f.root, "the table lists a file outside its location: dprelease reads only what "+
			"lies below the table's folder; write the table again with its own tools")
	}
	if strings.ContainsFunc(rest, func(r rune) bool { return !unicode.IsPrint(r) }) { // messages name files
		return "", table.NewError(table.CodeUnsupported, f.root, "the table lists a file whose name cannot be printed")
	}
	return rest, nil
}

// plain writes the scheme of a path in one way.
func plain(name string) string {
	for _, scheme := range []struct{ from, to string }{{"file://", ""}, {"file:", ""}, {"s3a://", "s3://"}, {"s3n://", "s3://"}} {
		if rest, ok := strings.CutPrefix(name, scheme.from); ok {
			return scheme.to + rest
		}
	}
	return name
}
