//go:build unix

package whole

import (
	"errors"
	"io/fs"
	"os"

	"github.com/google/renameio/v2"
)

// WriteFile writes a file. It keeps the permissions of a file that is there, unless mode is for the owner alone (P19).
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	if mode&0o077 == 0 {
		if err := os.Chmod(path, mode); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return renameio.WriteFile(path, data, mode)
}
