//go:build unix && !linux

package budget

import (
	"fmt"
	"syscall"
)

// nodeOf returns what a file is known by under all of its names, "" where that cannot be told.
func nodeOf(path string) string {
	var s syscall.Stat_t
	if syscall.Stat(path, &s) != nil {
		return ""
	}
	return fmt.Sprintf("node %d %d", s.Dev, s.Ino)
}
