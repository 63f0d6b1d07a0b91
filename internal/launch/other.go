//go:build !linux

package launch

import (
	"errors"
	"os"
)

// Early is a process that was started before it was needed: on Linux only.
type Early struct {
	Base string
	Lock *os.File
}

// Begin starts nothing.
func Begin(...string) {}

// Take finds nothing.
func Take([]string) *Early { return nil }

// Drop has nothing to end.
func Drop() {}

// Fits is never asked.
func (*Early) Fits([]string) bool { return false }

// End has nothing to end.
func (*Early) End() {}

// DirBase is where private directories would be.
func DirBase() string { return os.TempDir() }

// PrivateDir makes none.
func PrivateDir() (string, *os.File, error) { return "", nil, errors.New("plugins run on Linux only") }
