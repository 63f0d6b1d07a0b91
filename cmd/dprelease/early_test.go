package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The early process starts while the packages that take long are still to be
// initialised: one import too many in package launch, and it comes after them.
func TestEarlyIsEarly(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	place := map[string]int{}
	for i, line := range strings.Split(trace.String(), "\n") {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "init" {
			place[f[1]] = i + 1
		}
	}
	early := place["github.com/dprelease/dprelease/cmd/dprelease/early"]
	if early == 0 || len(place) < 200 {
		t.Fatalf("the initialisation of %d packages was traced, and early at place %d", len(place), early)
	}
	for _, late := range []string{"google.golang.org/protobuf/reflect/protodesc", "google.golang.org/grpc", "github.com/klauspost/cpuid/v2", "gonum.org/v1/plot"} {
		if place[late] < early {
			t.Errorf("%s is initialised at place %d, early at %d", late, place[late], early)
		}
	}
}

// A command that needs no mechanism after all leaves neither a process nor a folder.
func TestEarlyProcessIsDropped(t *testing.T) {
	base, err := os.MkdirTemp("/tmp", "early")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	job := filepath.Join(base, "job.yaml")
	if err := os.WriteFile(job, []byte("version: 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Under this name the test binary is the program.
	program := filepath.Join(base, "dprelease")
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"run", job}, {"check", job}, {"run", "--help"}, {"run", "--nonsense"}} {
		cmd := exec.Command(program, args...)
		cmd.Env = append(os.Environ(), "TMPDIR="+base)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		_ = cmd.Run()
		if !strings.Contains(out.String(), "job.yaml:1") && !strings.Contains(out.String(), "Usage") && !strings.Contains(out.String(), "nonsense") {
			t.Errorf("%v printed %q", args, out.String())
		}
		if left, _ := filepath.Glob(filepath.Join(base, "dprelease-plugin-*")); len(left) > 0 {
			t.Errorf("%v left %v", args, left)
		}
	}
}
