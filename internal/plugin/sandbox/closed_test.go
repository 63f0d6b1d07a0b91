//go:build linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/dprelease/dprelease/internal/plugin/sandbox/launcher"
)

// barren makes this process one of a kernel that has neither namespaces for users nor Landlock, and
// starts itself in Best, as a stranger's and as the running program.
func barren() {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		fmt.Println(err)
		return
	}
	refused := func(errno unix.Errno) bpf.Instruction {
		return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
	}
	raw, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: 0, Size: 4}, // the number of the call
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_UNSHARE, SkipTrue: 5},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_CLONE3, SkipTrue: 5},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_LANDLOCK_CREATE_RULESET, SkipTrue: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_CLONE, SkipFalse: 4},
		bpf.LoadAbsolute{Off: 16, Size: 4}, // the first argument
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.CLONE_NEWUSER, SkipFalse: 2},
		refused(unix.EPERM),
		refused(unix.ENOSYS),
		bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	program := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		program[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	all := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&all))); errno != 0 {
		fmt.Println(errno)
		return
	}
	for name, mode := range map[string]Mode{"stranger": Best, "stranger off": Off, "own": Best} {
		fmt.Println(name+":", started(name, mode))
	}
}

// started starts this program as asked and says how it is confined, or why it did not start.
func started(name string, mode Mode) string {
	digest := ""
	if strings.HasPrefix(name, "stranger") {
		digest = digestOfSelf()
	}
	exe, err := Open(selfExe, digest)
	if err != nil {
		return err.Error()
	}
	defer exe.Close()
	dir, err := NewDir()
	if err != nil {
		return err.Error()
	}
	defer dir.Close()
	p, err := Start(context.Background(), exe, Command{Args: []string{"self", "done"}, Dir: dir.Path, Confine: Confinement{Mode: mode}})
	var loose *Unconfined
	if errors.As(err, &loose) {
		return "refused: " + loose.Error()
	} else if err != nil {
		return err.Error()
	}
	defer p.Close()
	_, _ = io.Copy(io.Discard, p.Stdout)
	<-p.Done()
	return "runs, " + p.Level().String()
}

// TestFailsClosed: where files and the network cannot be closed, Best starts nothing of a
// stranger's. Off does, and so does what is no stranger's.
func TestFailsClosed(t *testing.T) {
	out, err := exec.Command(selfExe, "barren", "").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{"stranger: refused: cannot be confined: this machine has neither namespaces nor Landlock", "stranger off: runs, none\n", "own: runs, partial (seccomp)"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

// TestProcesses: a tree starts so many processes and no more; its threads do not count.
func TestProcesses(t *testing.T) {
	for _, watch := range []func(Seen){nil, func(Seen) {}} {
		p, _ := startMode(t, Confinement{Mode: Required, Watch: watch}, "fork", "")
		said, err := io.ReadAll(p.Stdout)
		if err != nil || string(said) != fmt.Sprint(launcher.MaxProcesses, " processes\n") {
			t.Errorf("%q, %v", said, err)
		}
	}
}

// forks starts processes until it cannot.
func forks() {
	n := 0
	for exec.Command(selfExe, "wait", "").Start() == nil {
		n++
	}
	fmt.Println(n, "processes")
	os.Exit(0) // which ends them all
}

// TestDisk: all files of a tree together have a limit, and nothing of them is on a disk.
func TestDisk(t *testing.T) {
	p, dir := startMode(t, Confinement{Mode: Required, Memory: 256 << 20}, "fill", "")
	said, err := io.ReadAll(p.Stdout)
	if err != nil || string(said) != "256 MiB\n" {
		t.Errorf("%q, %v", said, err)
	}
	if all, err := os.ReadDir(dir.Own); err != nil || len(all) > 0 {
		t.Errorf("on the disk: %v, %v", all, err)
	}
}

// fill writes files until it cannot.
func fill() {
	written, part := 0, make([]byte, 1<<20)
	for i := 0; ; i++ {
		f, err := os.Create(fmt.Sprint("f", i))
		if err != nil {
			break
		}
		before := written
		for range launcher.MaxFile >> 20 {
			if _, err := f.Write(part); err != nil {
				break
			}
			written++
		}
		f.Close()
		if written == before {
			break
		}
	}
	fmt.Println(written, "MiB")
}
