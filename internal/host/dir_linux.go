package host

import (
	"os"
	"path/filepath"
	"strings"
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
		sweepStale(base)
	}
}

// sweepStale removes this user's directories that nobody holds a lock on.
func sweepStale(base string) {
	dirs, _ := filepath.Glob(filepath.Join(base, launch.DirPrefix+"*"))
	unnamed, _ := filepath.Glob(filepath.Join(base, launch.NewPrefix+"*"))
	for _, dir := range append(dirs, unnamed...) {
		fi, err := os.Lstat(dir)
		if err != nil || !fi.IsDir() || strings.HasPrefix(filepath.Base(dir), launch.NewPrefix) && time.Since(fi.ModTime()) < time.Minute {
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
