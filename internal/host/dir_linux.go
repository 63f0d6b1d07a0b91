package host

import (
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const dirPrefix = "dprelease-plugin-"

// swept remembers where this process has looked for stale directories.
var swept sync.Map

// privateDir makes a directory that only this user can enter, with a path short
// enough for the name of a unix socket (108 bytes) inside a further directory. The
// lock says that its host lives; a directory whose host was killed may hold what a
// plugin wrote, and is removed by the next.
func privateDir() (dir string, lock *os.File, err error) {
	base := dirBase()
	if dir, err = os.MkdirTemp(base, dirPrefix); err != nil {
		return "", nil, err
	}
	if lock, err = lockDir(dir); err != nil {
		_ = os.RemoveAll(dir)
		return "", nil, err
	}
	return dir, lock, nil
}

// dirBase is where private directories are.
func dirBase() string {
	if base := os.TempDir(); len(base) <= 40 {
		return base
	}
	return "/tmp"
}

// sweepOnce removes what hosts that were killed left behind, the first time that it
// is called.
func sweepOnce() {
	base := dirBase()
	if _, again := swept.LoadOrStore(base, true); !again {
		sweepStale(base, time.Minute)
	}
}

// lockDir takes the lock of a directory, which goes when the process ends.
func lockDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
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
