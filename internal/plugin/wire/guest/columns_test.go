package guest

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/dprelease/dprelease/internal/plugin/wire"
	"github.com/dprelease/dprelease/plugins/sdk"
)

var columns = []sdk.Column{{Name: "x", Type: sdk.Number}, {Name: "g", Type: sdk.Category, Domain: []string{"a", "b", "c"}}}

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

func random(n int, missing, weights bool) sdk.Batch {
	b := sdk.Batch{Rows: n, Columns: []sdk.Values{{Float64: make([]float64, n)}, {Codes: make([]int32, n)}}}
	for i := range n {
		b.Columns[0].Float64[i], b.Columns[1].Codes[i] = rand.NormFloat64(), rand.Int32N(3)
		if missing {
			b.Columns[1].Codes[i]--
		}
	}
	if missing {
		b.Columns[0].Valid = make([]byte, (n+7)/8)
		for i := range b.Columns[0].Valid {
			b.Columns[0].Valid[i] = byte(rand.Uint32())
		}
	}
	if weights {
		b.Weights = make([]float64, n)
		for i := range b.Weights {
			b.Weights[i] = rand.Float64()
		}
	}
	return b
}

// reader returns the plugin's end for what a host announces.
func reader(t testing.TB, conn io.ReadWriter, mem []byte, l wire.Layout) *Reader {
	t.Helper()
	got, err := ParseAnnouncement(l.Announcement(), columns)
	if err != nil || !reflect.DeepEqual(got, l) {
		t.Fatalf("announced %+v, understood %+v, %v", l, got, err)
	}
	r, err := NewReader(conn, mem, got)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Whatever the layout, the rows arrive as they were written.
func TestColumns(t *testing.T) {
	for _, l := range []wire.Layout{wire.NewLayout(columns, 0), wire.NewLayout(columns, 10), wire.MakeLayout(columns, 1, 64), wire.MakeLayout(columns, 2, 128), wire.MakeLayout(columns, 64, 1<<16)} {
		for _, shape := range [][2]bool{{false, false}, {true, true}, {true, false}, {false, true}} {
			first, second := random(2*wire.BatchRows+77, shape[0], shape[1]), random(5, shape[0], shape[1])
			host, plugin := sockets(t)
			mem := make([]byte, l.Size())
			w := wire.NewColumnsWriter(host, mem, l)
			failed := make(chan error, 1)
			go func() {
				err := w.Write(first)
				if err == nil {
					err = w.Write(second)
				}
				if err == nil {
					err = w.Close()
				}
				failed <- err
			}()
			r := reader(t, plugin, mem, l)
			var x, weights []float64
			var g []int32
			var valid []bool
			for {
				b, err := r.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if err := b.Check(columns); err != nil || b.Rows > l.Rows {
					t.Fatalf("%d rows, %v", b.Rows, err)
				}
				x, g, weights = append(x, b.Float64(0)...), append(g, b.Codes(1)...), append(weights, b.Weights...)
				for i := range b.Rows {
					valid = append(valid, b.IsValid(0, i))
				}
			}
			if err := <-failed; err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(x, append(first.Columns[0].Float64, second.Columns[0].Float64...)) ||
				!reflect.DeepEqual(g, append(first.Columns[1].Codes, second.Columns[1].Codes...)) ||
				shape[1] && !reflect.DeepEqual(weights, append(first.Weights, second.Weights...)) || !shape[1] && weights != nil {
				t.Errorf("%d slots of %d rows: the rows changed", l.Slots, l.Rows)
			}
			for i := range first.Rows {
				if valid[i] != first.IsValid(0, i) {
					t.Fatalf("validity of row %d changed", i)
				}
			}
			if got := w.Detach(); &got[0] != &mem[0] {
				t.Error("Detach returned other memory")
			}
			if w.Write(second) == nil {
				t.Error("a write after Detach went through")
			}
		}
	}
}

// What one batch left in a slot never shows in the next one that uses it.
func TestColumnsSlotIsUsedAgain(t *testing.T) {
	host, plugin := sockets(t)
	l := wire.MakeLayout(columns, 1, 64)
	mem := make([]byte, l.Size())
	w, r := wire.NewColumnsWriter(host, mem, l), reader(t, plugin, mem, l)
	for i := range 4 {
		in := random(60-i, i%2 == 0, i%2 == 0)
		done := make(chan error, 1)
		go func() { done <- w.Write(in) }()
		b, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if b.Rows != in.Rows || (b.Weights == nil) != (in.Weights == nil) || (b.Columns[0].Valid == nil) != (in.Columns[0].Valid == nil) {
			t.Errorf("batch %d: %d rows, weights %v, bitmap %v", i, b.Rows, b.Weights != nil, b.Columns[0].Valid != nil)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

// A host that goes away before it has said that there are no more rows is an error at
// every cut, never a smaller table.
func TestColumnsCut(t *testing.T) {
	l := wire.MakeLayout(columns, 2, 64)
	for _, said := range [][]byte{{}, {1}, {1, 0, 0}, {5, 0, 0, 0}, {5, 0, 0, 0, 0, 0}} {
		host, plugin := sockets(t)
		if _, err := host.Write(said); err != nil {
			t.Fatal(err)
		}
		if err := host.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		r := reader(t, plugin, make([]byte, l.Size()), l)
		var err error
		for err == nil {
			_, err = r.Next()
		}
		if err == io.EOF {
			t.Errorf("%v and the end: no error", said)
		}
	}
}

// More slots given back than are held: the writer believes nothing any more.
func TestColumnsTooManyBack(t *testing.T) {
	l := wire.MakeLayout(columns, 2, 64)
	host, plugin := sockets(t)
	if _, err := plugin.Write(make([]byte, 60)); err != nil {
		t.Fatal(err)
	}
	w := wire.NewColumnsWriter(host, make([]byte, l.Size()), l)
	if err := w.Write(random(64*10, false, false)); err == nil || err.Error() != errColumns.Error() {
		t.Errorf("got %v", err)
	}
}

func TestLayout(t *testing.T) {
	var many []sdk.Column
	for n := range 200 {
		l := wire.NewLayout(many, int64(n)*997)
		got, err := ParseAnnouncement(l.Announcement(), many)
		if err != nil || !reflect.DeepEqual(got, l) || l.Size() > 17<<20 || l.Size()/l.Slots%8 != 0 {
			t.Fatalf("%d columns: %d bytes, %v", n, l.Size(), err)
		}
		for _, at := range l.At {
			if at%8 != 0 {
				t.Fatalf("%d columns: a column begins at %d", n, at)
			}
		}
		many = append(many, columns[n%2])
	}
	for _, b := range [][]byte{nil, make([]byte, 8), wire.Layout{Slots: 1, Rows: 65}.Announcement(), wire.Layout{Slots: 65, Rows: 64}.Announcement(),
		wire.Layout{Slots: 1, Rows: 1 << 30}.Announcement(), wire.Layout{Rows: 64}.Announcement(), append(wire.Layout{Slots: 1, Rows: 64}.Announcement(), 0)} {
		if l, err := ParseAnnouncement(b, columns); err == nil {
			t.Errorf("%v is %+v", b, l)
		}
	}
	l := wire.MakeLayout(columns, 1, 64)
	if _, err := NewReader(&bytes.Buffer{}, make([]byte, l.Size()-1), l); err == nil {
		t.Error("memory of another size was taken")
	}
}

// FuzzColumns: whatever a host announces, says and puts into the memory, the reader
// neither panics nor hands out rows that are not there.
func FuzzColumns(f *testing.F) {
	f.Add(wire.MakeLayout(columns, 2, 64).Announcement(), []byte{5, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0}, []byte{1, 0, 1})
	f.Add([]byte{1, 0, 0, 0, 64, 0, 0, 0}, []byte{65, 0, 0, 0}, []byte{})
	f.Add([]byte{1, 0, 0, 0, 64, 0, 0, 0}, []byte{255, 255, 255, 255}, []byte{7})
	f.Fuzz(func(t *testing.T, announced, said, held []byte) {
		l, err := ParseAnnouncement(announced, columns)
		if err != nil || l.Size() > 1<<20 {
			return
		}
		mem := make([]byte, l.Size())
		copy(mem, held)
		r, err := NewReader(struct {
			io.Reader
			io.Writer
		}{bytes.NewReader(said), io.Discard}, mem, l)
		if err != nil {
			t.Fatal(err)
		}
		for {
			b, err := r.Next()
			if err != nil {
				return
			}
			if len(b.Float64(0)) != b.Rows || len(b.Codes(1)) != b.Rows || b.Weights != nil && len(b.Weights) != b.Rows {
				t.Fatal("columns are shorter than the batch")
			}
			for i := range b.Rows {
				_, _ = b.IsValid(0, i), b.IsValid(1, i)
			}
		}
	})
}
