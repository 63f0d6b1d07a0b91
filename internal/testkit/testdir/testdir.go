package testdir

import (
	"os"
	"syscall"
	"testing"
)

// room is the least space that a folder in memory must have: containers often have 64 MB.
const room = 4 << 30

// Base returns the folder in which the folders are made: "" for the system's folder of
// temporary files, where there is none in memory, or too little room.
func Base() string {
	const memory = "/dev/shm"
	var fs syscall.Statfs_t
	if syscall.Statfs(memory, &fs) != nil || fs.Bavail*uint64(fs.Bsize) < room {
		return ""
	}
	probe, err := os.MkdirTemp(memory, "testdir-")
	if err != nil {
		return ""
	}
	os.Remove(probe)
	return memory
}

// New returns an empty folder, which is removed when the test ends.
func New(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(Base(), "testdir-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
