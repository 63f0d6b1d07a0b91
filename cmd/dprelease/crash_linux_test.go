package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// crashing is the name under which this test binary ends as no test may: see crash.
const crashing = "dprelease-crash"

// crash does what a run does with standard error, has a library print there, and ends
// as its argument says, with a cell in hand. It can dump core, and is asked to.
func crash() {
	stderr := apart()
	fmt.Fprintln(stderr, "the run's own words")
	log.Print(canaryText)
	fmt.Fprintln(os.Stderr, canaryText)
	held := []string{canaryText}
	switch os.Args[1] {
	case "panic": // of a goroutine, which nobody recovers
		go func() { panic(held[0]) }()
		select {}
	case "throw":
		both := map[string]int{}
		for range 4 {
			go func() {
				for {
					both[held[0]]++
				}
			}()
		}
		select {}
	case "memory":
		_ = unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20})
		for {
			held = append(held, strings.Repeat(canaryText, 1<<24))
		}
	}
}

// However a run ends, what the Go runtime has to say of it goes nowhere, and there is no
// core dump (P20).
func TestCrash(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), crashing)
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"panic", "throw", "memory"} {
		dir := t.TempDir()
		cmd := exec.Command("/bin/sh", "-c", `ulimit -c unlimited; exec "$1" "$2"`, "sh", program, how)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOTRACEBACK=crash")
		var out, errw bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errw
		if cmd.Run() == nil {
			t.Errorf("%s: ended well", how)
		}
		if out.Len() > 0 || errw.String() != "the run's own words\n" {
			t.Errorf("%s: printed %q and %.300q", how, out.String(), errw.String())
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v (%v)", how, left, err)
		}
	}
}
