package postgrestest

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
)

// shared is the server that all tests of one package use.
var shared struct {
	once   sync.Once
	server *Server
	err    error
	n      atomic.Int64
}

// Shared is the server of this package's tests; it is started by the first caller.
// Without a server the test is skipped, or fails in CI. In the fast tier the server is for
// what [Scenario] begins, and other tests are skipped.
func Shared(t testing.TB) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("left to the full tests; in the fast tier stay three scenarios on PostgreSQL")
	}
	return started(t)
}

func started(t testing.TB) *Server {
	t.Helper()
	shared.once.Do(func() { shared.server, shared.err = Start() })
	if shared.err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(shared.err)
		}
		t.Skip(shared.err)
	}
	return shared.server
}

// New is the address of an empty schema on the shared server.
func New(t testing.TB) string {
	t.Helper()
	return empty(t, Shared(t))
}

// Scenario is like [New], also in the fast tier.
func Scenario(t testing.TB) string {
	t.Helper()
	return empty(t, started(t))
}

func empty(t testing.TB, s *Server) string {
	t.Helper()
	name := fmt.Sprintf("ledger%d", shared.n.Add(1))
	if err := s.Exec("CREATE SCHEMA " + name); err != nil {
		t.Fatal(err)
	}
	return s.URL(name)
}

// Stop ends the shared server, and says on standard error why there was none. It
// is what a TestMain calls last.
func Stop() {
	if shared.server != nil {
		shared.server.Remove()
	}
	if shared.err != nil {
		fmt.Fprintf(os.Stderr, "the tests on PostgreSQL were left out: %v\n", shared.err)
	}
}
