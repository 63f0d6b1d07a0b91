package run

import (
	"testing"
	"testing/fstest"
)

// The memory of a run is that of the machine or of the container around it, in steps that do not show what a row needs.
func TestMemoryIsOfTheMachine(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	machine := file("MemTotal:       24683656 kB\nMemFree: 1 kB\n")
	for name, c := range map[string]struct {
		root fstest.MapFS
		want int64
	}{
		"unknown": {fstest.MapFS{}, 1 << 30},
		"machine": {fstest.MapFS{"proc/meminfo": machine}, 4 << 30},
		"small":   {fstest.MapFS{"proc/meminfo": file("MemTotal: 500000 kB\n")}, 256 << 20},
		"container": {fstest.MapFS{"proc/meminfo": machine, "proc/self/cgroup": file("0::/\n"),
			"sys/fs/cgroup/memory.max": file("8589934592\n")}, 2 << 30},
		"no limit": {fstest.MapFS{"proc/meminfo": machine, "proc/self/cgroup": file("0::/a\n"),
			"sys/fs/cgroup/a/memory.max": file("max\n")}, 4 << 30},
		"the group around": {fstest.MapFS{"proc/meminfo": machine, "proc/self/cgroup": file("0::/a/b\n"),
			"sys/fs/cgroup/a/b/memory.max": file("max\n"), "sys/fs/cgroup/a/memory.max": file("4294967296\n")}, 1 << 30},
		"version 1": {fstest.MapFS{"proc/meminfo": machine, "proc/self/cgroup": file("3:cpu:/x\n4:memory:/x\n"),
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": file("9223372036854771712\n"), "sys/fs/cgroup/memory/memory.limit_in_bytes": file("4294967297\n")}, 1 << 30},
	} {
		if got := memoryOf(c.root); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if Memory() < leastMemory {
		t.Errorf("this machine: %d", Memory())
	}
}
