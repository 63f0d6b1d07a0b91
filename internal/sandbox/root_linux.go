package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// devices are all the devices of a tree.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

const old = "/.old"

// newRoot gives the tree a file system of its own: an empty one with the system's
// programs, the private folder and what was granted. It needs the launcher's namespaces.
func (o *orders) newRoot() error {
	_ = unix.Sethostname([]byte("plugin"))
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	// The new root covers the private folder until it takes the place of the old root.
	if err := unix.Mount("root", o.Dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=1m,nr_inodes=4k,mode=755"); err != nil {
		return err
	}
	if err := os.Mkdir(o.Dir+old, 0o700); err != nil {
		return err
	}
	if err := unix.PivotRoot(o.Dir, o.Dir+old); err != nil {
		return err
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	for _, path := range append(system, o.Read...) {
		if err := show(path, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV); err != nil {
			return err
		}
	}
	for _, path := range devices {
		if err := show(path, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC); err != nil {
			return err
		}
	}
	if err := os.MkdirAll("/tmp", 0o700); err != nil {
		return err
	}
	if err := unix.Mount("tmp", "/tmp", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "size=64m,nr_inodes=16k,mode=700"); err != nil {
		return err
	}
	if err := show(o.Dir, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC); err != nil {
		return err
	}
	if err := os.Mkdir("/proc", 0o555); err != nil {
		return err
	}
	// Without /proc only scripts and what looks at itself are at a loss. Where parts of
	// the machine's own are hidden, no other can be had.
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	_ = unix.Mount("proc", "/proc", "proc", flags, "subset=pid")
	for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"} {
		if err := os.Symlink(to, "/dev/"+name); err != nil {
			return err
		}
	}
	if err := unix.Unmount(old, unix.MNT_DETACH); err != nil {
		return err
	}
	if err := os.Remove(old); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
		return err
	}
	return os.Chdir(o.Dir)
}

// show makes a file or folder of the old root visible under the same path. One that is
// not there, or that a larger one has brought, is passed over.
func show(path string, attributes uint64) error {
	from := old + path
	info, err := os.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		if errors.Is(err, unix.EROFS) { // it lies in what is shown already
			return nil
		}
		return err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(from)
		if err != nil {
			return err
		}
		if err := os.Symlink(to, path); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	case info.IsDir():
		err = os.Mkdir(path, 0o755)
	default:
		err = os.WriteFile(path, nil, 0o600)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		if errors.Is(err, unix.EROFS) {
			return nil
		}
		return err
	}
	if err := unix.Mount(from, path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	return unix.MountSetattr(-1, path, unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attributes})
}
