//go:build linux

package host

import (
	"testing"

	"github.com/dprelease/dprelease/internal/wire"
)

// Memory that was begun early is used where it fits and given back where it does not.
func TestAhead(t *testing.T) {
	small, large := wire.NewMemoryLayout(1, 100), wire.NewMemoryLayout(1, 0)
	if small.Size() >= large.Size()/4 {
		t.Fatalf("100 rows take %d bytes, any number %d", small.Size(), large.Size())
	}
	var a ahead
	a.begin(small)
	a.begin(large) // a second plan: the first was begun
	a.done.Wait()
	first := a.memory
	m, err := a.take(small)
	if err != nil || m != first || a.memory != nil {
		t.Fatalf("took %p, began %p, left %p, %v", m, first, a.memory, err)
	}
	next, err := a.take(small)
	if err != nil || next == m {
		t.Fatalf("the same memory twice, or %v", err)
	}
	m.free(m.mem)
	next.free(next.mem)

	var b ahead
	b.begin(small)
	b.done.Wait()
	first = b.memory
	m, err = b.take(large)
	if err != nil || m.layout != large || len(m.mem) != large.Size() {
		t.Fatalf("took %+v, %v", m.layout, err)
	}
	m.free(m.mem)
	if first.fd != -1 || first.mem != nil {
		t.Error("what did not fit was not given back")
	}

	var c ahead
	c.begin(small)
	c.done.Wait()
	first = c.memory
	c.drop()
	if first.fd != -1 || first.mem != nil {
		t.Error("what nobody took was not given back")
	}
	if c.begin(small); c.end() != nil {
		t.Error("something began after the end")
	}
}
