//go:build unix

package ledger

import (
	"io/fs"
	"path/filepath"
	"syscall"
)

// names returns how many names a file has.
func names(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 1
}

// roomForWork is the least space that SQLite needs to go on: less is a full disk.
const roomForWork = 256 << 10

// crowded reports whether the disk of a file has no room left. SQLite reports some of
// what follows from that as a failure of the disk.
func crowded(path string) bool {
	var s syscall.Statfs_t
	if path == "" || syscall.Statfs(filepath.Dir(path), &s) != nil {
		return false
	}
	return uint64(s.Bavail)*uint64(s.Bsize) < roomForWork
}
