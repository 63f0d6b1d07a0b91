package table

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// manyFiles writes a folder of more files than stay open, of three rows each.
func manyFiles(t *testing.T) (dir string, files int) {
	dir, files = t.TempDir(), 2*maxHandles
	for i := range files {
		write(t, filepath.Join(dir, fmt.Sprintf("%03d.csv", i)), []byte("x\n1\n2\n3\n"))
	}
	return dir, files
}

// Of the files of a table so many are open at once, whatever reads them.
func TestFewFilesAreOpen(t *testing.T) {
	dir, files := manyFiles(t)
	tab := must(Open(t.Context(), Spec{Path: dir}))
	rows := 0
	for range 2 {
		err := tab.Scan(t.Context(), ScanOptions{Columns: []string{"x"}}, func(b Batch) error {
			rows += b.Rows
			handles.Lock()
			defer handles.Unlock()
			if n := len(handles.open); n > maxHandles+workersOr(0) {
				t.Errorf("%d files are open", n)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if rows != 2*3*files {
		t.Errorf("%d rows", rows)
	}
	if err := tab.Close(); err != nil {
		t.Error(err)
	}
	handles.Lock()
	defer handles.Unlock()
	for _, f := range handles.open {
		if filepath.Dir(f.path) == dir {
			t.Errorf("%s is still open", f.path)
		}
	}
}

// Another file in the place of one that was closed in between is noticed, and so is one that was written to.
func TestFilesThatChangeWhileTheyAreClosed(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"replaced": func(path string) error {
			return errors.Join(os.WriteFile(path+".new", []byte("x\n1\n2\n4\n"), 0o600), os.Rename(path+".new", path))
		},
		"written": func(path string) error { return os.WriteFile(path, []byte("x\n1\n2\n44\n"), 0o600) },
		"gone":    os.Remove,
	} {
		dir, _ := manyFiles(t)
		tab := must(Open(t.Context(), Spec{Path: dir}))
		defer tab.Close()
		if err := change(filepath.Join(dir, "000.csv")); err != nil {
			t.Fatal(err)
		}
		err := tab.Scan(t.Context(), ScanOptions{Columns: []string{"x"}}, func(Batch) error { return nil })
		var e *Error
		if !errors.As(err, &e) || e.Code != CodeChanged && e.Code != CodeNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
}
