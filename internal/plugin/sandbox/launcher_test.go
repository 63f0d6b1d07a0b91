//go:build linux

package sandbox

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/dprelease/dprelease/internal/plugin/sandbox/launcher"
)

// A launcher that does not answer is waited for until whoever starts the tree gives up, and no longer:
// on a loaded machine that is when its own limit says so.
func TestLauncherIsWaitedFor(t *testing.T) {
	control, theirs, err := controlPair()
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	defer theirs.Close()
	ctx, cancel := context.WithCancel(t.Context())
	gave := make(chan error)
	go func() {
		_, err := (&orders{}).give(ctx, control)
		gave <- err
	}()
	if _, err := theirs.Read(make([]byte, launcher.MaxOrders)); err != nil { // the orders are there, and nothing says when the answer must be
		t.Fatal(err)
	}
	cancel()
	if err := <-gave; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
}
