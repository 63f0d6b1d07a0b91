package sandbox

import "github.com/dprelease/dprelease/internal/plugin/sandbox/launcher"

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
type Level = launcher.Level

// leastOf returns what a mode asks for. Best starts nothing of a stranger's that could write files or
// reach the network; the running program itself, and what is of its build, is no stranger.
func leastOf(mode Mode, own bool) launcher.Least {
	switch {
	case mode == Required:
		return launcher.FullLevel
	case own:
		return launcher.AnyLevel
	}
	return launcher.ClosedLevel
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
