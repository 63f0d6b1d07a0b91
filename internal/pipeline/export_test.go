package pipeline

import (
	"os"
	"time"

	"github.com/dprelease/dprelease/internal/output"
)

// Disk is the seam of the file system.
type Disk = output.Disk

// RealDisk is the disk of a run.
type RealDisk = output.OSDisk

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
	return err == nil && output.Mounted(dir, info)
}

// WithMemory sets what the values of the table may take.
func WithMemory(o Options, bytes int64) Options {
	o.memory = bytes
	return o
}

// WithClock sets the clock that an hour to publish at is read from.
func WithClock(o Options, c clock) Options {
	o.clock = c
	return o
}
