package pipeline

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// folder is an output folder in the making: built under another name beside its
// place, made durable, and renamed into place. It appears whole or not at all.
type folder struct {
	final, temp string
}

// outputState says what stands at the place of an output folder.
type outputState int

const (
	outputFree outputState = iota
	outputTaken
)

// inspectOutput looks whether a folder may be published at dir.
func inspectOutput(dir string) (outputState, error) {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return outputFree, nil
	case errors.Is(err, syscall.ENOTDIR):
		return outputTaken, nil
	case err != nil:
		return outputTaken, err
	case len(entries) == 0:
		return outputFree, nil
	}
	return outputTaken, nil
}

// newFolder starts a folder that will stand at dir.
func newFolder(dir string) (*folder, error) {
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp(parent, "."+filepath.Base(dir)+".partial-")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		os.RemoveAll(temp)
		return nil, err
	}
	return &folder{final: dir, temp: temp}, nil
}

// write makes one durable file and returns the SHA-256 of its content.
func (f *folder) write(name string, mode fs.FileMode, content func(io.Writer) error) (string, error) {
	file, err := os.OpenFile(filepath.Join(f.temp, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	digest := sha256.New()
	if err := content(io.MultiWriter(file, digest)); err != nil {
		file.Close()
		return "", err
	}
	if err := file.Sync(); err != nil {
		file.Close()
		return "", err
	}
	if err := file.Close(); err != nil {
		return "", err
	}
	return hex.EncodeToString(digest.Sum(nil)), nil
}

// publish makes the folder durable and renames it into place. Renaming over
// anything but an empty folder fails, so nothing is ever overwritten.
func (f *folder) publish() error {
	if err := syncDir(f.temp); err != nil {
		return err
	}
	if err := os.Rename(f.temp, f.final); err != nil {
		return err
	}
	return syncDir(filepath.Dir(f.final))
}

// discard removes what was not published.
func (f *folder) discard() { os.RemoveAll(f.temp) }

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
