package unlinked

import (
	"crypto/rand"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// makeFile makes a file. Windows has no files without a name: this one is shared with nobody, and gone when it is closed.
func makeFile(dir string) (*os.File, error) {
	if dir == "" {
		dir = os.TempDir()
	}
	path, err := windows.UTF16PtrFromString(filepath.Join(dir, ".dprelease-"+rand.Text()))
	if err != nil {
		return nil, err
	}
	const alone = 0
	h, err := windows.CreateFile(path, windows.GENERIC_READ|windows.GENERIC_WRITE, alone, nil, windows.CREATE_NEW,
		windows.FILE_ATTRIBUTE_TEMPORARY|windows.FILE_FLAG_DELETE_ON_CLOSE, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(h), windows.UTF16PtrToString(path)), nil
}
