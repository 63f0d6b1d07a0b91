package serve

import (
	"fmt"
	"io"
	"os"

	"github.com/dprelease/dprelease/internal/plugin/wire"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// Mechanisms answers a host's calls to these mechanisms until the host ends the
// process. Run by hand, without a host, it explains itself on stderr and exits with
// status 1. It panics if the mechanisms are not distinct and described: that is a
// mistake in the program, not in its input.
func Mechanisms(mechanisms ...sdk.Mechanism) {
	s, err := newServer(mechanisms)
	if err != nil {
		panic(err)
	}
	if os.Getenv(wire.CookieKey) == wire.CookieValue {
		go exitWithHost(os.Stdin, os.Exit)
	}
	if err := s.run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// exitWithHost ends the process when the host is gone. The host holds the other end of
// stdin and never writes to it, so the stream ends when the host does, whatever the
// cause.
func exitWithHost(lifeline io.Reader, exit func(int)) {
	_, _ = io.Copy(io.Discard, lifeline)
	exit(0)
}
