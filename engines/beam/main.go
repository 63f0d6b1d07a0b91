package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/dprelease/dprelease/internal/engine"
)

func main() {
	switch args := os.Args[1:]; {
	case len(args) == 1 && args[0] == engine.Argument:
		os.Args = os.Args[:1]
		out := os.Stdout
		os.Stdout = os.Stderr // whatever a runner prints goes where the host drops it
		flag.Parse()
		beam.Init()
		if engine.Serve(context.Background(), os.Stdin, out, carryOut) != nil {
			os.Exit(1)
		}
	case slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(strings.TrimLeft(a, "-"), "worker") && a[0] == '-' }):
		flag.Parse()
		beam.Init() // works until the runner ends it
	default:
		fmt.Fprintln(os.Stderr, "dprelease-beam:", handOn(args))
		os.Exit(2)
	}
}

// handOn becomes dprelease, with this program as its engine.
func handOn(args []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	path := filepath.Join(filepath.Dir(self), "dprelease")
	if _, err := os.Stat(path); err != nil {
		if path, err = exec.LookPath("dprelease"); err != nil {
			return fmt.Errorf("the program dprelease is neither beside this one nor on the PATH")
		}
	}
	return syscall.Exec(path, append([]string{path}, args...), append(os.Environ(), "DPRELEASE_ENGINE="+self))
}
