package ledger

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/ledgercheck"
	"github.com/dprelease/dprelease/internal/testkit/postgrestest"
)

// proxy stands between two machines, on an address of its own, and cuts the
// connection at the n-th commit: before the server sees it, or before the client
// sees the answer.
type proxy struct {
	listener net.Listener
	to       string
	cut      int
	after    bool

	mu      sync.Mutex
	commits int
	done    bool
}

func newProxy(t *testing.T, cut int, after bool) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, to: postgrestest.Shared(t).Address(), cut: cut, after: after}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return p
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	srv, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer srv.Close()
	var silent sync.Mutex
	mute := false
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 64<<10)
		for {
			n, err := srv.Read(buf)
			silent.Lock()
			muted := mute
			silent.Unlock()
			if n > 0 && !muted {
				if _, err := client.Write(buf[:n]); err != nil {
					return
				}
			}
			if n > 0 && muted || err != nil {
				client.Close() // the server has answered, and nobody hears it
				return
			}
		}
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if n > 0 && bytes.Contains(buf[:n], []byte("COMMIT\x00")) && p.now() {
			if !p.after {
				break
			}
			silent.Lock()
			mute = true
			silent.Unlock()
		}
		if n > 0 {
			if _, err := srv.Write(buf[:n]); err != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	if !p.after {
		srv.Close()
	}
	client.Close()
	<-done
	_, _ = io.Copy(io.Discard, client)
}

func (p *proxy) reached() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done
}

// now counts a commit and says whether it is the one to cut at.
func (p *proxy) now() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.commits++
	if p.commits == p.cut {
		p.done = true
		return true
	}
	return false
}

// Two machines share a ledger, and the network cuts one of them off in the middle
// of each of its commits. The outcome is not known to it; the other finds out by
// the key.
func TestCutInMidCommit(t *testing.T) {
	at := postgrestest.New(t)
	fresh := copies(t, at)
	sides := []bool{false, true}
	if testing.Short() {
		sides = sides[1:]
	}
	for _, after := range sides {
		for cut := 1; ; cut++ {
			at := fresh()
			p := newProxy(t, cut, after)
			far := strings.Replace(at, postgrestest.Shared(t).Address(), p.listener.Addr().String(), 1)
			var visible []ledgercheck.Output
			show := func(o ledgercheck.Output) { visible = append(visible, o) }
			how, err := life(address(t, far), nil, false, "first", show)
			if !p.reached() {
				if err != nil || how != "made" || cut < 4 {
					t.Fatalf("cut %d was not reached: %s, %v", cut, how, err)
				}
				break
			}
			before := recovered(t, at)
			for _, wrong := range ledgercheck.Check(before, visible, nil) {
				t.Fatalf("cut %d, after %v: %s", cut, after, wrong)
			}
			if err == nil {
				t.Fatalf("cut %d, after %v: the run did not notice", cut, after)
			}
			die(t, at)
			how, err = life(address(t, at), nil, false, "second", show)
			if err != nil && codeOf(err) != CodeUnfinished || how == "made" && len(before.Debits) > 1 {
				t.Fatalf("cut %d, after %v: then %s, %v", cut, after, how, err)
			}
			if _, err := life(address(t, at), nil, true, "third", show); err != nil {
				t.Fatalf("cut %d, after %v: at last %v", cut, after, err)
			}
			for _, wrong := range ledgercheck.Check(recovered(t, at), visible, before.Spent) {
				t.Fatalf("cut %d, after %v: %s", cut, after, wrong)
			}
		}
	}
}
