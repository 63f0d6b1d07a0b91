package launcher

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Level lists the parts of the kernel that confine a tree.
type Level struct {
	// Namespaces: of the file system the tree sees only the programs and libraries that its
	// executable needs, its own folder and what it was granted, and it can change none of
	// them but its folder; it sees no network and no process but its own, and all of its
	// processes end with the first.
	Namespaces bool `json:"namespaces"`
	// Landlock is the version of the kernel's rules that files are held to; 0: none.
	Landlock int `json:"landlock"`
	// Seccomp: the kernel refuses the calls that a mechanism has no use for, among them
	// every socket of a network.
	Seccomp bool `json:"seccomp"`
	// Missing says why one of these is not there.
	Missing []string `json:"missing,omitempty"`
}

// Full reports whether everything that Required asks for is there. The rules on files are
// a second wall: where the paths are not there, nothing depends on it.
func (l Level) Full() bool { return l.Namespaces && l.Seccomp }

// Closed reports whether files and the network are closed, by one wall at least.
func (l Level) Closed() bool {
	return l.Namespaces || l.Landlock > 0 && l.Seccomp
}

// Least is the level below which a tree does not start.
type Least string

const (
	AnyLevel    Least = ""       // starts as this machine allows
	ClosedLevel Least = "closed" // files and the network must be closed
	FullLevel   Least = "full"
)

// refuse returns an error if the level is less.
func (l Least) refuse(reached Level) error {
	switch {
	case l == FullLevel && !reached.Full():
		return errors.New("the kernel cannot confine it in full")
	case l == ClosedLevel && !reached.Closed():
		return errors.New("this machine has neither namespaces nor Landlock with seccomp, so it could write files and use the network")
	}
	return nil
}

// String says the level in a few words: "full", "partial" or "none", and what it is made of.
func (l Level) String() string {
	var parts []string
	if l.Namespaces {
		parts = append(parts, "namespaces")
	}
	if l.Landlock > 0 {
		parts = append(parts, fmt.Sprintf("landlock %d", l.Landlock))
	}
	if l.Seccomp {
		parts = append(parts, "seccomp")
	}
	name := "partial"
	switch {
	case len(parts) == 0:
		name = "none"
	case l.Full():
		name = "full"
	}
	if len(parts) > 0 {
		name += " (" + strings.Join(parts, ", ") + ")"
	}
	if len(l.Missing) > 0 {
		name += "; missing: " + strings.Join(l.Missing, "; ")
	}
	return name
}

// OwnFolder returns the folder of a private directory that belongs to the tree.
func OwnFolder(dir string) string { return filepath.Join(dir, "own") }
