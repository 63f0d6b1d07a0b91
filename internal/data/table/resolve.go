package table

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dprelease/dprelease/internal/data/file"
)

// located is a file of a table, with the folders called key=value between the job's path and the file.
type located struct {
	path  string
	parts []keyPart
}

// tree is the file system or a bucket.
type tree interface {
	stat(path string) (fs.FileInfo, error) // follows links
	names(dir string) ([]string, error)    // of the entries of a folder, sorted
	join(dir, name string) string
	above(dir string) []string // the folder itself and those around it
	head(path string) string   // the first bytes of a file, "" where they cannot be read
}

// files is the tree of this machine.
type files struct{}

func (files) stat(path string) (fs.FileInfo, error) { return os.Stat(path) }

func (files) join(dir, name string) string { return filepath.Join(dir, name) }

func (files) names(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

func (files) above(dir string) (out []string) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		out = append(out, dir)
	}
	return append(out, dir)
}

func (files) head(path string) string {
	var head [6]byte
	if f, err := file.Open(path); err == nil {
		_, _ = f.Read(head[:])
		f.Close()
	}
	return string(head[:])
}

// resolve returns the files of this machine that a path means, sorted. A path that exists is no pattern, whatever
// characters it has. The format, which may be empty, decides which files of a folder count.
func resolve(path, format string) ([]located, error) {
	if path == "" {
		return nil, fail(CodeUsage, "", "the table has no path")
	}
	found, err := find(files{}, path, format)
	return once(found), err
}

// find searches a tree.
func find(at tree, path, format string) ([]located, error) {
	info, err := at.stat(path)
	r := &resolver{at: at}
	switch {
	case err == nil && !info.IsDir():
		return []located{{path: path}}, nil
	case err == nil:
		r.folder = true
		err = r.begin(path, []string{"**"})
	case !strings.ContainsAny(path, "*?["):
		return nil, refuse(path, err)
	default:
		base, segments := cutPattern(path)
		for _, s := range segments {
			if _, err := filepath.Match(s, ""); err != nil {
				return nil, fail(CodeUsage, path, "not a valid pattern")
			}
		}
		err = r.begin(base, segments)
	}
	if r.folder && (format == FormatCSV || format == "" && len(r.found) == 0) {
		r.found = r.csv
	}
	switch {
	case err != nil:
		return nil, refuse(path, err)
	case len(r.found) == 0 && r.folder:
		return nil, fail(CodeNotFound, path, "the directory holds no parquet, arrow or csv file")
	case len(r.found) == 0:
		return nil, fail(CodeNotFound, path, "no file matches")
	}
	slices.SortFunc(r.found, func(a, b located) int { return strings.Compare(a.path, b.path) })
	if r.inside != "" && (format == FormatCSV || format == "" && isCSV(r.found[0].path)) {
		return nil, holdsTables(r.inside, "*.csv")
	}
	return r.found, nil
}

// cutPattern splits a pattern into the folder before the first wildcard and the parts to match.
func cutPattern(path string) (base string, segments []string) {
	all := strings.Split(filepath.ToSlash(path), "/")
	n := slices.IndexFunc(all, func(s string) bool { return strings.ContainsAny(s, "*?[") })
	base = filepath.FromSlash(strings.Join(all[:n], "/"))
	switch {
	case n == 0:
		base = "."
	case base == "":
		base = string(filepath.Separator)
	}
	return base, slices.DeleteFunc(all[n:], func(s string) bool { return s == "" })
}

// resolver searches folders.
type resolver struct {
	at     tree
	folder bool // the path is a folder and no pattern: only files of known extensions count
	bare   bool // the pattern begins in the working folder: its paths do not begin with "./"
	deep   bool // a folder, or a pattern with **: skips hidden names
	found  []located
	csv    []located // of a folder: the files called .csv or .csv.gz
	inside string    // a folder with CSV files that the pattern matches
}

func (r *resolver) begin(base string, segments []string) error {
	r.bare = base == "."
	r.deep = slices.Contains(segments, "**")
	if segments[len(segments)-1] == "**" {
		segments = append(segments, "*")
	}
	for _, dir := range r.at.above(base) {
		if err := r.notManaged(dir); err != nil {
			return err
		}
	}
	info, err := r.at.stat(base)
	if err != nil || !info.IsDir() {
		return nil // nothing matches
	}
	return r.search(base, segments, nil, []fs.FileInfo{info})
}

// notManaged refuses folders of table formats that keep a list of their files. Such a folder may hold files that no
// longer belong to the table.
func (r *resolver) notManaged(dir string) error {
	refused := func(what string) error {
		return fail(CodeUnsupported, dir, "the folder is a "+what+" table, whose log says which of its files count; "+
			"export the current rows to files of their own, and name those")
	}
	if _, err := r.at.stat(r.at.join(dir, "_delta_log")); err == nil {
		return refused("Delta Lake")
	}
	if _, err := r.at.stat(r.at.join(dir, ".hoodie")); err == nil {
		return refused("Hudi")
	}
	names, _ := r.at.names(r.at.join(dir, "metadata"))
	for _, name := range names {
		if strings.HasSuffix(name, ".metadata.json") {
			return fail(CodeUnsupported, dir,
				"the folder is an Iceberg table, whose metadata say which of its files count: write iceberg and snapshot instead of path")
		}
	}
	return nil
}

// search searches a folder. above holds the folders on the way, so that it does not follow a link back to one of them.
func (r *resolver) search(dir string, segments []string, parts []keyPart, above []fs.FileInfo) error {
	if err := r.notManaged(dir); err != nil {
		return err
	}
	names, err := r.at.names(dir)
	if err != nil {
		return refuse(dir, err)
	}
	any := segments[0] == "**"
	if any {
		if err := r.search(dir, segments[1:], parts, above); err != nil {
			return err
		}
	}
	for _, name := range names {
		// A search of a whole folder skips names that begin with a dot or an underscore.
		hidden := r.deep && strings.ContainsAny(name[:1], "._") && segments[0][0] != name[0]
		if ok, _ := filepath.Match(segments[0], name); hidden || !any && !ok {
			continue
		}
		path := r.at.join(dir, name)
		if r.bare && dir == "." {
			path = name
		}
		info, err := r.at.stat(path)
		if err != nil {
			return refuse(path, err)
		}
		switch {
		case info.IsDir():
			if slices.ContainsFunc(above, func(a fs.FileInfo) bool { return os.SameFile(a, info) }) {
				continue
			}
			err = r.into(path, name, any, segments, parts, append(above[:len(above):len(above)], info))
		case !any && len(segments) == 1:
			err = r.file(path, parts)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// into searches a folder whose name matches a part of the pattern.
func (r *resolver) into(path, name string, any bool, segments []string, parts []keyPart, above []fs.FileInfo) error {
	if p, ok := keyPartOf(name); ok {
		parts = append(parts[:len(parts):len(parts)], p)
	}
	switch {
	case any:
		return r.search(path, segments, parts, above)
	case len(segments) > 1:
		return r.search(path, segments[1:], parts, above)
	case r.deep:
		return nil
	}
	inside := &resolver{at: r.at, folder: true, deep: true}
	if err := inside.search(path, []string{"**", "*"}, nil, above); err != nil {
		return err
	}
	if len(inside.found) > 0 {
		return holdsTables(path, "*.parquet")
	}
	if len(inside.csv) > 0 {
		r.inside = path
	}
	return nil
}

func holdsTables(path, files string) error {
	return fail(CodeUsage, path,
		"the pattern matches a folder that holds tables: end it with "+files+" to leave folders out, or with ** to read all that lies below")
}

// file adds a file. A folder must not hold a table whose name does not say so: it would be left out in silence.
func (r *resolver) file(path string, parts []keyPart) error {
	if r.folder && !slices.Contains(extensions, strings.ToLower(filepath.Ext(path))) {
		if marked(r.at.head(path)) != "" {
			return fail(CodeUsage, path,
				"a table whose name does not end in "+strings.Join(extensions, ", ")+": rename it, or name the files by a pattern")
		}
		if isCSV(path) {
			r.csv = append(r.csv, located{path: path, parts: parts})
		}
		return nil
	}
	r.found = append(r.found, located{path: path, parts: parts})
	return nil
}

// once drops further names of one file.
func once(found []located) []located {
	type mark struct {
		size     int64
		modified time.Time
	}
	seen := map[mark][]fs.FileInfo{}
	return slices.DeleteFunc(found, func(l located) bool {
		info, err := os.Stat(l.path)
		if err != nil {
			return false // opening it says why
		}
		m := mark{info.Size(), info.ModTime()}
		if slices.ContainsFunc(seen[m], func(have fs.FileInfo) bool { return os.SameFile(have, info) }) {
			return true
		}
		seen[m] = append(seen[m], info)
		return false
	})
}

// opened is a file whose checking and reading see the same bytes: another file under its name is an error.
type opened struct {
	path    string
	f       Stored
	size    int64
	domains Domains
}

func (o *opened) name() string { return o.path }

func (o *opened) close() error { return o.f.Close() }

func (o *opened) readAt(b []byte, off int64) (int, error) { return o.f.ReadAt(b, off) }

func (o *opened) changed() error { return refuse(o.path, o.f.Unchanged()) }

// Stored is the content of an open file, here or in object storage. Several goroutines may call ReadAt.
type Stored interface {
	io.ReaderAt
	io.Closer
	// Unchanged returns an error if the file changed since it was opened.
	Unchanged() error
}

var errChanged = fail(CodeChanged, "", "the file changed while it was read")
