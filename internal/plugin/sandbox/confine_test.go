//go:build linux

package sandbox

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dprelease/dprelease/internal/plugin/sandbox/launcher"
)

// attempts returns the acts that a tree tries, by name. Each returns nil where it succeeds.
func attempts(o outside) map[string]func() error {
	call := func(nr uintptr, args ...uintptr) func() error {
		return func() error {
			a := append(args, 0, 0, 0, 0, 0, 0)
			if _, _, errno := unix.RawSyscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
				return errno
			}
			return nil
		}
	}
	read := func(path string) func() error {
		return func() error { _, err := os.ReadFile(path); return err }
	}
	stat := func(path string) func() error {
		return func() error { _, err := os.Stat(path); return err }
	}
	write := func(path string) func() error {
		return func() error { return os.WriteFile(path, []byte("row"), 0o600) }
	}
	dial := func(network, address string) func() error {
		return func() error {
			c, err := net.Dial(network, address)
			if err == nil {
				c.Close()
			}
			return err
		}
	}
	return map[string]func() error{
		"read a file": read(o.File), "stat a file": stat(o.File), "write a file": write(o.File + "-new"),
		"read what is granted": read(filepath.Join(o.Granted, "f")), "write what is granted": write(filepath.Join(o.Granted, "g")),
		"write its folder": write("here"), "write a temporary file": write(filepath.Join(os.TempDir(), "t")),
		"read a program": read("/bin/sh"), "run a program": func() error { return exec.Command("/bin/sh", "-c", "exit 0").Run() },
		"run itself":         func() error { return exec.Command(selfExe, "done").Run() },
		"read the passwords": read("/etc/passwd"), "read a device": func() error { _, err := os.Open("/dev/urandom"); return err },
		"dial TCP": dial("tcp", o.TCP), "listen on TCP": func() error { _, err := net.Listen("tcp", "127.0.0.1:0"); return err },
		"dial UDP": dial("udp", o.TCP), "dial a unix socket": dial("unix", o.Socket), "dial an abstract socket": dial("unix", "@"+o.Abstract),
		"make a netlink socket": call(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, 0),
		"signal the host":       func() error { return syscall.Kill(o.Pid, 0) },
		"see the host":          stat("/proc/" + strconv.Itoa(o.Pid) + "/cmdline"),
		"read the host":         read("/proc/" + strconv.Itoa(o.Pid) + "/environ"),
		"trace the host":        call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(o.Pid)),
		"unshare":               call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER), "mount": call(unix.SYS_MOUNT), "chroot": call(unix.SYS_CHROOT),
		"clone a namespace": func() error {
			c := exec.Command(selfExe, "done")
			c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
			return c.Run()
		},
		"make memory files": func() error { _, err := unix.MemfdCreate("x", 0); return err },
		"share memory": func() error {
			_, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANON)
			return err
		},
		"io_uring":       call(unix.SYS_IO_URING_SETUP, 1, 0),
		"large file":     func() error { return os.Truncate(mustCreate(), launcher.MaxFile+1) },
		"gain privilege": func() error { return privileged() },
	}
}

func mustCreate() string {
	_ = os.WriteFile("large", nil, 0o600)
	return "large"
}

// privileged returns an error unless this process has a capability or could get one.
func privileged() error {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(b)) {
		k, v, _ := strings.Cut(line, ":")
		if v = strings.TrimSpace(v); strings.HasPrefix(k, "Cap") && strings.Trim(v, "0") != "" || k == "NoNewPrivs" && v != "1" {
			return nil
		}
	}
	return errors.New("none")
}

// outside holds the places that the tree must not reach.
type outside struct {
	File, Granted, TCP, Socket, Abstract string
	Pid                                  int
}

// probe tries everything and prints what happened, "" for what succeeded.
func probe(text string) {
	var o outside
	_ = json.Unmarshal([]byte(text), &o)
	out := map[string]string{}
	for name, try := range attempts(o) {
		if err := try(); err != nil {
			out[name] = err.Error()
		} else {
			out[name] = ""
		}
	}
	_ = json.NewEncoder(os.Stdout).Encode(out)
}

// probed runs the probe in a confinement.
func probed(t *testing.T, c Confinement, o outside) (map[string]string, Level) {
	t.Helper()
	args, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := startMode(t, c, "probe", string(args))
	out := map[string]string{}
	said, err := io.ReadAll(p.Stdout)
	if err == nil {
		err = json.Unmarshal(said, &out)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return out, p.Level()
}

// surroundings are real: all of it can be had without a sandbox.
func surroundings(t *testing.T) outside {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "sandbox-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	o := outside{File: filepath.Join(dir, "f"), Granted: filepath.Join(dir, "granted"), Socket: filepath.Join(dir, "s"), Abstract: dir, Pid: os.Getpid()}
	if err := errors.Join(os.Mkdir(o.Granted, 0o755), os.WriteFile(o.File, []byte("x"), 0o600), os.WriteFile(filepath.Join(o.Granted, "f"), []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for network, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": o.Socket} {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		if network == "tcp" {
			o.TCP = l.Addr().String()
		}
	}
	l, err := net.Listen("unix", "@"+o.Abstract)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return o
}

// always lists the acts of a static program's tree that every confinement allows, and files those that one with
// its own file system allows.
var (
	always = []string{"read what is granted", "run itself", "read a device"}
	files  = append([]string{"write its folder", "write a temporary file"}, always...)
)

// TestConfined: of all that can be done without a sandbox, a tree can do in it what it needs
// and nothing else.
func TestConfined(t *testing.T) {
	o := surroundings(t)
	free, level := probed(t, Confinement{Mode: Off}, o)
	for name, err := range free {
		if err != "" && !slices.Contains([]string{"mount", "chroot", "io_uring", "trace the host", "unshare"}, name) {
			t.Errorf("without a sandbox %s: %s; the attempt shows nothing", name, err)
		}
	}
	if level.String() != "none" {
		t.Errorf("without a sandbox the level is %s", level)
	}
	read := []string{o.Granted}
	for mode, may := range map[Mode][]string{Required: files, Best: files} {
		got, level := probed(t, Confinement{Mode: mode, Read: read}, o)
		if !level.Full() {
			t.Fatalf("this machine confines only: %s", level)
		}
		held(t, string(mode), got, may)
	}
}

func held(t *testing.T, mode string, got map[string]string, may []string) {
	t.Helper()
	for name, err := range got {
		if can := slices.Contains(may, name); can != (err == "") {
			t.Errorf("%s: %s: %q, allowed: %v", mode, name, err, can)
		}
	}
}

// TestWithoutNamespaces: where the machine gives no namespaces, files, the network and the
// memory of others are closed all the same; what stays open is said, and Required refuses.
func TestWithoutNamespaces(t *testing.T) {
	why := "namespaces: for this test"
	withoutNamespaces.Store(&why)
	t.Cleanup(func() { withoutNamespaces.Store(nil) })
	o := surroundings(t)
	got, level := probed(t, Confinement{Mode: Best, Read: []string{o.Granted}}, o)
	if level.Full() || !level.Seccomp || !slices.Contains(level.Missing, why) || !strings.HasPrefix(level.String(), "partial (landlock") {
		t.Fatalf("the level is %s", level)
	}
	open := []string{"stat a file", "see the host"} // names, but nothing behind them
	if level.Landlock < 9 {
		open = append(open, "dial a unix socket")
	}
	if level.Landlock < 6 {
		open = append(open, "dial an abstract socket", "signal the host")
	}
	held(t, "without namespaces", got, append(open, always...))
}

// TestRequiredRefuses: a tree that could only be confined in part is not started.
func TestRequiredRefuses(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	exe, err := Open(path, "")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := NewDir()
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	// The way without namespaces, with the demand of Required.
	p, err := begin(t.Context(), exe, Command{Args: []string{path, "wait"}, Dir: dir.Path, Confine: Confinement{Mode: Required}}, &orders{})
	var u *Unconfined
	if p != nil || !errors.As(err, &u) {
		t.Errorf("%v, %v", p, err)
	}
}

// TestMemory: a tree that takes more than it may ends; one that does not goes on.
func TestMemory(t *testing.T) {
	for size, want := range map[string]string{"64": "held", "1024": ""} {
		p, _ := startMode(t, Confinement{Mode: Required, Memory: 256 << 20}, "hold", size)
		said, err := io.ReadAll(p.Stdout)
		if err != nil || string(said) != want {
			t.Errorf("%s MiB: %q, %v; want %q", size, said, err, want)
		}
	}
}

// TestWatched: everything that a tree opens, connects and starts is told, with its name.
func TestWatched(t *testing.T) {
	o := surroundings(t)
	seen := make(chan Seen, 4096)
	probed(t, Confinement{Mode: Required, Read: []string{o.Granted}, Watch: func(s Seen) { seen <- s }}, o)
	var all []Seen
	for len(seen) > 0 {
		all = append(all, <-seen)
	}
	for _, want := range []Seen{
		{Act: OpenFile, Path: o.File}, {Act: OpenFile, Path: o.File + "-new", Write: true}, {Act: OpenFile, Path: filepath.Join(o.Granted, "f")},
		{Act: OpenSocket, Path: "IPv4"}, {Act: OpenSocket, Path: "netlink"}, {Act: OpenSocket, Path: o.Socket}, {Act: OpenSocket, Path: "@" + o.Abstract}, {Act: StartProcess, Path: "/bin/sh"}, {Act: TouchProcess},
	} {
		if !slices.Contains(all, want) {
			t.Errorf("%+v was not told", want)
		}
	}
	if !slices.ContainsFunc(all, func(s Seen) bool {
		return s.Act == OpenFile && s.Write && filepath.Base(s.Path) == "here" && filepath.IsAbs(s.Path)
	}) {
		t.Error("a relative name was not made absolute")
	}
}

// TestDescendantsEnd: a process that forks, leaves its session and loses its parent ends
// with the tree, also when its leader just ends.
func TestDescendantsEnd(t *testing.T) {
	for range 4 {
		mark := "mark-" + strconv.FormatInt(time.Now().UnixNano(), 36)
		p, _ := startMode(t, Confinement{Mode: Required}, "daemon", mark)
		if _, err := io.ReadFull(p.Stdout, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		// A process that was just started has no command line yet.
		for end := time.Now().Add(time.Minute); running(t, mark) < 2; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d processes", running(t, mark))
			}
		}
		if !p.Kill(time.Minute) || running(t, mark) > 0 {
			t.Errorf("%d processes are left", running(t, mark))
		}
	}
}

func running(t *testing.T, mark string) int {
	t.Helper()
	n := 0
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range all {
		if b, err := os.ReadFile(path); err == nil && strings.Contains(string(b), mark) && !strings.Contains(string(b), "-test.") {
			n++
		}
	}
	return n
}
