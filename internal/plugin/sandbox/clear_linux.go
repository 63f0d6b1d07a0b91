package sandbox

import (
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// clearLimit is the time that removing the leavings of a tree may take. All that is still there then
// stays in a folder that only this user can enter, until a later start removes more of it.
const clearLimit = 5 * time.Second

// clearDir removes a folder and all that is in it, and reports whether nothing is left. It takes two
// descriptors however deep folders lie in one another: those of a lower level move up
// before their own are looked at. It follows no link.
func clearDir(path string, until time.Time) bool {
	top, err := openDir(unix.AT_FDCWD, path)
	if err != nil {
		return os.IsNotExist(err)
	}
	defer top.Close()
	c := clearing{top: top, until: until}
	for c.level(top, "") {
		if c.late() {
			return false
		}
	}
	return unix.Rmdir(path) == nil
}

// clearing is a folder that is being emptied.
type clearing struct {
	top   *os.File
	until time.Time
	moved int // folders that were moved up
}

func (c *clearing) late() bool { return time.Now().After(c.until) }

// level removes what a folder holds, in the top folder or in one right below it, and reports
// whether it found anything there that it could remove or move up.
func (c *clearing) level(dir *os.File, name string) (progress bool) {
	in := int(dir.Fd())
	for !c.late() {
		names, err := dir.Readdirnames(256)
		for _, n := range names {
			switch {
			case c.late():
				return progress
			case unix.Unlinkat(in, n, 0) == nil || unix.Unlinkat(in, n, unix.AT_REMOVEDIR) == nil:
				progress = true
			case name == "":
				progress = c.below(n) || progress
			default:
				progress = c.lift(in, n) || progress
			}
		}
		if err == io.EOF || len(names) == 0 {
			break
		}
	}
	if _, err := dir.Seek(0, io.SeekStart); err != nil {
		return false
	}
	return progress
}

// below empties a folder in the top one, and removes it.
func (c *clearing) below(name string) bool {
	top := int(c.top.Fd())
	_ = unix.Fchmodat(top, name, 0o700, unix.AT_SYMLINK_NOFOLLOW)
	dir, err := openDir(top, name)
	if err != nil {
		return false
	}
	defer dir.Close()
	progress := c.level(dir, name)
	return unix.Unlinkat(top, name, unix.AT_REMOVEDIR) == nil || progress
}

// lift moves a folder up into the top one.
func (c *clearing) lift(in int, name string) bool {
	_ = unix.Fchmodat(in, name, 0o700, unix.AT_SYMLINK_NOFOLLOW)
	for range 1000 { // names that are taken
		c.moved++
		err := unix.Renameat2(in, name, int(c.top.Fd()), ".moved-"+strconv.Itoa(c.moved), unix.RENAME_NOREPLACE)
		if err != unix.EEXIST {
			return err == nil
		}
	}
	return false
}

func openDir(at int, path string) (*os.File, error) {
	fd, err := unix.Openat(at, path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}
