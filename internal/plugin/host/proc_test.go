//go:build linux

package host

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

type proc struct {
	ppid  int
	state byte
}

// processes reads what /proc says of all processes.
func processes() map[int]proc {
	all := map[int]proc{}
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		b, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue
		}
		// The name in parentheses may hold anything, also parentheses.
		if f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])); len(f) > 2 {
			ppid, _ := strconv.Atoi(f[1])
			all[pid] = proc{ppid: ppid, state: f[0][0]}
		}
	}
	return all
}
