package launcher

import "golang.org/x/sys/unix"

// machine is the processor whose numbers of calls these are.
const machine = unix.AUDIT_ARCH_AARCH64

// otherCalls is beyond all numbers: there is no variant.
const otherCalls = 0xffffffff

var (
	Opening        = []uint32{unix.SYS_OPENAT, unix.SYS_OPENAT2}
	Forking        = []uint32{}
	ChangingThen   = []uint32{unix.SYS_RENAMEAT}
	attributesThen = []uint32{}
	refusedThen    = []uint32{}
)
