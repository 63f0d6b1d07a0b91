package host

import (
	"errors"
	"io/fs"
	"os"
)

// unusable says why a file cannot be the executable of a plugin, in words that help
// whoever wrote the path; "" where nothing can be seen from outside. It is asked
// before the file is opened, which a pipe would never end.
func unusable(path string) string {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file"
	case err != nil:
		return "the file cannot be examined"
	case info.IsDir():
		return "that is a folder"
	case !info.Mode().IsRegular():
		return "that is not a regular file"
	case info.Mode()&0o111 == 0:
		return "the file is not executable; see chmod"
	}
	return ""
}
