package sandbox

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Mode says what happens where the kernel cannot confine a tree.
type Mode string

const (
	// Off confines nothing.
	Off Mode = "off"
	// Best confines a tree as well as this kernel allows.
	Best Mode = "best"
	// Required refuses to start a tree that cannot be confined in full.
	Required Mode = "required"
)

// Confinement says what a tree may do and take. The zero value confines nothing.
type Confinement struct {
	Mode Mode
	// Read are absolute paths of files and folders that the tree may read beside the
	// system's own programs and libraries.
	Read []string
	// Memory is how many bytes each process may hold; 0 stands for half of the machine's.
	Memory int64
	// Watch, where set, is told of every file that the tree opens, every socket that it
	// makes and every process that it starts. It is called by one goroutine.
	Watch func(Seen)
}

// Level is what confines a tree.
type Level struct {
	// Namespaces: of the file system the tree sees only the system's programs and
	// libraries, its own folder and what it was granted; it sees no network and no
	// process but its own, and all of its processes end with the first.
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

// Seen is one thing that a tree did or tried.
type Seen struct {
	Act  Act
	Path string // of a file or a program, as the tree named it; of a socket, its path or its family
	// Write says that a file was to be changed or made.
	Write bool
}

// Act is a kind of thing that a tree can do.
type Act string

const (
	// OpenFile is a file that is opened, made, renamed or removed.
	OpenFile Act = "file"
	// OpenSocket is a socket that is no unix socket, or a connection to one by its path.
	OpenSocket Act = "network"
	// StartProcess is a new process or program.
	StartProcess Act = "process"
	// TouchProcess is a signal to a process, or an attempt at the memory of another one.
	TouchProcess Act = "trace"
)

// system is what every tree may read: programs, libraries, and what says where they are.
var system = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store",
	"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime",
	"/etc/mime.types", "/etc/nsswitch.conf", "/etc/ssl/openssl.cnf",
}

// System reports whether a path lies in what every tree may read.
func System(path string) bool {
	for _, s := range system {
		if within(path, s) {
			return true
		}
	}
	return false
}

func within(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}
