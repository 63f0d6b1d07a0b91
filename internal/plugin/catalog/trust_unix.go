//go:build unix

package catalog

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// trusted returns an error if anybody but root and this user can change the file, or a
// folder on the way to it. It is the rule of sshd for a user's keys. Known are places that were
// looked at and are trusted; it may be nil.
func trusted(path string, known map[string]bool) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return err
	}
	for at := path; !known[at]; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil {
			return err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return fmt.Errorf("who owns %s cannot be found out", at)
		}
		if st.Uid != 0 && int(st.Uid) != os.Getuid() {
			return fmt.Errorf("%s belongs to another user, who could change it", at)
		}
		// In a folder with the sticky bit others can add files and not change these.
		if info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
			return fmt.Errorf("others may change %s; take the right to write from them", at)
		}
		if known != nil {
			known[at] = true
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
	return nil
}

// lock takes the lock of a file, or returns an error at once. The kernel frees it when the process ends, however it ends.
func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
