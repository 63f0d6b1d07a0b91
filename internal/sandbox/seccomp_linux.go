package sandbox

import (
	"errors"
	"slices"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// refused are the calls that a mechanism has no use for. Each is a way to other
// processes, to the kernel's inside, out of a namespace, or around the limits on memory.
var refused = []uint32{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_KCMP,
	unix.SYS_PIDFD_GETFD, unix.SYS_PIDFD_SEND_SIGNAL,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER,
	unix.SYS_IO_URING_REGISTER, unix.SYS_SECCOMP,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_SYSLOG,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX,
	unix.SYS_CLOCK_ADJTIME, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT,
	unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET, unix.SYS_SHMGET, unix.SYS_MSGGET, unix.SYS_SEMGET, unix.SYS_MQ_OPEN,
}

// changing are the calls, beside those that open, that change the file system.
var changing = []uint32{
	unix.SYS_RENAMEAT2, unix.SYS_UNLINKAT, unix.SYS_MKDIRAT, unix.SYS_SYMLINKAT, unix.SYS_LINKAT, unix.SYS_TRUNCATE, unix.SYS_MKNODAT,
}

// namespaces are the flags of clone that make namespaces.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
	unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWTIME

// Where a filter finds the number of the call, the machine, and the low half of an
// argument.
const (
	atNumber  = 0
	atMachine = 4
)

func atArgument(n uint32) uint32 { return 16 + 8*n }

// filter is the program that the kernel asks about every call.
func filter(watched bool) []bpf.Instruction {
	deny := func(errno uint32) bpf.Instruction { return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | errno} }
	allow, kill := bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}, bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS}
	tell := bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF}
	call := bpf.LoadAbsolute{Off: atNumber, Size: 4}
	out := []bpf.Instruction{
		bpf.LoadAbsolute{Off: atMachine, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: machine, SkipTrue: 1}, kill,
		call,
		bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: otherCalls, SkipFalse: 1}, kill,
	}
	// is runs a few instructions where the call has one of the numbers.
	is := func(numbers []uint32, then ...bpf.Instruction) {
		for _, nr := range numbers {
			out = append(out, bpf.JumpIf{Cond: bpf.JumpEqual, Val: nr, SkipFalse: uint8(len(then))})
			out = append(out, then...)
		}
	}
	argument := func(n uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: atArgument(n), Size: 4} }
	// Glibc and Go do without clone3, whose flags a filter cannot see.
	is([]uint32{unix.SYS_CLONE3}, deny(uint32(unix.ENOSYS)))
	is([]uint32{unix.SYS_CLONE}, argument(0),
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: namespaces, SkipFalse: 1}, deny(uint32(unix.EPERM)), call)
	// Memory that is shared and has no file counts toward no limit.
	is([]uint32{unix.SYS_MMAP}, argument(3),
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.MAP_SHARED, SkipFalse: 2},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.MAP_ANONYMOUS, SkipFalse: 1}, deny(uint32(unix.EPERM)), call)
	if watched {
		is(slices.Concat(opening, changing, changingThen, []uint32{unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_PTRACE,
			unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_CONNECT, unix.SYS_KILL}, forking), tell)
		is([]uint32{unix.SYS_CLONE}, argument(0),
			bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.CLONE_THREAD, SkipTrue: 1}, tell, call)
	}
	socket := deny(uint32(unix.EAFNOSUPPORT))
	if watched {
		socket = tell
	}
	is([]uint32{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR}, argument(0),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_UNIX, SkipTrue: 1}, socket, call)
	is(refused, deny(uint32(unix.EPERM)))
	return append(out, allow)
}

// seccomp has the kernel refuse calls of this thread and of what it executes. Where the
// tree is watched, it returns the descriptor that tells what the tree does, and -1
// otherwise.
func (o *orders) seccomp() (listener int, err error) {
	if machine == 0 {
		return -1, errors.New("not known for this kind of processor")
	}
	raw, err := bpf.Assemble(filter(o.Watch))
	if err != nil {
		return -1, err
	}
	program := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		program[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	flags := uintptr(0)
	if o.Watch {
		flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
	}
	fprog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&fprog)))
	if errno != 0 {
		return -1, errno
	}
	if !o.Watch {
		return -1, nil
	}
	return int(fd), nil
}
