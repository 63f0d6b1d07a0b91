package host

import (
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// dirPrefix begins the names of private directories.
const dirPrefix = "dprelease-plugin-"

// privateDir makes a directory that only this user can enter. The lock says that its
// host lives. A directory whose host was killed may hold what a plugin wrote; the next
// host removes it.
func privateDir() (dir string, lock *os.File, err error) {
	if dir, err = os.MkdirTemp(dirBase(), dirPrefix); err != nil {
		return "", nil, err
	}
	if lock, err = lockDir(dir); err != nil {
		_ = os.RemoveAll(dir)
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
		sweepStale(base, time.Minute)
	}
}

// sweepStale removes this user's directories that nobody holds a lock on. One that
// was just made may not be locked yet, so young ones are left.
func sweepStale(base string, age time.Duration) {
	dirs, _ := filepath.Glob(filepath.Join(base, dirPrefix+"*"))
	for _, dir := range dirs {
		fi, err := os.Lstat(dir)
		if err != nil || !fi.IsDir() || time.Since(fi.ModTime()) < age {
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
