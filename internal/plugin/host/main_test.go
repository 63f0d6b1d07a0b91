//go:build linux

package host

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// The test binary is also every plugin that the tests start: "plugin MODE ...".
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "plugin" {
		run, ok := modes[os.Args[2]]
		if !ok {
			fmt.Fprintln(os.Stderr, "no such mode")
			os.Exit(64)
		}
		run(os.Args[3:])
		return
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		for _, s := range processes() {
			if s.ppid == os.Getpid() {
				fmt.Fprintf(os.Stderr, "child left: %+v\n", s)
				code = 1
			}
		}
		os.Exit(code)
	}))
}
