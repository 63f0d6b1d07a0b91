//go:build linux

package sandbox

import (
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary is also what the tests start: "wait" until it is killed.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "wait" {
		time.Sleep(time.Minute)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// startWait starts this binary as a tree that waits.
func startWait(t *testing.T) (*Process, *Dir) {
	t.Helper()
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
	p, err := Start(exe, Command{Args: []string{path, "wait"}, Dir: dir.Path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !p.Kill(5 * time.Second) {
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
