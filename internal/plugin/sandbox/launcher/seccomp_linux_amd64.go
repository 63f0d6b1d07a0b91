package launcher

import "golang.org/x/sys/unix"

// machine is the processor whose numbers of calls these are.
const machine = unix.AUDIT_ARCH_X86_64

// otherCalls is the first number of the calls of the x32 variant.
const otherCalls = 0x40000000

// The older calls, which a newer processor does without.
var (
	Opening      = []uint32{unix.SYS_OPEN, unix.SYS_CREAT, unix.SYS_OPENAT, unix.SYS_OPENAT2}
	Forking      = []uint32{unix.SYS_FORK, unix.SYS_VFORK}
	ChangingThen = []uint32{unix.SYS_RENAME, unix.SYS_RENAMEAT, unix.SYS_UNLINK, unix.SYS_MKDIR, unix.SYS_RMDIR, unix.SYS_SYMLINK,
		unix.SYS_LINK, unix.SYS_MKNOD}
	attributesThen = []uint32{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}
	refusedThen    = []uint32{unix.SYS_INOTIFY_INIT, unix.SYS_USELIB, unix.SYS_CREATE_MODULE, unix.SYS_GET_KERNEL_SYMS,
		unix.SYS_QUERY_MODULE, unix.SYS_IOPERM, unix.SYS_IOPL, unix.SYS__SYSCTL}
)
