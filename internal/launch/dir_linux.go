package launch

import (
	"os"
	"syscall"
)

// DirPrefix begins the names of private directories.
const DirPrefix = "dprelease-plugin-"

// DirBase is where private directories are. Their paths must be short enough for the
// name of a unix socket (108 bytes) inside a further directory.
func DirBase() string {
	if base := os.TempDir(); len(base) <= 40 {
		return base
	}
	return "/tmp"
}

// PrivateDir makes a directory that only this user can enter. The lock says that its
// host lives; a directory whose host was killed may hold what a plugin wrote, and is
// removed by the next.
func PrivateDir() (dir string, lock *os.File, err error) {
	if dir, err = os.MkdirTemp(DirBase(), DirPrefix); err != nil {
		return "", nil, err
	}
	if lock, err = LockDir(dir); err != nil {
		_ = os.RemoveAll(dir)
		return "", nil, err
	}
	return dir, lock, nil
}

// LockDir takes the lock of a directory, which goes when the process ends.
func LockDir(dir string) (*os.File, error) {
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
