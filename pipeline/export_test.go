package pipeline

import (
	"io/fs"
	"os"
	"time"
)

// Disk is the seam of the file system.
type Disk interface {
	Write(path string, mode fs.FileMode, data []byte) error
	Rename(from, to string) error
	SyncDir(path string) error
}

type seam struct{ d Disk }

func (s seam) write(path string, mode fs.FileMode, data []byte) error {
	return s.d.Write(path, mode, data)
}
func (s seam) rename(from, to string) error { return s.d.Rename(from, to) }
func (s seam) syncDir(path string) error    { return s.d.SyncDir(path) }

// RealDisk is the disk of a run.
type RealDisk struct{ osDisk }

// Write makes a durable file.
func (r RealDisk) Write(path string, mode fs.FileMode, data []byte) error {
	return r.write(path, mode, data)
}

// Rename renames.
func (r RealDisk) Rename(from, to string) error { return r.rename(from, to) }

// SyncDir makes a folder durable.
func (r RealDisk) SyncDir(path string) error { return r.syncDir(path) }

// With sets what only tests set.
func With(o Options, at func(string), d Disk, lease time.Duration) Options {
	o.at, o.lease = at, lease
	if d != nil {
		o.disk = seam{d}
	}
	return o
}

// Mounted says that another file system begins at a folder.
func Mounted(dir string) bool {
	info, err := os.Lstat(dir)
	return err == nil && mounted(dir, info)
}

// Codes are all declared codes.
var Codes = codes
