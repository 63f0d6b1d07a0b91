package iceberg

import (
	"cmp"
	"context"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/dprelease/dprelease/internal/store"
	"github.com/dprelease/dprelease/internal/store/address"
	"github.com/dprelease/dprelease/internal/table"
)

// folder is where a table lies: in the file system or, with a bucket, in object storage.
type folder struct {
	root    string // a path, or an address without options
	options string
	bucket  *store.Bucket
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
		if f.bucket, f.prefix, err = store.Open(ctx, f.root+f.options); err != nil {
			return nil, "", table.Refuse(f.root, err)
		}
	}
	return f, metadata, nil
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
		return nil, table.NewError(table.CodeLimit, f.name(rel), "has more than "+strconv.FormatInt(most>>20, 10)+" MB, which is more metadata than is read")
	}
	if f.bucket != nil {
		o, err := f.bucket.Object(ctx, path.Join(f.prefix, rel))
		if err != nil {
			return fail(err)
		}
		defer o.Close()
		if o.Size > most {
			return large()
		}
		if err := o.Fetch(ctx, []store.Range{{Size: o.Size}}); err != nil {
			return fail(err)
		}
		text := make([]byte, o.Size)
		if _, err := o.ReadAt(text, 0); err != nil && err != io.EOF {
			return fail(err)
		}
		return text, nil
	}
	if info, err := os.Stat(f.name(rel)); err != nil {
		return fail(err)
	} else if !info.Mode().IsRegular() {
		return nil, table.NewError(table.CodeUnsupported, f.name(rel), "not a regular file")
	}
	in, err := os.Open(f.name(rel))
	if err != nil {
		return fail(err)
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, most+1))
	if err != nil {
		return fail(err)
	}
	if int64(len(text)) > most {
		return large()
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
	return "", table.NewError(table.CodeUsage, f.root, "has several metadata files of the highest number: name the one that the catalog names, such as metadata/"+best[0])
}

// rel returns a path of the metadata, relative to the folder. location is the folder in the metadata.
func (f *folder) rel(location, name string) (string, error) {
	rest, below := strings.CutPrefix(plain(name), strings.TrimRight(plain(location), "/")+"/")
	if !below || location == "" || path.Clean(rest) != rest || !filepath.IsLocal(filepath.FromSlash(rest)) {
		return "", table.NewError(table.CodeUnsupported, f.root, "the table lists a file outside its location: dprelease reads only what lies below the table's folder; write the table again with its own tools")
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
