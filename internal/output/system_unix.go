//go:build unix

package output

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Mounted reports whether another file system begins at a folder, as where a container
// is given one for its output: it can be filled, but not replaced.
func Mounted(dir string, info fs.FileInfo) bool {
	parent, err := os.Stat(filepath.Dir(dir))
	if err != nil {
		return false
	}
	here, ok := info.Sys().(*syscall.Stat_t)
	above, also := parent.Sys().(*syscall.Stat_t)
	return ok && also && here.Dev != above.Dev
}

// lockDir takes the lock that says that a run is at work on a folder. The kernel
// frees it when the process ends, however it ends.
func lockDir(path string) (*os.File, error) {
	d, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// takeTurn waits for the lock of a folder, where the file system has locks.
func takeTurn(d *os.File) error {
	err := unix.Flock(int(d.Fd()), unix.LOCK_EX)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EBADF) || errors.Is(err, unix.ENOLCK) {
		return nil
	}
	return err
}

func replace(from, to string) error { return unix.Rename(from, to) }

// SyncDir makes a folder durable.
func (OSDisk) SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
