//go:build linux

package sandbox

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Only the tree's own processes get through to a guarded listener, and no more of them at
// a time than were said.
func TestGuard(t *testing.T) {
	p, dir := startWait(t)
	path := filepath.Join(dir.Path, "l")
	inner, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	accept := func(of *Process) (*Listener, chan net.Conn) {
		l := of.Guard(inner, 1)
		got := make(chan net.Conn, 4)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					close(got)
					return
				}
				got <- c
			}
		}()
		return l, got
	}
	refused := func() bool {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		_, err = c.Read(make([]byte, 1))
		return err == io.EOF
	}
	l, got := accept(p)
	if !refused() {
		t.Error("a foreign process is let in")
	}
	l.Close()
	if c, ok := <-got; ok {
		t.Errorf("accepted %v", c)
	}

	// For the count, this process plays the tree.
	if inner, err = net.Listen("unix", path); err != nil {
		t.Fatal(err)
	}
	l, got = accept(&Process{pid: session(t)})
	for range 3 {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		server := <-got
		if !refused() {
			t.Error("a second connection is let in")
		}
		server.Close()
		server.Close()
		c.Close()
	}
	l.Close()
}

func session(t *testing.T) int {
	s, ok := readStat(os.Getpid())
	if !ok {
		t.Fatal("no stat of this process")
	}
	return s.session
}
