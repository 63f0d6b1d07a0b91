package ledger

import (
	"io/fs"
	"os"
	"path/filepath"
)

// place remembers the file of a SQLite ledger, and the write-ahead log beside it, from
// when the ledger was opened. If somebody moves, deletes or replaces the file meanwhile,
// this process would go on writing to the old one, which nobody else reads: what it
// commits there is lost.
type place struct {
	path string // with every link followed, as SQLite does
	file fs.FileInfo
	log  fs.FileInfo // nil until the first write
}

// findPlace refuses a file that would have a second write-ahead log under another
// name: two programs would then not see each other's debits.
func (a Address) findPlace() (*place, error) {
	if a.sqlite == "" {
		return nil, nil
	}
	path, err := filepath.EvalSymlinks(a.sqlite)
	if err != nil {
		return nil, refuse(CodeUnreadable, "%s cannot be examined", a)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, refuse(CodeUnreadable, "%s cannot be examined", a)
	}
	switch {
	case names(info) > 1:
		return nil, refuse(CodeUnsafe,
			"%s has a second name (a hard link), under which its debits would not be seen; make a copy of it under one name alone", a)
	case mounted(path):
		return nil, refuse(CodeUnsafe, "%s is mounted by itself, without the files that belong beside it; mount its folder", a)
	}
	return &place{path: path, file: info}, nil
}

// stays reports whether the file and its log are still those that were opened.
func (p *place) stays() bool {
	if p == nil {
		return true
	}
	info, err := os.Stat(p.path)
	if err != nil || !os.SameFile(info, p.file) {
		return false
	}
	log, err := os.Stat(p.path + "-wal")
	if err != nil {
		return false
	}
	if p.log == nil {
		p.log = log
	}
	return os.SameFile(log, p.log)
}
