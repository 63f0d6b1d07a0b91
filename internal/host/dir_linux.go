package host

import (
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/dprelease/dprelease/internal/launch"
)

// swept remembers where this process has looked for stale directories.
var swept sync.Map

// sweepOnce removes what hosts that were killed left behind, the first time that it
// is called.
func sweepOnce() {
	base := launch.DirBase()
	if _, again := swept.LoadOrStore(base, true); !again {
		sweepStale(base, time.Minute)
	}
}

// sweepStale removes this user's directories that nobody holds a lock on. One that
// was just made may not be locked yet, so young ones are left.
func sweepStale(base string, age time.Duration) {
	dirs, _ := filepath.Glob(filepath.Join(base, launch.DirPrefix+"*"))
	for _, dir := range dirs {
		fi, err := os.Lstat(dir)
		if err != nil || !fi.IsDir() || time.Since(fi.ModTime()) < age {
			continue
		}
		if st, ok := fi.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Getuid() {
			continue
		}
		if lock, err := launch.LockDir(dir); err == nil {
			_ = os.RemoveAll(dir)
			lock.Close()
		}
	}
}
