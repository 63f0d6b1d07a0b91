package whole

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile writes a file.
func WriteFile(path string, data []byte, _ fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".whole-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
