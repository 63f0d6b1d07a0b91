//go:build linux

package host

import (
	"context"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dprelease/dprelease/internal/plugin/wire"
	"github.com/dprelease/dprelease/internal/plugin/wire/guest"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// kept keeps a hostile plugin's mappings for as long as it lives.
var kept [][]byte

// rawMemory is the plugin's end of the memory lane, in the hands of a plugin that
// tries everything with the file. What should have failed and did not ends it.
func rawMemory(mode string, start *wire.ReleaseRequest) (sdk.Rows, error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: start.GetSocket(), Net: "unix"})
	if err != nil {
		return nil, err
	}
	head, rights := make([]byte, wire.AnnouncementBytes), make([]byte, unix.CmsgSpace(4))
	if _, _, _, _, err = conn.ReadMsgUnix(head, rights); err != nil {
		return nil, err
	}
	req := mustMessage(wire.ToReleaseRequest(start))
	layout, err := guest.ParseAnnouncement(head, mustMessage(req.Plan.Declared(req.Public)))
	if err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, err
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, err
	}
	fd := fds[0]
	for _, size := range []int64{0, 4096, int64(layout.Size()) + 4096} {
		if unix.Ftruncate(fd, size) == nil {
			os.Exit(3)
		}
	}
	for _, n := range []int{fd, reopened(fd)} {
		if n < 0 {
			continue
		}
		if _, err := unix.Pwrite(n, []byte("x"), 0); err == nil {
			os.Exit(4)
		}
		if _, err := unix.Mmap(n, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
			os.Exit(5)
		}
		if unix.Fallocate(n, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 4096) == nil {
			os.Exit(6)
		}
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_WRITE); err == nil {
		os.Exit(7)
	}
	mem, err := unix.Mmap(fd, 0, layout.Size(), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	kept = append(kept, mem)
	switch mode {
	case "memory-flood":
		go func() {
			for {
				if _, err := conn.Write(make([]byte, 4096)); err != nil {
					return
				}
			}
		}()
		time.Sleep(50 * time.Millisecond)
	case "memory-deaf":
		time.Sleep(time.Hour)
	case "memory-leave":
		conn.Close()
	}
	return guest.NewReader(conn, mem, layout)
}

func reopened(fd int) int {
	n, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDWR, 0)
	if err != nil {
		return -1
	}
	return n
}

// A plugin can do nothing with the memory but read it. It may keep it.
func TestMemoryIsSealed(t *testing.T) {
	p := start(t, "raw", Limits{}, "memory-good")
	ctx := context.Background()
	plan, err := p.Plan(ctx, request())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := p.Release(ctx, releaseOf(request(), plan), rows, &fakeDrawer{}); err != nil {
			t.Fatal(err)
		}
	}
}

// manyRows is a feed of more rows than the slots hold.
func manyRows(ctx context.Context, w RowWriter) error {
	x, g := make([]float64, 1<<19), make([]int32, 1<<19)
	return w.Write(sdk.Batch{Rows: len(x), Columns: []sdk.Values{{Float64: x}, {Codes: g}}})
}

func TestMemoryMisused(t *testing.T) {
	for mode, code := range map[string]string{"memory-flood": CodeProtocol, "memory-deaf": CodeTimeout, "memory-leave": CodeProtocol} {
		t.Run(mode, func(t *testing.T) {
			m := marker()
			l := Limits{}
			if code == CodeTimeout {
				l = Limits{Release: short.Release, Grace: short.Grace} // only the release hangs
			}
			p := start(t, "raw", l, mode, m)
			plan, err := p.Plan(context.Background(), request())
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.Release(context.Background(), releaseOf(request(), plan), manyRows, &fakeDrawer{})
			checkCode(t, err, code)
			checkGone(t, m, p.dir.Path)
		})
	}
}
