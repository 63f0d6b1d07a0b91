package host

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// dirPrefix begins the names of private directories.
const dirPrefix = "dprelease-plugin-"

// newPrefix begins the name of a private directory until it is locked, which takes a
// moment.
const newPrefix = ".dprelease-new-"

// privateDir makes a directory that only this user can enter. The lock says that its
// host lives. A directory whose host was killed may hold what a plugin wrote; the next
// host removes it.
func privateDir() (dir string, lock *os.File, err error) {
	made, err := os.MkdirTemp(dirBase(), newPrefix)
	if err != nil {
		return "", nil, err
	}
	// The directory gets its name when it is locked: one with the name and without a lock is stale.
	if lock, err = lockDir(made); err == nil {
		dir = filepath.Join(filepath.Dir(made), dirPrefix+strings.TrimPrefix(filepath.Base(made), newPrefix))
		err = os.Rename(made, dir)
	}
	if err != nil {
		_ = os.RemoveAll(made)
		if lock != nil {
			lock.Close()
		}
		return "", nil, err
	}
	return dir, lock, nil
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

// sweepOnce removes what killed hosts left behind, the first time that it is called.
func sweepOnce() {
	base := dirBase()
	if _, again := swept.LoadOrStore(base, true); !again {
		sweepStale(base)
	}
}

// sweepStale removes this user's directories that nobody holds a lock on.
func sweepStale(base string) {
	dirs, _ := filepath.Glob(filepath.Join(base, dirPrefix+"*"))
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
			_ = os.RemoveAll(dir)
			lock.Close()
		}
	}
}
