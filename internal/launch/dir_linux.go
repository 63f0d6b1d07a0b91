package launch

import (
	"os"
	"syscall"
)

// DirPrefix begins the names of private directories.
const DirPrefix = "dprelease-plugin-"

// NewPrefix begins the name of a private directory until it is locked, which takes a
// moment.
const NewPrefix = ".dprelease-new-"

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
	made, err := os.MkdirTemp(DirBase(), NewPrefix)
	if err != nil {
		return "", nil, err
	}
	// It gets its name when it is locked: whatever has the name and no lock is stale.
	if lock, err = LockDir(made); err == nil {
		number := len(made)
		for made[number-1] != '-' {
			number--
		}
		dir = made[:number-len(NewPrefix)] + DirPrefix + made[number:]
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
