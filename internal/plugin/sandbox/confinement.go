package sandbox

import (
	"errors"
	"fmt"
	"strings"
)

// Mode is the rule for a kernel that cannot confine a tree.
type Mode string

const (
	// Off confines nothing.
	Off Mode = "off"
	// Best confines a tree as well as this kernel allows, and refuses to start a stranger's whose
	// files and network it cannot close.
	Best Mode = "best"
	// Required refuses to start a tree that cannot be confined in full.
	Required Mode = "required"
)

// Confinement limits the files and the memory of a tree. The zero value confines nothing.
type Confinement struct {
	Mode Mode
	// Read are absolute paths of files and folders that the tree may read, beside what its
	// executable needs of the system's programs and libraries.
	Read []string
	// Memory is the number of bytes that each process may hold; 0 stands for half of the machine's.
	Memory int64
	// Watch, where set, is told of every file that the tree opens, every socket that it
	// makes and every process that it starts. It is called by one goroutine.
	Watch func(Seen)
}

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

// least is the level below which a tree does not start.
type least string

const (
	anyLevel    least = ""       // starts as this machine allows
	closedLevel least = "closed" // files and the network must be closed
	fullLevel   least = "full"
)

// leastOf returns what a mode asks for. Best starts nothing of a stranger's that could write files or
// reach the network; the running program itself, and what is of its build, is no stranger.
func leastOf(mode Mode, own bool) least {
	switch {
	case mode == Required:
		return fullLevel
	case own:
		return anyLevel
	}
	return closedLevel
}

// refuse returns an error if the level is less.
func (l least) refuse(reached Level) error {
	switch {
	case l == fullLevel && !reached.Full():
		return errors.New("the kernel cannot confine it in full")
	case l == closedLevel && !reached.Closed():
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
