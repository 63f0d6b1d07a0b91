package pipeline

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// disk is what publishing does to the file system, step by step, so that a test
// can make each step fail. Files are written side by side.
type disk interface {
	write(path string, mode fs.FileMode, data []byte) error // durable, or an error
	rename(from, to string) error
	syncDir(path string) error
}

// osDisk is the real one.
type osDisk struct{}

func (osDisk) write(path string, mode fs.FileMode, data []byte) error {
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

// rename also takes the place of an empty folder, in one step; os.Rename refuses to.
func (osDisk) rename(from, to string) error { return unix.Rename(from, to) }

func (osDisk) syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
