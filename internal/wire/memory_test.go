package wire

import (
	"bytes"
	"io"
	"net"
	"path/filepath"
	"reflect"
	"testing"
)

// sockets returns both ends of a unix socket.
func sockets(t testing.TB) (a, b *net.UnixConn) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	d, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); d.Close() })
	return c.(*net.UnixConn), d.(*net.UnixConn)
}

// Whatever the slots are, the rows are those of the plain stream.
func TestMemory(t *testing.T) {
	for _, layout := range []MemoryLayout{NewMemoryLayout(2, 0), NewMemoryLayout(1, 10), {1, 4096}, {2, 4096}, {3, 1 << 16}, {64, 4104}} {
		in, in2 := random(3*BatchRows+77, true, true), random(5, true, true)
		host, plugin := sockets(t)
		mem := make([]byte, layout.Size())
		w := NewMemoryWriter(host, mem, layout)
		failed := make(chan error, 1)
		go func() {
			rows := NewRowsWriter(w, specs)
			err := rows.Write(in)
			if err == nil {
				err = rows.Write(in2)
			}
			if err == nil {
				err = rows.Close()
			}
			if err == nil {
				err = w.Close()
			}
			failed <- err
		}()
		src, err := NewMemoryReader(plugin, mem, layout)
		if err != nil {
			t.Fatal(err)
		}
		r := NewRowsReader(src, specs)
		var x, weights []float64
		var g []int32
		for {
			b, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%+v: %v", layout, err)
			}
			x, g, weights = append(x, b.Columns[0].Float64...), append(g, b.Columns[1].Codes...), append(weights, b.Weights...)
		}
		r.Close()
		if err := <-failed; err != nil {
			t.Fatalf("%+v: %v", layout, err)
		}
		if !reflect.DeepEqual(x, append(in.Columns[0].Float64, in2.Columns[0].Float64...)) ||
			!reflect.DeepEqual(g, append(in.Columns[1].Codes, in2.Columns[1].Codes...)) ||
			!reflect.DeepEqual(weights, append(in.Weights, in2.Weights...)) {
			t.Errorf("%+v: the rows changed", layout)
		}
		if got := w.Detach(); &got[0] != &mem[0] {
			t.Error("Detach returned other memory")
		}
		if _, err := w.Write([]byte{1}); err == nil {
			t.Error("a write after Detach went through")
		}
	}
}

// A host that goes away in between is an error at every cut, never a smaller table.
func TestMemoryCut(t *testing.T) {
	whole := write(t, random(20, true, false), random(3, true, false))
	layout := MemoryLayout{2, 4096}
	for n := 0; n < len(whole); n += 7 {
		host, plugin := sockets(t)
		mem := make([]byte, layout.Size())
		w := NewMemoryWriter(host, mem, layout)
		if _, err := w.Write(whole[:n]); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		src, err := NewMemoryReader(plugin, mem, layout)
		if err != nil {
			t.Fatal(err)
		}
		r := NewRowsReader(src, specs)
		for err == nil {
			_, err = r.Next()
		}
		if err == io.EOF {
			t.Fatalf("cut at %d of %d and no error", n, len(whole))
		}
		r.Close()
		host.Close()
		plugin.Close()
	}
}

// More slots given back than are held: the writer believes nothing any more.
func TestMemoryTooManyBack(t *testing.T) {
	layout := MemoryLayout{2, 4096}
	host, plugin := sockets(t)
	if _, err := plugin.Write(make([]byte, 60)); err != nil {
		t.Fatal(err)
	}
	w := NewMemoryWriter(host, make([]byte, layout.Size()), layout)
	if _, err := w.Write(make([]byte, 10*4096)); err != errMemory {
		t.Errorf("got %v", err)
	}
}

func TestMemoryLengths(t *testing.T) {
	layout := MemoryLayout{2, 4096}
	for _, head := range [][]byte{{0, 0, 0, 0}, {1, 16, 0, 0}, {255, 255, 255, 255}, {1, 0}} {
		host, plugin := sockets(t)
		if _, err := host.Write(head); err != nil {
			t.Fatal(err)
		}
		host.Close()
		src, err := NewMemoryReader(plugin, make([]byte, layout.Size()), layout)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := src.Read(make([]byte, 10)); n != 0 || err == nil || err == io.EOF {
			t.Errorf("%v: %d bytes, %v", head, n, err)
		}
	}
}

func TestMemoryLayout(t *testing.T) {
	for columns := range 200 {
		l := NewMemoryLayout(columns, int64(columns)*997)
		got, err := ParseMemoryLayout(l.Bytes())
		if err != nil || got != l || l.Size() > 16<<20 {
			t.Fatalf("%d columns: %+v, %+v, %v", columns, l, got, err)
		}
	}
	for _, b := range [][]byte{nil, make([]byte, 8), (MemoryLayout{1, 4100}).Bytes(), (MemoryLayout{65, 4096}).Bytes(),
		(MemoryLayout{1, 1 << 30}).Bytes(), (MemoryLayout{0, 4096}).Bytes(), append((MemoryLayout{1, 4096}).Bytes(), 0)} {
		if l, err := ParseMemoryLayout(b); err == nil {
			t.Errorf("%v is %+v", b, l)
		}
	}
	if _, err := NewMemoryReader(&bytes.Buffer{}, make([]byte, 4095), MemoryLayout{1, 4096}); err == nil {
		t.Error("memory of another size was taken")
	}
}
