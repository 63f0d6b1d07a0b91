//go:build linux

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/dprelease/dprelease/internal/plugin/sandbox/launcher"
)

// Every call of the kernel is in one of these lists. A new one belongs into one before it can be
// used: TestEveryCallJudged.
const (
	// refusedCalls must fail whatever their arguments are.
	refusedCalls = `ptrace process_vm_readv process_vm_writev process_madvise kcmp process_mrelease pidfd_getfd pidfd_send_signal
migrate_pages move_pages mount umount2 pivot_root chroot move_mount open_tree open_tree_attr fsopen fsconfig fsmount fspick mount_setattr
statmount listmount unshare setns listns bpf perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register io_setup seccomp
add_key request_key keyctl kexec_load kexec_file_load init_module finit_module delete_module create_module get_kernel_syms query_module
reboot swapon swapoff acct quotactl quotactl_fd syslog sethostname setdomainname settimeofday clock_settime adjtimex clock_adjtime
lookup_dcookie vhangup nfsservctl uselib ioperm iopl _sysctl name_to_handle_at open_by_handle_at fanotify_init fanotify_mark
inotify_init inotify_init1 inotify_add_watch inotify_rm_watch mincore cachestat fadvise64 readahead remap_file_pages sync syncfs
memfd_create memfd_secret shmget shmat shmctl shmdt msgget msgsnd msgrcv msgctl semget semop semtimedop semctl
mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr futex_wake futex_wait futex_requeue futex_waitv flock clone3`
	// confinedCalls name an inode or lock one. TestFilesUntouched tries each on files that the tree did not make.
	confinedCalls = `open openat openat2 creat truncate rename renameat renameat2 link linkat symlink symlinkat mkdir mkdirat rmdir unlink unlinkat
mknod mknodat bind chmod fchmod fchmodat fchmodat2 chown lchown fchown fchownat utime utimes futimesat utimensat
setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat file_setattr fcntl ioctl`
	// readingCalls name an inode and change nothing, of files that the tree can see.
	readingCalls = `stat lstat fstat newfstatat statx access faccessat faccessat2 readlink readlinkat chdir fchdir getdents getdents64 statfs fstatfs ustat
getxattr lgetxattr fgetxattr getxattrat listxattr llistxattr flistxattr listxattrat file_getattr execve execveat connect sysfs`
	// judgedCalls are refused with some arguments: TestArguments.
	judgedCalls = `clone fork vfork mmap socket socketpair preadv2 pwritev2 madvise futex prctl prlimit64`
	// descriptorCalls work on what the tree has opened. To change a file it must have been opened for that.
	descriptorCalls = `read write pread64 pwrite64 readv writev preadv pwritev lseek close close_range dup dup2 dup3 pipe pipe2 poll ppoll select pselect6
sendfile splice tee vmsplice copy_file_range fsync fdatasync sync_file_range ftruncate fallocate msync
epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 epoll_ctl_old epoll_wait_old eventfd eventfd2 signalfd signalfd4
timerfd_create timerfd_settime timerfd_gettime pidfd_open accept accept4 listen sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg
shutdown getsockname getpeername setsockopt getsockopt io_destroy io_getevents io_submit io_cancel io_pgetevents`
	// ownCalls are of the tree's memory, threads, clocks and processes, or of nothing any more.
	ownCalls = `mprotect munmap brk mremap mlock mlock2 munlock mlockall munlockall mbind set_mempolicy get_mempolicy set_mempolicy_home_node
pkey_mprotect pkey_alloc pkey_free mseal map_shadow_stack rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigqueueinfo
rt_tgsigqueueinfo rt_sigsuspend sigaltstack kill tkill tgkill pause alarm nanosleep clock_nanosleep getitimer setitimer timer_create timer_settime
timer_gettime timer_getoverrun timer_delete clock_gettime clock_getres gettimeofday time times getpid getppid gettid getuid geteuid getgid getegid
getgroups setgroups setuid setgid setreuid setregid setresuid getresuid setresgid getresgid setfsuid setfsgid getpgid setpgid getpgrp getsid setsid
capget capset personality getcwd umask uname sysinfo getrusage getrlimit setrlimit getpriority setpriority ioprio_set ioprio_get
sched_yield sched_setparam sched_getparam sched_setscheduler sched_getscheduler sched_get_priority_max sched_get_priority_min
sched_rr_get_interval sched_setaffinity sched_getaffinity sched_setattr sched_getattr exit exit_group wait4 waitid arch_prctl modify_ldt
set_thread_area get_thread_area set_tid_address set_robust_list get_robust_list restart_syscall rseq rseq_slice_yield membarrier getcpu getrandom
landlock_create_ruleset landlock_add_rule landlock_restrict_self lsm_get_self_attr lsm_set_self_attr lsm_list_modules
uprobe uretprobe getpmsg putpmsg afs_syscall tuxcall security vserver`
)

// numbers are the calls of the kernel, as golang.org/x/sys lists them.
func numbers(t *testing.T) map[string]uintptr {
	t.Helper()
	out := map[string]uintptr{}
	if given := os.Getenv("CALLS"); given != "" { // the other user cannot look
		if err := json.Unmarshal([]byte(given), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "unix", "zsysnum_linux_amd64.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`SYS_(\w+)\s*= (\d+)`).FindAllStringSubmatch(string(text), -1) {
		var n uintptr
		_, _ = fmt.Sscan(m[2], &n)
		out[strings.ToLower(m[1])] = n
	}
	return out
}

// TestEveryCallJudged: each call of the kernel is in exactly one list, and later ones are refused.
func TestEveryCallJudged(t *testing.T) {
	all := numbers(t)
	if len(all) < 380 {
		t.Fatalf("only %d calls", len(all))
	}
	times, last := map[string]int{}, uintptr(0)
	for _, list := range []string{refusedCalls, confinedCalls, readingCalls, judgedCalls, descriptorCalls, ownCalls} {
		for _, name := range strings.Fields(list) {
			times[name]++
			if _, ok := all[name]; !ok {
				t.Errorf("%s is no call", name)
			}
		}
	}
	for name, nr := range all {
		if times[name] != 1 {
			t.Errorf("%s is in %d lists", name, times[name])
		}
		last = max(last, nr)
	}
	if last != launcher.LastCall {
		t.Errorf("the last call is %d, the filter knows %d", last, launcher.LastCall)
	}
}

// TestCallsRefused: with namespaces and without, each of the refused calls fails, and so does every
// call that no kernel has yet.
func TestCallsRefused(t *testing.T) {
	all := numbers(t)
	names := strings.Fields(refusedCalls)
	var numbers []uintptr
	for _, name := range names {
		numbers = append(numbers, all[name])
	}
	numbers = append(numbers, launcher.LastCall+1, launcher.LastCall+100)
	text, err := json.Marshal(numbers)
	if err != nil {
		t.Fatal(err)
	}
	everywhere(t, func(t *testing.T, digest string, c Confinement) {
		var got []int
		ask(t, digest, c, &got, "call", string(text))
		for i, errno := range got {
			want, name := unix.EPERM, "a later call"
			if i < len(names) {
				name = names[i]
			}
			switch {
			case name == "flock":
				want = unix.ENOLCK
			case name == "clone3" || i >= len(names):
				want = unix.ENOSYS
			}
			if unix.Errno(errno) != want {
				t.Errorf("%s: %v, want %v", name, unix.Errno(errno), want)
			}
		}
	})
}

// TestArguments: calls that a mechanism needs are refused with the arguments that lead out, and only
// with those.
func TestArguments(t *testing.T) {
	all := numbers(t)
	tries := []struct {
		name string
		args []uintptr
		want unix.Errno
	}{
		{"clone", []uintptr{unix.CLONE_NEWUSER}, unix.EPERM}, {"clone", []uintptr{unix.CLONE_NEWNET | unix.CLONE_THREAD}, unix.EPERM},
		{"mmap", []uintptr{0, 4096, unix.PROT_READ, unix.MAP_SHARED | unix.MAP_ANON, ^uintptr(0)}, unix.EPERM},
		{"mmap", []uintptr{0, 4096, unix.PROT_READ, unix.MAP_PRIVATE | unix.MAP_ANON, ^uintptr(0)}, 0},
		{"socket", []uintptr{unix.AF_INET, unix.SOCK_STREAM}, unix.EAFNOSUPPORT}, {"socket", []uintptr{unix.AF_UNIX, unix.SOCK_STREAM}, 0},
		{"socketpair", []uintptr{unix.AF_TIPC, unix.SOCK_STREAM}, unix.EAFNOSUPPORT},
		{"preadv2", []uintptr{0, 0, 0, 0, 0, unix.RWF_NOWAIT}, unix.EOPNOTSUPP}, {"pwritev2", []uintptr{1, 0, 0, 0, 0, unix.RWF_NOWAIT}, unix.EOPNOTSUPP},
		{"madvise", []uintptr{0, 0, unix.MADV_PAGEOUT}, unix.EINVAL}, {"madvise", []uintptr{0, 0, unix.MADV_MERGEABLE}, unix.EINVAL}, {"madvise", []uintptr{0, 0, unix.MADV_DONTNEED}, 0},
		{"futex", []uintptr{0, 1, 1}, unix.EPERM}, {"futex", []uintptr{0, 1 | 128, 1}, 0}, {"futex", []uintptr{0, 0, 1}, unix.EFAULT},
		{"prctl", []uintptr{unix.PR_SET_PDEATHSIG, 0}, unix.EPERM}, {"prctl", []uintptr{unix.PR_SET_MEMORY_MERGE, 1}, unix.EPERM}, {"prctl", []uintptr{unix.PR_GET_DUMPABLE}, 0},
		{"prlimit64", []uintptr{uintptr(os.Getpid()), unix.RLIMIT_NOFILE}, unix.EPERM}, {"prlimit64", []uintptr{0, unix.RLIMIT_NOFILE}, 0},
	}
	asked := [][]uintptr{}
	for _, try := range tries {
		asked = append(asked, append([]uintptr{all[try.name]}, try.args...))
	}
	everywhere(t, func(t *testing.T, digest string, c Confinement) {
		var got []int
		ask(t, digest, c, &got, "arguments", text(t, asked))
		for i, errno := range got {
			if unix.Errno(errno) != tries[i].want {
				t.Errorf("%s %d: %v, want %v", tries[i].name, tries[i].args, unix.Errno(errno), tries[i].want)
			}
		}
	})
}

// everywhere runs a test in both confinements and, as root, as another user too.
func everywhere(t *testing.T, test func(t *testing.T, digest string, c Confinement)) {
	t.Helper()
	if os.Getuid() == 0 {
		t.Run("user", func(t *testing.T) {
			self := exec.Command(selfExe, "-test.run=^"+strings.Split(t.Name(), "/")[0]+"$", "-test.count=1")
			self.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			self.Env = append(os.Environ(), "CALLS="+text(t, numbers(t)))
			if out, err := self.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	t.Run("namespaces", func(t *testing.T) { test(t, digestOfSelf(), Confinement{Mode: Required}) })
	t.Run("own", func(t *testing.T) { test(t, "", Confinement{Mode: Required}) })
	t.Run("without", func(t *testing.T) {
		why := "namespaces: for this test"
		withoutNamespaces.Store(&why)
		t.Cleanup(func() { withoutNamespaces.Store(nil) })
		test(t, digestOfSelf(), Confinement{Mode: Best})
	})
}

// ask runs this binary in one of its modes and reads what it prints.
func ask(t *testing.T, digest string, c Confinement, into any, mode ...string) {
	t.Helper()
	p, _ := startAs(t, digest, c, mode...)
	said, err := io.ReadAll(p.Stdout)
	if err == nil {
		err = json.Unmarshal(said, into)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
}

// touching runs a mode of this file.
func touching(mode, arg string) bool {
	switch mode {
	case "call":
		callAll(arg)
	case "arguments":
		callWith(arg)
	case "touch":
		touchAll(arg)
	default:
		return false
	}
	return true
}

// callAll makes calls by their numbers and prints their errors.
func callAll(text string) {
	var numbers []uintptr
	_ = json.Unmarshal([]byte(text), &numbers)
	var out []int
	for _, nr := range numbers {
		_, _, errno := unix.RawSyscall6(nr, 0, 0, 0, 0, 0, 0)
		out = append(out, int(errno))
	}
	_ = json.NewEncoder(os.Stdout).Encode(out)
}

// callWith makes calls with their arguments and prints their errors.
func callWith(text string) {
	var asked [][]uintptr
	_ = json.Unmarshal([]byte(text), &asked)
	out := []int{}
	for _, a := range asked {
		a = append(a, 0, 0, 0, 0, 0, 0)
		_, _, errno := unix.RawSyscall6(a[0], a[1], a[2], a[3], a[4], a[5], a[6])
		out = append(out, int(errno))
	}
	_ = json.NewEncoder(os.Stdout).Encode(out)
}

// passed keeps what calls were given the addresses of.
var passed []any

func address[T any](p *T) uintptr {
	passed = append(passed, p)
	return uintptr(unsafe.Pointer(p))
}

// touches are the calls that name an inode, by name and what is asked: each returns nil where it
// changed or locked the file at the path.
func touches(path string) map[string]func() error {
	at := func(s string) uintptr { b, _ := unix.BytePtrFromString(s); return address(b) }
	cwd := uintptr(unix.AT_FDCWD & (1<<64 - 1))
	call := func(nr uintptr, args ...uintptr) func() error {
		return func() error {
			a := append(args, 0, 0, 0, 0, 0, 0)
			if _, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
				return errno
			}
			return nil
		}
	}
	// opened makes a call on a descriptor of the file that can only read.
	opened := func(nr uintptr, args ...uintptr) func() error {
		return func() error {
			fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return call(nr, append([]uintptr{uintptr(fd)}, args...)...)()
		}
	}
	p, more := at(path), func(s string) uintptr { return at(path + s) }
	how := &unix.OpenHow{Flags: unix.O_WRONLY}
	// A machine whose sandbox is broken keeps its devices as they are, but for the time of a change.
	var st unix.Stat_t
	_ = unix.Stat(path, &st)
	mode := uintptr(st.Mode & 0o7777)
	old := []unix.Timespec{{Sec: 1}, {Sec: 1}}
	times, oldest := address(&old[0]), &unix.Utimbuf{Actime: 1, Modtime: 1}
	value := []byte("row")
	xattr := struct {
		Value       uint64
		Size, Flags uint32
	}{uint64(address(&value[0])), 3, 0}
	name, val := at("user.row"), address(&value[0])
	lock := &unix.Flock_t{Type: unix.F_RDLCK}
	held := address(lock)
	flags := uintptr(0x40) // no dump
	hint := uint64(2)
	uid, gid := uintptr(os.Getuid()), uintptr(os.Getgid())
	out := map[string]func() error{
		"open": call(unix.SYS_OPEN, p, unix.O_WRONLY), "openat": call(unix.SYS_OPENAT, cwd, p, unix.O_RDWR),
		"openat2": call(unix.SYS_OPENAT2, cwd, p, address(how), unsafe.Sizeof(*how)),
		"creat":   call(unix.SYS_CREAT, more("c"), 0o600), "truncate": call(unix.SYS_TRUNCATE, p, 1),
		"rename": call(unix.SYS_RENAME, p, more("r")), "renameat": call(unix.SYS_RENAMEAT, cwd, p, cwd, more("r")),
		"renameat2": call(unix.SYS_RENAMEAT2, cwd, p, cwd, more("r"), 0), "link": call(unix.SYS_LINK, p, more("l")),
		"linkat": call(unix.SYS_LINKAT, cwd, p, cwd, more("l"), 0), "symlink": call(unix.SYS_SYMLINK, p, more("s")),
		"symlinkat": call(unix.SYS_SYMLINKAT, p, cwd, more("s")), "mkdir": call(unix.SYS_MKDIR, more("d"), 0o700),
		"mkdirat": call(unix.SYS_MKDIRAT, cwd, more("d"), 0o700), "rmdir": call(unix.SYS_RMDIR, more(".d")),
		"unlink": call(unix.SYS_UNLINK, p), "unlinkat": call(unix.SYS_UNLINKAT, cwd, p, 0),
		"mknod": call(unix.SYS_MKNOD, more("n"), unix.S_IFIFO|0o600), "mknodat": call(unix.SYS_MKNODAT, cwd, more("n"), unix.S_IFIFO|0o600),
		"bind": func() error {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Bind(fd, &unix.SockaddrUnix{Name: path + "b"})
		},
		"chmod": call(unix.SYS_CHMOD, p, mode), "fchmod": opened(unix.SYS_FCHMOD, mode), "fchmodat": call(unix.SYS_FCHMODAT, cwd, p, mode),
		"fchmodat2": call(unix.SYS_FCHMODAT2, cwd, p, mode, 0), "chown": call(unix.SYS_CHOWN, p, uid, gid), "lchown": call(unix.SYS_LCHOWN, p, uid, gid),
		"fchown": opened(unix.SYS_FCHOWN, uid, gid), "fchownat": call(unix.SYS_FCHOWNAT, cwd, p, uid, gid, 0),
		"utime": call(unix.SYS_UTIME, p, address(oldest)), "utimes": call(unix.SYS_UTIMES, p, times),
		"futimesat": call(unix.SYS_FUTIMESAT, cwd, p, times), "utimensat": call(unix.SYS_UTIMENSAT, cwd, p, times, 0),
		"setxattr": call(unix.SYS_SETXATTR, p, name, val, 3, 0), "lsetxattr": call(unix.SYS_LSETXATTR, p, name, val, 3, 0),
		"fsetxattr":   opened(unix.SYS_FSETXATTR, name, val, 3, 0),
		"setxattrat":  call(unix.SYS_SETXATTRAT, cwd, p, 0, name, address(&xattr), unsafe.Sizeof(xattr)),
		"removexattr": call(unix.SYS_REMOVEXATTR, p, at("user.old")), "lremovexattr": call(unix.SYS_LREMOVEXATTR, p, at("user.old")),
		"fremovexattr": opened(unix.SYS_FREMOVEXATTR, at("user.old")), "removexattrat": call(unix.SYS_REMOVEXATTRAT, cwd, p, 0, at("user.old")),
		"file_setattr": func() error {
			attr := make([]byte, 24) // struct file_attr, of version 0
			return call(unix.SYS_FILE_SETATTR, cwd, p, address(&attr[0]), 24, 0)()
		},
		"flock shared": opened(unix.SYS_FLOCK, unix.LOCK_SH|unix.LOCK_NB), "flock": opened(unix.SYS_FLOCK, unix.LOCK_EX|unix.LOCK_NB),
		"fcntl lock": opened(unix.SYS_FCNTL, unix.F_SETLK, held), "fcntl wait": opened(unix.SYS_FCNTL, unix.F_SETLKW, held),
		"fcntl ask": opened(unix.SYS_FCNTL, unix.F_GETLK, held), "fcntl open lock": opened(unix.SYS_FCNTL, unix.F_OFD_SETLK, held),
		"fcntl open ask": opened(unix.SYS_FCNTL, unix.F_OFD_GETLK, held), "fcntl lease": opened(unix.SYS_FCNTL, unix.F_SETLEASE, unix.F_RDLCK),
		"fcntl hint":   opened(unix.SYS_FCNTL, unix.F_SET_RW_HINT, address(&hint)),
		"fcntl signal": opened(unix.SYS_FCNTL, unix.F_SETOWN, uintptr(os.Getpid())),
		"ioctl flags":  opened(unix.SYS_IOCTL, unix.FS_IOC_SETFLAGS, address(&flags)),
	}
	return out
}

// destroying are the calls that would take a device away; they are tried on the test's own files only.
var destroying = strings.Fields("open openat openat2 creat truncate rename renameat renameat2 link linkat symlink symlinkat mkdir mkdirat rmdir unlink unlinkat mknod mknodat bind")

// touchAll tries every call on every file and prints those that succeeded. In a folder, there is a file for each.
func touchAll(text string) {
	var files []string
	_ = json.Unmarshal([]byte(text), &files)
	done := []string{}
	for _, path := range files {
		info, err := os.Stat(path)
		for name := range touches(path) {
			at := path
			switch {
			case err == nil && info.IsDir():
				at = filepath.Join(path, name)
			case slices.Contains(destroying, name):
				continue
			}
			if touches(at)[name]() == nil {
				done = append(done, name+" "+path)
			}
		}
	}
	_ = json.NewEncoder(os.Stdout).Encode(done)
}

// TestFilesUntouched: no call that names an inode changes or locks one that the tree did not make.
// Without a sandbox each call succeeds, so the attempts are real.
func TestFilesUntouched(t *testing.T) {
	calls := touches("")
	for _, name := range strings.Fields(confinedCalls) {
		if !slices.ContainsFunc(slices.Collect(keys(calls)), func(s string) bool { return strings.Split(s, " ")[0] == name }) {
			t.Errorf("%s is not tried", name)
		}
	}
	folder := func(t *testing.T) string {
		t.Helper()
		dir, err := os.MkdirTemp("/var/tmp", "touch-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		for name := range calls {
			path := filepath.Join(dir, name)
			if err := errors.Join(os.WriteFile(path, []byte("row"), 0o600), os.Mkdir(path+".d", 0o700), os.Chtimes(path, time.Unix(9, 0), time.Unix(99, 0))); err != nil {
				t.Fatal(err)
			}
			_ = unix.Setxattr(path, "user.old", []byte("x"), 0) // not everywhere
		}
		return dir
	}
	t.Run("off", func(t *testing.T) {
		dir := folder(t)
		var done []string
		ask(t, digestOfSelf(), Confinement{Mode: Off}, &done, "touch", text(t, []string{dir}))
		attributes := unix.Setxattr(filepath.Join(dir, "fcntl ask"), "user.x", nil, 0) == nil
		for name := range calls {
			optional := strings.Contains(name, "xattr") && !attributes || slices.Contains([]string{"file_setattr", "setxattrat", "removexattrat", "ioctl flags", "fchmodat2"}, name)
			if !slices.Contains(done, name+" "+dir) && !optional { // not in every kernel
				t.Errorf("without a sandbox %s fails; the attempt shows nothing", name)
			}
		}
	})
	everywhere(t, func(t *testing.T, digest string, c Confinement) {
		dir := folder(t)
		files := append([]string{dir, "/", "/usr", "/usr/bin/env"}, launcher.Devices...)
		if digest == "" { // that of a stranger is a copy in memory, for the tree alone
			files = append(files, selfExe)
		}
		c.Read = []string{dir}
		before := snapshot(t, dir)
		var done []string
		ask(t, digest, c, &done, "touch", text(t, files))
		if len(done) > 0 {
			t.Errorf("succeeded: %q", done)
		}
		if after := snapshot(t, dir); after != before {
			t.Errorf("before:\n%s\nafter:\n%s", before, after)
		}
	})
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func keys(m map[string]func() error) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// snapshot is all that the kernel tells of the devices, of this program and of the files in a folder.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	for _, path := range append([]string{selfExe, "/", "/usr/bin/env"}, launcher.Devices...) {
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err == nil {
			fmt.Fprintln(&out, path, st.Mode, st.Uid, st.Gid, st.Mtim, st.Ctim)
		}
	}
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		var st unix.Stat_t
		if err := unix.Stat(filepath.Join(dir, d.Name()), &st); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&out, d.Name(), st.Mode, st.Uid, st.Gid, st.Nlink, st.Size, st.Atim, st.Mtim, st.Ctim)
	}
	return out.String()
}
