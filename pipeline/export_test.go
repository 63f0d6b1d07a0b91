package pipeline

import (
	"os"
	"time"
)

// RealDisk is the disk of a run.
type RealDisk = OSDisk

// With sets what only tests set.
func With(o Options, at func(string), d Disk, lease time.Duration) Options {
	o.at, o.lease = at, lease
	if d != nil {
		o.disk = d
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
