package sandbox

import (
	"errors"
	"os"
)

// ErrDigest says that a file does not have the digest that was named.
var ErrDigest = errors.New("the executable does not have the digest")

// ErrPlatform is the error of a system on which nothing can be started.
var ErrPlatform = errors.New("plugins run on Linux only")

// Unconfined says that a tree could not be confined as it was to be.
type Unconfined struct {
	Why        error
	namespaces bool // because there are none to be had
}

// Error names what the kernel did not allow.
func (u *Unconfined) Error() string { return "cannot be confined: " + u.Why.Error() }

// Unwrap returns the error of what the kernel did not allow.
func (u *Unconfined) Unwrap() error { return u.Why }

// Command describes the tree that is to be started.
type Command struct {
	Args []string // the first is the name that the process gets
	Env  []string // beside the fixed values that every tree gets
	Dir  string   // the path of a [Dir]; its folder Own is the working directory
	// SoleParent says that this process starts no children except trees, so that any
	// other process left with it as parent is a tree's orphan and is killed, even one
	// that left its session and cleared its environment.
	SoleParent bool
	Confine    Confinement
	// Elsewhere gives the tree another environment than it usually has: what it then does
	// otherwise depends on where it runs.
	Elsewhere bool
}

// DirBase returns the folder in which private directories are made. Their paths must be
// short enough for the name of a unix socket (108 bytes) inside a further directory.
func DirBase() string {
	if base := os.TempDir(); len(base) <= 40 {
		return base
	}
	return "/tmp"
}
