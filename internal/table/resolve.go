package table

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// extensions are what a directory is searched for.
var extensions = []string{".parquet", ".pq", ".parq", ".arrow", ".arrows", ".ipc", ".feather"}

// resolve returns the files that path stands for, sorted. A path that exists is taken literally, brackets and all.
func resolve(path string) ([]string, error) {
	if path == "" {
		return nil, fail(CodeUsage, "", "the table has no path")
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.IsDir():
		return []string{path}, nil
	case err == nil:
		return below(path)
	case !strings.ContainsAny(path, "*?["):
		return nil, refuse(path, err)
	}
	names, err := filepath.Glob(path)
	if err != nil {
		return nil, fail(CodeUsage, path, "not a valid pattern")
	}
	names = slices.DeleteFunc(names, func(n string) bool {
		info, err := os.Stat(n)
		return err == nil && info.IsDir()
	})
	if len(names) == 0 {
		return nil, fail(CodeNotFound, path, "no file matches")
	}
	slices.Sort(names)
	return names, nil
}

func below(dir string) ([]string, error) {
	var names []string
	root := dir + string(filepath.Separator) // so that a symbolic link to a directory is followed
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return refuse(path, err)
		}
		if path != root && strings.ContainsAny(d.Name()[:1], "._") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !d.IsDir() && slices.Contains(extensions, strings.ToLower(filepath.Ext(path))) {
			names = append(names, path)
		}
		return nil
	})
	if err != nil {
		return nil, refuse(dir, err)
	}
	if len(names) == 0 {
		return nil, fail(CodeNotFound, dir, "the directory holds no parquet or arrow file")
	}
	slices.Sort(names)
	return names, nil
}

// opened is a file held open: the walk and the read use the same descriptor, so that replacing the file by another
// under its name in between changes nothing.
type opened struct {
	path     string
	f        *os.File
	size     int64
	modified time.Time
}

func (o *opened) name() string { return o.path }

func (o *opened) close() error { return o.f.Close() }

// changed says whether the file was written to since it was opened.
func (o *opened) changed() error {
	info, err := o.f.Stat()
	if err != nil {
		return fail(CodeUnreadable, o.path, "cannot be examined")
	}
	if info.Size() != o.size || !info.ModTime().Equal(o.modified) {
		return fail(CodeChanged, o.path, "the file changed while it was read")
	}
	return nil
}
