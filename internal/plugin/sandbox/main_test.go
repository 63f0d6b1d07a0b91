//go:build linux

package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary is also what the tests start: "wait" until it is killed, "probe" what
// can be done, "hold" memory, or leave a "daemon".
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch arg := os.Args[len(os.Args)-1]; os.Args[1] {
		case "wait":
			time.Sleep(time.Minute)
			os.Exit(1)
		case "done":
			os.Exit(0)
		case "beside":
			beside(arg)
			os.Exit(0)
		case "barren":
			barren()
			os.Exit(0)
		case "fork":
			forks()
		case "fill":
			fill()
			os.Exit(0)
		case "probe":
			probe(arg)
			os.Exit(0)
		case "hold":
			hold(arg)
			os.Exit(0)
		case "daemon":
			again := exec.Command("/proc/self/exe", "orphan", arg)
			_ = again.Run()
			fmt.Print("x")
			time.Sleep(time.Minute)
			os.Exit(1)
		case "orphan":
			again := exec.Command("/proc/self/exe", "wait", arg)
			again.Env, again.SysProcAttr = []string{}, &syscall.SysProcAttr{Setsid: true}
			_ = again.Start()
			os.Exit(0)
		default:
			if touching(os.Args[1], arg) {
				os.Exit(0)
			}
		}
	}
	goleak.VerifyTestMain(m)
}

// hold takes so many MiB and uses them.
func hold(size string) {
	n, _ := strconv.Atoi(size)
	b := make([]byte, n<<20)
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	fmt.Print("held")
}

// startWait starts this binary as a tree that waits.
func startWait(t *testing.T) (*Process, *Dir) {
	t.Helper()
	return startMode(t, Confinement{}, "wait")
}

// startMode starts this binary in one of its modes, as a stranger's.
func startMode(t *testing.T, c Confinement, mode ...string) (*Process, *Dir) {
	t.Helper()
	return startAs(t, digestOfSelf(), c, mode...)
}

// digestOfSelf is the digest of this binary.
func digestOfSelf() string {
	text, err := os.ReadFile(selfExe)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// startAs starts this binary in one of its modes, as a stranger's by its digest, or with none as the running program.
func startAs(t *testing.T, digest string, c Confinement, mode ...string) (*Process, *Dir) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if digest != "" { // another user may not reach where the tests are built
		path = selfExe
	}
	exe, err := Open(path, digest)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := NewDir()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Start(t.Context(), exe, Command{Args: append([]string{path}, mode...), Dir: dir.Path, Confine: c})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, p.Stderr) }()
	t.Cleanup(func() {
		if !p.Kill(time.Minute) {
			t.Error("processes are left")
		}
		p.Close()
		exe.Close()
		dir.Close()
		if _, err := os.Stat(dir.Path); !os.IsNotExist(err) {
			t.Errorf("the directory is left: %v", err)
		}
	})
	return p, dir
}
