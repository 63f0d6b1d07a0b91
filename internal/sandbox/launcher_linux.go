package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// launcherName is the name under which this program starts itself to confine a tree.
const launcherName = "dprelease-sandbox"

// The descriptors of the launcher, beside the standard streams. The executable stays open
// so that a script's interpreter can read it.
const (
	exeFD     = 3
	controlFD = 4
)

// orders is what the launcher is told.
type orders struct {
	Args       []string
	Env        []string
	Dir        string // the private folder
	Own        bool   // run this program again
	Namespaces bool   // the launcher is the first process of its own namespaces
	Read       []string
	Memory     int64
	Watch      bool
	Full       bool // refuse what is less than full

	why string // this process alone: why there are no namespaces
}

// answer is what the launcher says before it becomes the tree's first process.
type answer struct {
	Level Level
	Error string `json:",omitempty"`
}

// A launcher is this very program, started once more under another name. It confines
// itself and then becomes the plugin. Nothing else of the program may run first, and no
// program that starts plugins may forget to look for the name, so this is an init.
func init() {
	if len(os.Args) == 1 && os.Args[0] == launcherName {
		launch()
	}
}

// launch never returns.
func launch() {
	runtime.LockOSThread() // what confines this thread confines what it executes
	unix.CloseOnExec(controlFD)
	var o orders
	if err := receive(&o); err != nil {
		os.Exit(70)
	}
	a, listener, err := o.confine()
	if err == nil && o.Full && !a.Level.Full() {
		err = errors.New("the kernel cannot confine it in full")
	}
	if err != nil {
		a.Error = err.Error()
	}
	if send(a, listener) != nil || err != nil {
		os.Exit(70)
	}
	become(o)
	os.Exit(71)
}

func receive(o *orders) error {
	buf := make([]byte, maxOrders)
	n, err := unix.Read(controlFD, buf)
	if err != nil {
		return err
	}
	return json.Unmarshal(buf[:n], o)
}

func send(a answer, listener int) error {
	b, err := json.Marshal(a)
	if err != nil {
		return err
	}
	var rights []byte
	if listener >= 0 {
		rights = unix.UnixRights(listener)
	}
	return unix.Sendmsg(controlFD, b, rights, nil, 0)
}

// maxOrders bounds what the two ends say to each other, in bytes.
const maxOrders = 256 << 10

// confine takes everything away that the tree has no use for.
func (o *orders) confine() (a answer, listener int, err error) {
	listener = -1
	if o.Own { // by descriptor: the path may lead elsewhere, and is soon gone
		fd, err := unix.Open(selfExe, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err == nil && fd != exeFD {
			err = unix.Dup3(fd, exeFD, unix.O_CLOEXEC)
		}
		if err != nil {
			return a, listener, err
		}
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return a, listener, err
	}
	limits(o.Memory)
	if o.Namespaces {
		if err := o.newRoot(); err != nil {
			return a, listener, fmt.Errorf("the file system: %w", err)
		}
		if err := dropCapabilities(); err != nil {
			return a, listener, fmt.Errorf("the capabilities: %w", err)
		}
		a.Level.Namespaces = true
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return a, listener, err
	}
	if a.Level.Landlock, err = o.landlock(); err != nil {
		a.Level.Missing = append(a.Level.Missing, "landlock: "+err.Error())
	}
	if listener, err = o.seccomp(); err != nil {
		a.Level.Missing = append(a.Level.Missing, "seccomp: "+err.Error())
	}
	a.Level.Seccomp = err == nil
	return a, listener, nil
}

// limits bound what the tree can take. A limit that cannot be set is already lower.
func limits(memory int64) {
	if memory > 0 {
		set(unix.RLIMIT_DATA, uint64(memory))
	}
	set(unix.RLIMIT_FSIZE, maxFile)
	set(unix.RLIMIT_CORE, 1) // as in fork
	set(unix.RLIMIT_NOFILE, 1024)
	set(unix.RLIMIT_MSGQUEUE, 0)
	set(unix.RLIMIT_MEMLOCK, 64<<10)
	// Where memory runs out, the kernel ends the tree before anything else.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
}

// maxFile is the largest file that a tree can write, in bytes.
const maxFile = 64 << 20

func set(resource int, most uint64) { _ = unix.Setrlimit(resource, &unix.Rlimit{Cur: most, Max: most}) }

// dropCapabilities gives up what the namespaces brought, for good: also a process of the
// namespace's root gets nothing back when it executes a program.
func dropCapabilities() error {
	const locked = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<5 // NOROOT, NO_SETUID_FIXUP and their locks; KEEP_CAPS locked off
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, locked, 0, 0, 0); err != nil {
		return err
	}
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) // an older kernel knows fewer
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	var none [2]unix.CapUserData
	return unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0])
}

// become executes the executable in place of the launcher.
func become(o orders) {
	argv, err := syscall.SlicePtrFromStrings(o.Args)
	if err != nil {
		return
	}
	env, err := syscall.SlicePtrFromStrings(o.Env)
	if err != nil {
		return
	}
	path := new(byte) // the empty path: the descriptor itself
	_, _, _ = unix.Syscall6(unix.SYS_EXECVEAT, exeFD, uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(&argv[0])),
		uintptr(unsafe.Pointer(&env[0])), unix.AT_EMPTY_PATH, 0)
}
