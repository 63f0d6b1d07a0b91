package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/dprelease/dprelease/internal/command"
)

// hiding keeps what a run prints, and how it ended, for people who may see the table (P33).
type hiding struct {
	file      *os.File // nil: nothing is hidden
	out, errw io.Writer

	mu   sync.Mutex
	said bytes.Buffer
}

// Write keeps what would have been printed.
func (h *hiding) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.said.Write(b)
}

// hide begins to keep what the environment prints for a private file; "" hides nothing.
func (e *environment) hide(path, releases string) (*hiding, error) {
	h := &hiding{out: e.Out, errw: e.Errw}
	if path == "" {
		return h, nil
	}
	if err := privateName("--hide-outcome", path, releases); err != nil {
		return nil, err
	}
	// Runs of every day may share the file.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--hide-outcome: %s cannot be made", path)
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		f.Close()
		return nil, fmt.Errorf("--hide-outcome: %s is there, and others may read it", path)
	}
	h.file, e.Out, e.Errw = f, h, h
	return h, nil
}

// end gives the environment its outputs back. Where something is hidden, the private file gets what was kept, with the exit
// code, and the command succeeds whatever happened.
func (h *hiding) end(e *environment, err error) error {
	e.Out, e.Errw = h.out, h.errw
	if h.file == nil {
		return err
	}
	exit := command.ExitDone
	var f command.Failed
	switch {
	case errors.As(err, &f):
		exit = f.Exit
	case err != nil:
		exit = command.ExitUsage
		fmt.Fprintf(&h.said, "dprelease: %v\n", err)
	}
	fmt.Fprintf(&h.said, "%s: exit %d\n", time.Now().UTC().Format(time.RFC3339), exit)
	_, wrong := h.file.Write(h.said.Bytes())
	if errors.Join(wrong, h.file.Close()) != nil {
		return e.FailWith(command.Unspent(command.ExitBug, "OUTPUT", "how the run ended cannot be written to "+h.file.Name()), nil)
	}
	return nil
}
