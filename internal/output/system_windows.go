package output

import (
	"io/fs"
	"os"
)

// Windows has no locks of folders, and does not make them durable. No run gets here: mechanisms run on Linux only.

// Mounted is not known.
func Mounted(string, fs.FileInfo) bool { return false }

func lockDir(path string) (*os.File, error) { return os.Open(path) }

func takeTurn(*os.File) error { return nil }

func replace(from, to string) error { return os.Rename(from, to) }

// SyncDir does nothing.
func (OSDisk) SyncDir(string) error { return nil }
