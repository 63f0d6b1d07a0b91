package launcher

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Name is the name under which a program starts to confine a tree.
const Name = "dprelease-sandbox"

// The descriptors of the launcher, beside the standard streams. The executable stays open
// so that a script's interpreter can read it.
const (
	exeFD     = 3
	controlFD = 4
)

// Orders is the message that tells the launcher its task.
type Orders struct {
	Args       []string
	Env        []string
	Dir        string   // the private folder, which holds the tree's own
	System     []string // what the executable needs of the system
	Own        bool     // this program, or one of the same build
	Namespaces bool     // the launcher is the first process of its own namespaces
	Read       []string
	Memory     int64
	Watch      bool
	Least      Least // refuse what is less
}

// Answer is the message that the launcher sends before it becomes the tree's first process. Descriptors come
// with it in the order of the fields.
type Answer struct {
	Level    Level
	Error    string `json:",omitempty"`
	Folder   bool   // the tree's own folder, which no name leads to from outside
	Listener bool   // what tells of the tree's calls
}

// A launcher is the program that is to become the plugin, if that is of this build, else this very program, started under
// another name. Nothing else of the program may run first, and no
// program that starts plugins may forget to look for the name, so this is an init.
func init() {
	if len(os.Args) == 1 && os.Args[0] == Name {
		launch()
	}
}

// launch never returns.
func launch() {
	runtime.LockOSThread() // what confines this thread confines what it executes
	unix.CloseOnExec(controlFD)
	var o Orders
	if err := receive(&o); err != nil {
		os.Exit(70)
	}
	a, fds, err := o.confine()
	if err == nil {
		err = o.Least.refuse(a.Level)
	}
	if err != nil {
		a.Error = err.Error()
	}
	if send(a, fds) != nil || err != nil {
		os.Exit(70)
	}
	become(o)
	os.Exit(71)
}

func receive(o *Orders) error {
	buf := make([]byte, MaxOrders)
	n, err := unix.Read(controlFD, buf)
	if err != nil {
		return err
	}
	return json.Unmarshal(buf[:n], o)
}

func send(a Answer, fds []int) error {
	b, err := json.Marshal(a)
	if err != nil {
		return err
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	return unix.Sendmsg(controlFD, b, rights, nil, 0)
}

// MaxOrders bounds what the two ends say to each other, in bytes.
const MaxOrders = 256 << 10

// confine takes everything away that the tree has no use for. It returns the descriptors that go
// with the answer.
func (o *Orders) confine() (a Answer, fds []int, err error) {
	if o.Own { // it is no script
		unix.CloseOnExec(exeFD)
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return a, nil, err
	}
	o.limits()
	if o.Namespaces {
		folder, err := o.newRoot()
		if err != nil {
			return a, nil, fmt.Errorf("the file system: %w", err)
		}
		fds, a.Folder = append(fds, folder), true
	}
	if err := dropCapabilities(); err != nil && o.Namespaces {
		return a, nil, fmt.Errorf("the capabilities: %w", err)
	}
	a.Level.Namespaces = o.Namespaces
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return a, nil, err
	}
	if a.Level.Landlock, err = o.landlock(); err != nil {
		a.Level.Missing = append(a.Level.Missing, "landlock: "+err.Error())
	}
	listener, err := o.seccomp()
	if err != nil {
		a.Level.Missing = append(a.Level.Missing, "seccomp: "+err.Error())
	}
	a.Level.Seccomp = err == nil
	if listener >= 0 {
		fds, a.Listener = append(fds, listener), true
	}
	return a, fds, nil
}

// limits bound what the tree can take. A limit that cannot be set is already lower.
func (o *Orders) limits() {
	if o.Memory > 0 {
		set(unix.RLIMIT_DATA, uint64(o.Memory))
	}
	set(unix.RLIMIT_FSIZE, MaxFile)
	if o.Namespaces { // elsewhere the kernel counts what the user runs beside it
		set(unix.RLIMIT_NPROC, maxThreads)
	}
	set(unix.RLIMIT_CORE, 1) // as in fork
	set(unix.RLIMIT_NOFILE, 1024)
	set(unix.RLIMIT_MSGQUEUE, 0)
	set(unix.RLIMIT_MEMLOCK, 64<<10)
	// Where memory runs out, the kernel ends the tree before anything else.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
}

// What a tree can take at most.
const (
	MaxFile      = 64 << 20 // bytes of a file that it writes
	maxFiles     = 1 << 30  // bytes of all its files, which are in memory
	maxInodes    = 16 << 10 // its files and folders
	MaxProcesses = 64       // processes that it starts
	maxThreads   = 4096     // its threads at one time
)

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
func become(o Orders) {
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
