package launcher

import (
	"errors"
	"slices"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// refused are the calls that a mechanism has no use for. Each is a way to other processes, to the
// kernel's inside, out of a namespace, around the limits, or to what the kernel keeps for
// everybody: the locks and watches of a file, what of it is in memory, and objects without a name.
var refused = []uint32{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_KCMP,
	unix.SYS_PROCESS_MRELEASE, unix.SYS_PIDFD_GETFD, unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR,
	unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_STATMOUNT, unix.SYS_LISTMOUNT,
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_LISTNS,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER,
	unix.SYS_IO_URING_REGISTER, unix.SYS_IO_SETUP, unix.SYS_SECCOMP,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SYSLOG,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX,
	unix.SYS_CLOCK_ADJTIME, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_VHANGUP, unix.SYS_NFSSERVCTL,
	unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK,
	unix.SYS_INOTIFY_INIT1, unix.SYS_INOTIFY_ADD_WATCH, unix.SYS_INOTIFY_RM_WATCH,
	unix.SYS_MINCORE, unix.SYS_CACHESTAT, unix.SYS_FADVISE64, unix.SYS_READAHEAD, unix.SYS_REMAP_FILE_PAGES, unix.SYS_SYNC, unix.SYS_SYNCFS,
	unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET,
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SHMDT, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
	unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK, unix.SYS_MQ_TIMEDSEND, unix.SYS_MQ_TIMEDRECEIVE, unix.SYS_MQ_NOTIFY, unix.SYS_MQ_GETSETATTR,
	unix.SYS_FUTEX_WAKE, unix.SYS_FUTEX_WAIT, unix.SYS_FUTEX_REQUEUE, unix.SYS_FUTEX_WAITV,
}

// attributes are the calls that change what a file is said to be. Where the tree has a file system
// of its own it can change nothing but what it made; elsewhere no rule on paths covers them.
var attributes = []uint32{
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
	unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR,
}

// harmlessControls are the requests that programs make of descriptors that they hold. All else is a lock, a
// lease, a watch or a signal on a file that others have too.
var harmlessControls = []uint32{
	unix.F_DUPFD, unix.F_DUPFD_CLOEXEC, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL, unix.F_SETFL, unix.F_GETPIPE_SZ, unix.F_GET_SEALS,
	unix.F_DUPFD_QUERY,
}

// harmlessRequests are the requests that programs make of terminals, pipes and sockets that they hold. All else is
// of a device, or changes what a file is said to be.
var harmlessRequests = []uint32{
	unix.TCGETS, unix.TCGETS2, unix.TIOCGWINSZ, unix.TIOCINQ, unix.TIOCOUTQ,
	0x5421, 0x5450, 0x5451, // FIONBIO, FIONCLEX, FIOCLEX
}

// Changing are the calls, beside those that open, that change the file system.
var Changing = []uint32{
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

// A program is a filter that is being written. Its first instruction after each step expects the
// number of the call.
type program []bpf.Instruction

// What a filter answers, and what loads the number of the call.
var (
	allow       = bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	kill        = bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS}
	tell        = bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF}
	loadsNumber = bpf.LoadAbsolute{Off: atNumber, Size: 4}
)

func deny(errno unix.Errno) bpf.Instruction {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

// is runs a few instructions where the call has one of the numbers.
func (p *program) is(numbers []uint32, then ...bpf.Instruction) {
	for _, nr := range numbers {
		*p = append(*p, bpf.JumpIf{Cond: bpf.JumpEqual, Val: nr, SkipFalse: uint8(len(then))})
		*p = append(*p, then...)
	}
}

// argument answers a call by the low half of an argument, where the condition holds.
func (p *program) argument(nr, n uint32, cond bpf.JumpTest, value uint32, answer bpf.Instruction) {
	p.is([]uint32{nr}, bpf.LoadAbsolute{Off: atArgument(n), Size: 4}, bpf.JumpIf{Cond: cond, Val: value, SkipFalse: 1}, answer, loadsNumber)
}

// among goes on where an argument of a call is one of the values, and answers otherwise.
func (p *program) among(nr, n uint32, values []uint32, otherwise bpf.Instruction) {
	then := []bpf.Instruction{bpf.LoadAbsolute{Off: atArgument(n), Size: 4}}
	for i, v := range values {
		then = append(then, bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipTrue: uint8(len(values) - i)})
	}
	p.is([]uint32{nr}, append(then, otherwise, loadsNumber)...)
}

// filter is the program that the kernel asks about every call. Forks is its answer to a call that
// starts a process.
func (o *Orders) filter(forks bpf.Instruction) []bpf.Instruction {
	p := program{
		bpf.LoadAbsolute{Off: atMachine, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: machine, SkipTrue: 1}, kill,
		loadsNumber,
		bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: otherCalls, SkipFalse: 1}, kill,
		// Nobody has judged the calls of a later kernel.
		bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: LastCall, SkipFalse: 1}, deny(unix.ENOSYS),
	}
	// Glibc and Go do without clone3, whose flags a filter cannot see.
	p.is([]uint32{unix.SYS_CLONE3}, deny(unix.ENOSYS))
	p.argument(unix.SYS_CLONE, 0, bpf.JumpBitsSet, namespaces, deny(unix.EPERM))
	// Memory that is shared and has no file counts toward no limit.
	p.is([]uint32{unix.SYS_MMAP}, bpf.LoadAbsolute{Off: atArgument(3), Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.MAP_SHARED, SkipFalse: 2},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.MAP_ANONYMOUS, SkipFalse: 1}, deny(unix.EPERM), loadsNumber)
	if o.Watch {
		p.is(slices.Concat(Opening, Changing, ChangingThen, []uint32{unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_PTRACE,
			unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_CONNECT, unix.SYS_KILL}), tell)
	}
	p.is(Forking, forks)
	p.is([]uint32{unix.SYS_CLONE}, bpf.LoadAbsolute{Off: atArgument(0), Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.CLONE_THREAD, SkipTrue: 1}, forks, loadsNumber)
	socket := deny(unix.EAFNOSUPPORT)
	if o.Watch {
		socket = tell
	}
	p.among(unix.SYS_SOCKET, 0, []uint32{unix.AF_UNIX}, socket)
	p.among(unix.SYS_SOCKETPAIR, 0, []uint32{unix.AF_UNIX}, socket)
	p.is([]uint32{unix.SYS_FLOCK}, deny(unix.ENOLCK))
	p.among(unix.SYS_FCNTL, 1, harmlessControls, deny(unix.ENOLCK))
	p.among(unix.SYS_IOCTL, 1, harmlessRequests, deny(unix.ENOTTY))
	// A flag can ask whether a page is in memory.
	p.among(unix.SYS_PREADV2, 5, []uint32{0}, deny(unix.EOPNOTSUPP))
	p.among(unix.SYS_PWRITEV2, 5, []uint32{0}, deny(unix.EOPNOTSUPP))
	for _, advice := range []uint32{unix.MADV_MERGEABLE, unix.MADV_COLD, unix.MADV_PAGEOUT} {
		p.argument(unix.SYS_MADVISE, 2, bpf.JumpEqual, advice, deny(unix.EINVAL))
	}
	// To wake who waits at a page of a file reaches whoever has the file. To wait is how threads are
	// joined.
	p.is([]uint32{unix.SYS_FUTEX}, bpf.LoadAbsolute{Off: atArgument(1), Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: futexPrivate, SkipTrue: 4},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: futexCommand},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: futexWait, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: futexWaitBitset, SkipTrue: 1}, deny(unix.EPERM), loadsNumber)
	// The tree ends with the host, also when the host is killed; its memory is nobody's twin.
	for _, option := range []uint32{unix.PR_SET_PDEATHSIG, unix.PR_SET_MEMORY_MERGE} {
		p.argument(unix.SYS_PRCTL, 0, bpf.JumpEqual, option, deny(unix.EPERM))
	}
	p.among(unix.SYS_PRLIMIT64, 0, []uint32{0}, deny(unix.EPERM)) // its own limits, not those of others
	if !o.Namespaces || o.Own {
		p.is(slices.Concat(attributes, attributesThen), deny(unix.EPERM))
	}
	p.is(slices.Concat(refused, refusedThen), deny(unix.EPERM))
	return append(p, allow)
}

// The parts of a futex's operation.
const (
	futexPrivate    = 128
	futexCommand    = 127
	futexWait       = 0
	futexWaitBitset = 9
)

// LastCall is the last call that this file judges.
const LastCall = unix.SYS_RSEQ_SLICE_YIELD

// seccomp has the kernel refuse calls of this thread and of what it executes. It returns the
// descriptor that tells of the processes that the tree starts, and of all that it does where it is
// watched. A kernel may give none, as where this process is watched itself; then the tree
// can start no process, and the descriptor is -1.
func (o *Orders) seccomp() (listener int, err error) {
	if machine == 0 {
		return -1, errors.New("not known for this kind of processor")
	}
	const listening = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
	listener, err = install(o.filter(tell), listening|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	if err == unix.EINVAL { // a kernel before 5.19
		listener, err = install(o.filter(tell), listening)
	}
	if err != nil && !o.Watch {
		_, err = install(o.filter(deny(unix.EAGAIN)), 0)
		listener = -1
	}
	return listener, err
}

func install(filter []bpf.Instruction, flags uintptr) (fd int, err error) {
	raw, err := bpf.Assemble(filter)
	if err != nil {
		return -1, err
	}
	program := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		program[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	fprog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	got, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&fprog)))
	if errno != 0 {
		return -1, errno
	}
	return int(got), nil
}
