package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// apart gives a run a way to standard error of its own, and takes the old one away
// from the Go runtime. What that prints as it ends a process (a panic of a goroutine,
// memory that ran out, a fault) holds the panic's value, registers and the arguments
// of functions, and cannot be turned off: GOTRACEBACK can only ask for more. Each of
// them may be a cell (P20), and so may what a library prints. Nor is there a core dump.
func apart() *os.File {
	// As for plugins: the limit 1 stops a file and, unlike 0, a pipe.
	if unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1}) != nil {
		_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	}
	nowhere, err := unix.Open(os.DevNull, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return os.Stderr
	}
	defer unix.Close(nowhere)
	own, err := unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return os.Stderr
	}
	if err := unix.Dup3(nowhere, 2, 0); err != nil {
		unix.Close(own)
		return os.Stderr
	}
	return os.NewFile(uintptr(own), os.Stderr.Name())
}
