package launcher

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// Devices are all the devices of a tree.
var Devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

const old = "/.old"

// newRoot gives the tree a file system of its own: an empty one with the system's
// programs that the executable needs, the private folder and what was granted. All of that can only
// be read, devices too: their owner, whom the tree runs as, could otherwise change
// their permissions and times. The tree writes to its own folder and /tmp, which are one file system in
// memory: it ends with the tree, and nothing of it ever reaches a disk. newRoot returns a
// descriptor of that folder. It needs the launcher's namespaces.
func (o *Orders) newRoot() (folder int, err error) {
	_ = unix.Sethostname([]byte("plugin"))
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return -1, err
	}
	// The new root covers the private folder until it takes the place of the old root.
	if err := unix.Mount("root", o.Dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=1m,nr_inodes=4k,mode=755"); err != nil {
		return -1, err
	}
	if err := os.Mkdir(o.Dir+old, 0o700); err != nil {
		return -1, err
	}
	if err := unix.PivotRoot(o.Dir, o.Dir+old); err != nil {
		return -1, err
	}
	if err := os.Chdir("/"); err != nil {
		return -1, err
	}
	const kept = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID
	for _, path := range append(slices.Clone(o.System), o.Read...) {
		if err := show(path, kept|unix.MOUNT_ATTR_NODEV); err != nil {
			return -1, err
		}
	}
	for _, path := range Devices {
		if err := show(path, kept|unix.MOUNT_ATTR_NOEXEC); err != nil {
			return -1, err
		}
	}
	if folder, err = o.ownFiles(); err != nil {
		return -1, err
	}
	if err := os.Mkdir("/proc", 0o555); err != nil {
		return -1, err
	}
	// Without /proc only scripts and what looks at itself are at a loss. Where parts of
	// the machine's own are hidden, no other can be had.
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	_ = unix.Mount("proc", "/proc", "proc", flags, "subset=pid")
	for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1",
		"stderr": "/proc/self/fd/2"} {
		if err := os.Symlink(to, "/dev/"+name); err != nil {
			return -1, err
		}
	}
	if err := unix.Unmount(old, unix.MNT_DETACH); err != nil {
		return -1, err
	}
	if err := os.Remove(old); err != nil {
		return -1, err
	}
	if err := unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
		return -1, err
	}
	return folder, os.Chdir(OwnFolder(o.Dir))
}

// ownFiles makes the file system that the tree writes to, and returns a descriptor of it. The tree
// finds it as /tmp and as its own folder in the private one.
func (o *Orders) ownFiles() (int, error) {
	if err := os.MkdirAll("/tmp", 0o700); err != nil {
		return -1, err
	}
	size := uint64(maxFiles)
	if o.Memory > 0 {
		size = min(size, uint64(o.Memory))
	}
	options := fmt.Sprintf("size=%d,nr_inodes=%d,mode=700", size, maxInodes)
	if err := unix.Mount("tmp", "/tmp", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, options); err != nil {
		return -1, err
	}
	folder, err := unix.Open("/tmp", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	// Libraries may lie beside the executable, so what is here can be executed.
	if err := show(o.Dir, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV); err != nil {
		return -1, err
	}
	return folder, unix.Mount("/tmp", OwnFolder(o.Dir), "", unix.MS_BIND, "")
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
