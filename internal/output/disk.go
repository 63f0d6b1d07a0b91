package output

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Disk is what publishing does to the file system, step by step, so that a test
// can make each step fail. Files are written side by side.
type Disk interface {
	Write(path string, mode fs.FileMode, data []byte) error // durable, or an error
	Rename(from, to string) error
	SyncDir(path string) error
}

// OSDisk is the real one.
type OSDisk struct{}

// Write makes a durable file.
func (OSDisk) Write(path string, mode fs.FileMode, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		f.Close()
		return err
	}
	if err := f.Sync(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// Rename also takes the place of an empty folder, in one step; os.Rename refuses to.
func (OSDisk) Rename(from, to string) error { return unix.Rename(from, to) }

// SyncDir makes a folder durable.
func (OSDisk) SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
