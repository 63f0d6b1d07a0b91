package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/dprelease/dprelease/internal/guard"
	"github.com/dprelease/dprelease/internal/plugin/sandbox/launcher"
)

// dirPrefix begins the names of private directories.
const dirPrefix = "dprelease-plugin-"

// newPrefix begins the name of a private directory until it is locked, which takes a
// moment.
const newPrefix = ".dprelease-new-"

// Dir is a directory that only this user can enter. While it is open it is locked, which
// says that the process that made it lives. One whose maker was killed may hold what a
// plugin wrote; the next process removes it.
type Dir struct {
	Path  string
	Own   string // a folder in it, all that a tree can write
	lock  *os.File
	swept sync.WaitGroup // what killed processes left behind is looked for
}

// NewDir makes a private directory and, the first time, removes in the background what
// killed processes left behind.
func NewDir() (*Dir, error) {
	made, err := os.MkdirTemp(DirBase(), newPrefix)
	if err != nil {
		return nil, err
	}
	// The directory gets its name when it is locked: one with the name and without a lock is stale.
	d := &Dir{Path: filepath.Join(filepath.Dir(made), dirPrefix+strings.TrimPrefix(filepath.Base(made), newPrefix))}
	d.Own = launcher.OwnFolder(d.Path)
	if err = os.Mkdir(launcher.OwnFolder(made), 0o700); err == nil {
		d.lock, err = lockDir(made)
	}
	if err == nil {
		err = os.Rename(made, d.Path)
	}
	if err != nil {
		_ = os.RemoveAll(made)
		d.lock.Close() // nil refuses
		return nil, err
	}
	d.swept.Go(func() { guard.Quietly(sweepOnce) })
	return d, nil
}

// Close removes the directory and what is in it. It takes at most some seconds: what a tree
// without a sandbox piled up beyond that goes later.
func (d *Dir) Close() {
	clearDir(d.Path, time.Now().Add(clearLimit))
	d.lock.Close()
	d.swept.Wait()
}

// lockDir takes the lock of a directory, which goes when the process ends.
func lockDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// swept remembers where this process has looked for stale directories.
var swept sync.Map

// sweepOnce removes what killed processes left behind, the first time that it is called.
func sweepOnce() {
	base := DirBase()
	if _, again := swept.LoadOrStore(base, true); !again {
		sweepStale(base)
	}
}

// sweepStale removes this user's directories that nobody holds a lock on.
func sweepStale(base string) {
	dirs, _ := filepath.Glob(filepath.Join(base, dirPrefix+"*"))
	until := time.Now().Add(clearLimit)
	unnamed, _ := filepath.Glob(filepath.Join(base, newPrefix+"*"))
	for _, dir := range append(dirs, unnamed...) {
		fi, err := os.Lstat(dir)
		if err != nil || !fi.IsDir() || strings.HasPrefix(filepath.Base(dir), newPrefix) && time.Since(fi.ModTime()) < time.Minute {
			continue
		}
		if st, ok := fi.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Getuid() {
			continue
		}
		if lock, err := lockDir(dir); err == nil {
			clearDir(dir, until)
			lock.Close()
		}
	}
}
