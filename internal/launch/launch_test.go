//go:build linux

package launch

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// The test binary is also what the tests start: it prints what it finds.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "show" {
		wd, _ := os.Getwd()
		open, _ := os.ReadDir("/proc/self/fd")
		var descriptors []string
		for _, d := range open {
			if to, err := os.Readlink("/proc/self/fd/" + d.Name()); err == nil && !runtimes(to) {
				descriptors = append(descriptors, d.Name())
			}
		}
		fmt.Println(wd, os.Args[2:], descriptors)
		for _, kv := range os.Environ() {
			fmt.Println(kv)
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
		fmt.Println("the lifeline ended")
		return
	}
	goleak.VerifyTestMain(m)
}

// runtimes says that a descriptor is one of Go's own.
func runtimes(to string) bool {
	return strings.HasPrefix(to, "/proc/") || strings.HasPrefix(to, "/sys/fs/cgroup") || strings.HasPrefix(to, "anon_inode:")
}

// A process finds its folder, its arguments, its environment and its three streams, and
// nothing else that its parent has.
func TestSpawn(t *testing.T) {
	t.Setenv("SECRET", "4815162342")
	extra, err := os.CreateTemp(t.TempDir(), "open")
	if err != nil {
		t.Fatal(err)
	}
	defer extra.Close()
	dir := t.TempDir()
	p, err := Spawn(Command{Path: Self, Args: []string{"me", "show", "a", "b"}, Env: []string{"X=1"}, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	p.Run(func() { defer close(ended); Reap(p.Pid) })
	p.Lifeline.Close()
	out, _ := io.ReadAll(p.Stdout)
	<-ended
	p.Close()
	want := fmt.Sprintf("%s [a b] [0 1 2]\nX=1\n%s=%s\nthe lifeline ended\n", dir, MarkKey, p.Mark)
	if string(out) != want {
		t.Errorf("printed %q, want %q", out, want)
	}
	if len(p.Mark) != 32 {
		t.Errorf("mark %q", p.Mark)
	}
}

// What cannot be started leaves nothing behind.
func TestSpawnFails(t *testing.T) {
	before, _ := os.ReadDir("/proc/self/fd")
	for _, c := range []Command{{Path: "/nonexistent", Dir: "/"}, {Path: Self, Dir: "/nonexistent"}} {
		if p, err := Spawn(c); err == nil {
			t.Errorf("%+v started process %d", c, p.Pid)
		}
	}
	if after, _ := os.ReadDir("/proc/self/fd"); len(after) > len(before)+1 { // the mark may open one
		t.Errorf("%d descriptors are open, %d were", len(after), len(before))
	}
}

func TestFits(t *testing.T) {
	have := Environment("/tmp/a", handshake("/tmp/a/s"))
	if want := Environment("/tmp/b", handshake("/tmp/b/s")); !fits(have, want) {
		t.Errorf("%q does not stand for %q", have, want)
	}
	for i := range have {
		other := slices.Clone(have)
		other[i] = "OTHER=x"
		if fits(have, other) || fits(other, have) {
			t.Errorf("%q stands for %q", have, other)
		}
	}
	version := slices.Clone(have)
	for i, kv := range version {
		if strings.HasPrefix(kv, "PLUGIN_PROTOCOL_VERSIONS=") {
			version[i] = "PLUGIN_PROTOCOL_VERSIONS=2"
		}
	}
	if fits(have, version) || fits(have, have[1:]) || fits(have, append(slices.Clone(have), "PLUGIN_CLIENT_CERT=x")) {
		t.Error("another handshake is taken for the same")
	}
}

// Of the host's own environment only what the handshake needs gets through.
func TestEnvironment(t *testing.T) {
	got := Environment("/base", []string{"SECRET=1", "PLUGIN_X=2", "DPRELEASE_PLUGIN=c", "DPRELEASE_OTHER=3", "PATH=/evil"})
	want := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "TZ=UTC", "HOME=/base", "TMPDIR=/base", "PLUGIN_X=2", "DPRELEASE_PLUGIN=c"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestNumber(t *testing.T) {
	for s, want := range map[string]int{"": 0, "7": 7, "1023": 1023, "12x": 0, "-3": 0, "99999999999999999999": 0} {
		if got := number(s); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
}
