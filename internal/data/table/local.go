package table

import (
	"io/fs"
	"os"
	"slices"
	"sync"

	"github.com/dprelease/dprelease/internal/data/file"
)

// localFile is a file of this machine. It may be closed while nobody reads it, because a table can have more files than a
// process may open. Whoever opens it again finds the same file, which nobody wrote to, or gets an error.
type localFile struct {
	path string
	info fs.FileInfo

	// The lock of handles guards these.
	h       *os.File // nil while it is closed
	readers int
}

// handles are the local files that are open, of all tables of the process.
var handles struct {
	sync.Mutex
	open []*localFile // as they were opened
}

// maxHandles is the number of files that stay open while nobody reads them.
const maxHandles = 64

// openLocal opens a file of this machine.
func openLocal(name string) (base opened, err error) {
	f := &localFile{path: name}
	if _, err := f.take(); err != nil {
		return base, refuse(name, err)
	}
	f.give()
	return opened{path: name, f: f, size: f.info.Size()}, nil
}

// take returns the handle of the file, which stays open until give.
func (f *localFile) take() (*os.File, error) {
	handles.Lock()
	defer handles.Unlock()
	if f.h == nil {
		if err := f.open(); err != nil {
			return nil, err
		}
	}
	f.readers++
	return f.h, nil
}

func (f *localFile) give() {
	handles.Lock()
	defer handles.Unlock()
	f.readers--
}

// open opens the file, and closes the one that was opened first, of those that nobody reads, where there are too many. The first
// time, it notes which file this is.
func (f *localFile) open() error {
	if len(handles.open) >= maxHandles {
		if i := slices.IndexFunc(handles.open, func(other *localFile) bool { return other.readers == 0 }); i >= 0 {
			_ = handles.open[i].shut()
		}
	}
	h, err := file.Open(f.path)
	if err != nil {
		return err
	}
	info, err := h.Stat()
	if err == nil && f.info != nil && !(os.SameFile(f.info, info) && f.is(info)) {
		err = errChanged
	}
	if err != nil {
		h.Close()
		return err
	}
	f.info, f.h = info, h
	handles.open = append(handles.open, f)
	return nil
}

// shut closes the handle, if it is open.
func (f *localFile) shut() error {
	if f.h == nil {
		return nil
	}
	handles.open = slices.DeleteFunc(handles.open, func(other *localFile) bool { return other == f })
	err := f.h.Close()
	f.h = nil
	return err
}

// is compares the size and the time stamp.
func (f *localFile) is(info fs.FileInfo) bool {
	return info.Size() == f.info.Size() && info.ModTime().Equal(f.info.ModTime())
}

// ReadAt reads from the file, and opens it where it is closed.
func (f *localFile) ReadAt(b []byte, off int64) (int, error) {
	h, err := f.take()
	if err != nil {
		return 0, err
	}
	defer f.give()
	return h.ReadAt(b, off)
}

// Close closes the file.
func (f *localFile) Close() error {
	handles.Lock()
	defer handles.Unlock()
	return f.shut()
}

// Unchanged returns an error if the file changed since it was opened first.
func (f *localFile) Unchanged() error {
	h, err := f.take()
	if err != nil {
		return err
	}
	defer f.give()
	info, err := h.Stat()
	if err != nil {
		return fail(CodeUnreadable, "", "cannot be examined")
	}
	if !f.is(info) {
		return errChanged
	}
	return nil
}
