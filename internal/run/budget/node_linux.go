package budget

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// nodeOf returns what a file is known by under all of its names, "" where that cannot be told: its
// device, its number there, and when it was made, because numbers are given again.
func nodeOf(path string) string {
	var s unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_INO|unix.STATX_BTIME, &s) != nil || s.Mask&unix.STATX_INO == 0 {
		return ""
	}
	born := ""
	if s.Mask&unix.STATX_BTIME != 0 {
		born = fmt.Sprintf(" of %d.%d", s.Btime.Sec, s.Btime.Nsec)
	}
	return fmt.Sprintf("node %d:%d %d%s", s.Dev_major, s.Dev_minor, s.Ino, born)
}
