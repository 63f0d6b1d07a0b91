package sandbox

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/dprelease/dprelease/internal/plugin/sandbox/launcher"
)

// notice is a call that waits for an answer (struct seccomp_notif).
type notice struct {
	id      uint64
	pid     uint32
	flags   uint32
	nr      int32
	arch    uint32
	address uint64
	args    [6]uint64
}

// reply lets a call go on or refuses it (struct seccomp_notif_resp).
type reply struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// watch counts the processes that a tree starts, lets it start no more than maxProcesses, and tells
// what it does, until its last process has ended. It decides nothing else that
// matters: files are held to their rules by the kernel, and a tree that changes a name
// while it is read deceives the watcher and gains nothing. Tell may be nil.
func watch(listener int, tell func(Seen)) {
	defer unix.Close(listener)
	first, forks := true, 0
	for {
		ready := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(ready, -1); err != nil && err != unix.EINTR {
			return
		}
		if ready[0].Revents&unix.POLLIN == 0 {
			if ready[0].Revents != 0 { // no process is left
				return
			}
			continue
		}
		var n notice
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV,
			uintptr(unsafe.Pointer(&n))); errno != 0 {
			continue // it has just ended
		}
		seen, errno := n.look()
		if n.forks() {
			if forks++; forks > launcher.MaxProcesses {
				errno = unix.EAGAIN
			}
		}
		if tell != nil && !first { // the first is the launcher becoming the plugin
			tell(seen)
		}
		first = false
		r := reply{id: n.id, errno: -int32(errno)}
		if errno == 0 {
			r.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
		}
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&r)))
	}
}

// forks reports whether a call starts a process.
func (n *notice) forks() bool {
	return n.nr == unix.SYS_CLONE || slices.Contains(launcher.Forking, uint32(n.nr))
}

// look describes a call, and returns the error with which it is refused; 0 lets it go on.
func (n *notice) look() (Seen, unix.Errno) {
	nr := uint32(n.nr)
	switch {
	case slices.Contains(launcher.Opening, nr):
		return n.open(nr), 0
	case nr == unix.SYS_SOCKET || nr == unix.SYS_SOCKETPAIR:
		return Seen{Act: OpenSocket, Path: family(uint32(n.args[0]))}, unix.EAFNOSUPPORT
	case nr == unix.SYS_CONNECT:
		return Seen{Act: OpenSocket, Path: n.peer(n.args[1], int(min(n.args[2], 110)))}, 0
	case nr == unix.SYS_KILL:
		return Seen{Act: TouchProcess}, 0
	case nr == unix.SYS_PTRACE || nr == unix.SYS_PROCESS_VM_READV || nr == unix.SYS_PROCESS_VM_WRITEV:
		return Seen{Act: TouchProcess}, unix.EPERM
	case nr == unix.SYS_EXECVE:
		return Seen{Act: StartProcess, Path: n.path(at(unix.AT_FDCWD), n.args[0])}, 0
	case nr == unix.SYS_EXECVEAT:
		return Seen{Act: StartProcess, Path: n.path(n.args[0], n.args[1])}, 0
	case n.forks():
		return Seen{Act: StartProcess}, 0
	case nr == unix.SYS_SYMLINKAT:
		return Seen{Act: OpenFile, Path: n.path(n.args[1], n.args[2]), Write: true}, 0
	case slices.Contains(launcher.Changing, nr) && nr != unix.SYS_TRUNCATE,
		len(launcher.ChangingThen) == 1 && nr == launcher.ChangingThen[0]:
		return Seen{Act: OpenFile, Path: n.path(n.args[0], n.args[1]), Write: true}, 0
	}
	return Seen{Act: OpenFile, Path: n.path(at(unix.AT_FDCWD), n.args[0]), Write: true}, 0
}

// peer returns where a connection goes: a path, or @name for a socket that has none.
func (n *notice) peer(at uint64, size int) string {
	raw := n.read(at, size)
	switch {
	case len(raw) < 3 || binary.NativeEndian.Uint16(raw) != unix.AF_UNIX:
		return "an unknown address"
	case raw[2] == 0:
		return "@" + string(raw[3:])
	}
	name, _, _ := bytes.Cut(raw[2:], []byte{0})
	return string(name)
}

// at is a folder's descriptor as an argument.
func at(fd int) uint64 { return uint64(uint32(int32(fd))) }

// open describes the file that is opened.
func (n *notice) open(nr uint32) Seen {
	folder, name, flags := n.args[0], n.args[1], n.args[2]
	switch nr {
	case unix.SYS_OPENAT:
	case unix.SYS_OPENAT2: // the third argument points to the flags
		flags = binary.NativeEndian.Uint64(append(n.read(flags, 8), make([]byte, 8)...))
	default: // open and creat, which name no folder
		folder, name, flags = at(unix.AT_FDCWD), n.args[0], n.args[1]
		if nr != launcher.Opening[0] {
			flags = unix.O_CREAT
		}
	}
	const changes = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC
	return Seen{Act: OpenFile, Path: n.path(folder, name), Write: flags&changes != 0}
}

// path is the name at an address, made absolute.
func (n *notice) path(folder, address uint64) string {
	raw := n.read(address, unix.PathMax)
	name, _, _ := bytes.Cut(raw, []byte{0})
	path := string(name)
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	base := "/proc/" + strconv.Itoa(int(n.pid))
	if fd := int32(folder); fd == unix.AT_FDCWD {
		base += "/cwd"
	} else {
		base += "/fd/" + strconv.Itoa(int(fd))
	}
	if at, err := os.Readlink(base); err == nil {
		return filepath.Join(at, path)
	}
	return path
}

// read reads memory of the process that waits, as much of it as there is.
func (n *notice) read(address uint64, size int) []byte {
	out := make([]byte, 0, size)
	for len(out) < size { // page by page: the next one may not be there
		part := make([]byte, min(size-len(out), 4096-int((address+uint64(len(out)))%4096)))
		local := []unix.Iovec{{Base: &part[0], Len: uint64(len(part))}}
		remote := []unix.RemoteIovec{{Base: uintptr(address) + uintptr(len(out)), Len: len(part)}}
		got, err := unix.ProcessVMReadv(int(n.pid), local, remote, 0)
		if err != nil || got <= 0 {
			return out
		}
		out = append(out, part[:got]...)
		if bytes.IndexByte(part[:got], 0) >= 0 && size == unix.PathMax {
			return out
		}
	}
	return out
}

// families are the kinds of sockets that have a name.
var families = map[uint32]string{
	unix.AF_INET: "IPv4", unix.AF_INET6: "IPv6", unix.AF_NETLINK: "netlink", unix.AF_PACKET: "packet", unix.AF_VSOCK: "vsock",
}

// family names a kind of socket.
func family(number uint32) string {
	return cmp.Or(families[number], "address family "+strconv.Itoa(int(number)))
}
