package wire

import (
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"syscall"
	"testing"
)

// pollConn is a socket beside the memory that can be read without waiting.
type pollConn struct{ *net.UnixConn }

func (c pollConn) Poll(b []byte) (n int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	_ = raw.Read(func(fd uintptr) bool { n, _ = syscall.Read(int(fd), b); return true })
	return max(n, 0), nil
}

var oneNumber = []ColumnSpec{{Name: "x"}}

// Rows that are put where they belong, rows that are not although there is room, with and without missing ones, and
// rows there was no room for are read in order, whatever the slots are and in whatever order they come.
func TestRoom(t *testing.T) {
	for seed := range uint64(24) {
		r := rand.New(rand.NewPCG(seed, 6))
		layout := []MemoryLayout{NewMemoryLayout(1, 0), {2, 1 << 20}, {1, 2 << 20}, {7, 300 << 10}}[seed%4]
		host, plugin := sockets(t)
		var conn MemoryConn = host
		if r.IntN(3) > 0 {
			conn = pollConn{host}
		}
		w := NewMemoryWriter(conn, make([]byte, layout.Size()), layout)
		var want []float64
		var present []bool
		rooms := 0
		failed := make(chan error, 1)
		go func() {
			rows := NewRowsWriter(w, oneNumber)
			failed <- func() (err error) {
				defer func() {
					if err != nil {
						host.Close() // ends the reader
					}
				}()
				type kept struct {
					parts [][]float64
					n     int
				}
				var queue []kept
				some := func(part []float64, whole bool, n int) error { // one batch of n rows
					values := part
					missing := !whole && r.IntN(2) == 0
					if part == nil || r.IntN(4) == 0 {
						values = make([]float64, n)
					}
					v := Values{Float64: values}
					if missing {
						v.Valid = make([]byte, (n+7)/8)
					}
					for i := range values {
						values[i] = r.Float64()
						there := !missing || r.IntN(2) == 0
						if missing && there {
							v.Valid[i>>3] |= 1 << (i & 7)
						}
						want, present = append(want, values[i]), append(present, there)
					}
					return rows.Write(Batch{Rows: n, Columns: []Values{v}})
				}
				next := func() error {
					k := queue[0]
					queue = queue[1:]
					elsewhere := r.IntN(3) == 0
					for _, part := range k.parts {
						if elsewhere {
							part = make([]float64, len(part))
						}
						if err := some(part, !elsewhere, len(part)); err != nil {
							return err
						}
					}
					return nil
				}
				for range 30 {
					n := 1 + r.IntN([]int{9, 1000, 3 * BatchRows, 6 * BatchRows}[r.IntN(4)])
					for {
						parts, later := rows.Room(n)
						if later {
							if err := next(); err != nil {
								return err
							}
							continue
						}
						if parts != nil {
							queue, rooms = append(queue, kept{parts, n}), rooms+1
							break
						}
						for len(queue) > 0 { // no room: first what there is room for, then this
							if err := next(); err != nil {
								return err
							}
						}
						for n > 0 {
							k := min(n, 1+r.IntN(BatchRows))
							if err := some(nil, false, k); err != nil {
								return err
							}
							n -= k
						}
						break
					}
				}
				for len(queue) > 0 {
					if err := next(); err != nil {
						return err
					}
				}
				if err := rows.Close(); err != nil {
					return err
				}
				return w.Close()
			}()
		}()
		src, err := NewMemoryReader(plugin, w.mem, layout)
		if err != nil {
			t.Fatal(err)
		}
		read := NewRowsReader(src, oneNumber)
		var got []float64
		var there []bool
		for {
			b, err := read.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				plugin.Close()
				t.Fatalf("seed %d: %v, %v", seed, err, <-failed)
			}
			v := b.Columns[0]
			got = append(got, v.Float64...)
			for i := range b.Rows {
				there = append(there, v.Valid == nil || v.Valid[i>>3]>>(i&7)&1 == 1)
			}
		}
		if err := <-failed; err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !slices.Equal(got, want) || !slices.Equal(there, present) || rooms == 0 {
			t.Errorf("seed %d: %d rows of %d, not the same, or none in place (%d)", seed, len(got), len(want), rooms)
		}
		read.Close()
	}
}

// Every batch without missing values has the bytes before its values that Room reckons with.
func TestFramingIsTheSame(t *testing.T) {
	want, err := framingOf(oneNumber)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 2, 7, 8, 63, 64, 65, 4096, BatchRows - 1, BatchRows} {
		var c counter
		w := NewRowsWriter(&c, oneNumber)
		for k := range 3 {
			before := int(c)
			if err := w.Write(Batch{Rows: n, Columns: []Values{{Float64: make([]float64, n)}}}); err != nil {
				t.Fatal(err)
			}
			head := int(c) - before - 8*n
			if k == 0 {
				head -= want.schema
			}
			if head != want.batch {
				t.Errorf("%d rows, batch %d: %d bytes instead of %d", n, k, head, want.batch)
			}
		}
	}
}

// Values that lie in the memory, but not where they belong, are refused: writing them would destroy others.
func TestRoomIsTakenInTurn(t *testing.T) {
	host, _ := sockets(t)
	layout := NewMemoryLayout(1, 0)
	w := NewMemoryWriter(host, make([]byte, layout.Size()), layout)
	rows := NewRowsWriter(w, oneNumber)
	first, _ := rows.Room(10)
	second, _ := rows.Room(10)
	if len(first) != 1 || len(second) != 1 {
		t.Fatal("no room")
	}
	if err := rows.Write(Batch{Rows: 10, Columns: []Values{{Float64: second[0]}}}); err == nil {
		t.Error("rows of another room were written")
	}
	many, _ := NewRowsWriter(w, specs).Room(10)
	coded, _ := NewRowsWriter(w, specs[1:]).Room(10)
	stream, _ := NewRowsWriter(new(counter), oneNumber).Room(10)
	large, _ := rows.Room(1 << 20)
	none, _ := rows.Room(0)
	if many != nil || coded != nil || stream != nil || large != nil || none != nil {
		t.Error("room for what does not lie in one piece in a slot")
	}
}
