//go:build unix

package whole

import (
	"io/fs"

	"github.com/google/renameio/v2"
)

// WriteFile writes a file.
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	return renameio.WriteFile(path, data, mode)
}
