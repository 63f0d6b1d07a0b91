package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// asProgram is a path under which this test binary is the program.
func asProgram(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "dprelease")
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	return program
}

// lateInits are the packages that are initialised after package signals.
func lateInits(t *testing.T, program string) map[string]bool {
	t.Helper()
	cmd := exec.Command(program, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	late, after := map[string]bool{}, false
	for line := range strings.Lines(trace.String()) {
		f := strings.Fields(line)
		switch {
		case len(f) < 2 || f[0] != "init":
		case f[1] == "github.com/dprelease/dprelease/cmd/dprelease/signals":
			after = true
		case after:
			late[f[1]] = true
		}
	}
	if len(late) < 100 {
		t.Fatalf("%d packages are initialised after package signals; it should be among the first", len(late))
	}
	return late
}

// started finds the place of the main goroutine in a dump: "main", or a package that was
// being initialised.
var started = regexp.MustCompile(`(?m)^(main\.main|[a-zA-Z0-9_./\-]+\.init(?:\.\d+)?)\(`)

// However many signals come, and however early, no stack is printed by anything but the
// Go runtime's own start: before main, and before most packages are initialised.
func TestEarlySignals(t *testing.T) {
	program := asProgram(t)
	late := lateInits(t, program)
	for i := range tier.Of(6, 60) {
		cmd := exec.Command(program, "run", "absent.yaml")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i) * tier.Of(3*time.Millisecond, 300*time.Microsecond))
		for range 8 {
			_ = cmd.Process.Signal(syscall.SIGQUIT)
			time.Sleep(300 * time.Microsecond)
		}
		_ = cmd.Wait()
		_, dump, found := strings.Cut(out.String(), "goroutine 1 ")
		if !found {
			continue
		}
		for _, at := range started.FindAllStringSubmatch(dump, -1) {
			if name := at[1]; name == "main.main" || late[name[:strings.LastIndex(strings.TrimRight(name, ".0123456789"), ".init")]] {
				t.Fatalf("stacks were printed in %s", name)
			}
		}
	}
}
