package ledger

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// thisProcess names this process among all processes of one machine since it was
// started: the machine's boot, the space in which process numbers count, the
// process number, and when it began. Numbers are used again, beginnings are not.
var thisProcess = sync.OnceValue(func() string {
	start, ok := startOf(os.Getpid())
	if !ok {
		return ""
	}
	return machine() + "/" + strconv.Itoa(os.Getpid()) + "/" + start
})

var machine = sync.OnceValue(func() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, err2 := os.Readlink("/proc/self/ns/pid")
	if err != nil || err2 != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + "/" + strings.Trim(space, "pid:[]")
})

// startOf is field 22 of /proc/PID/stat. A process that has ended and was not
// waited for has ended.
func startOf(pid int) (string, bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false
	}
	// The name in front, in brackets, may hold anything.
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 20 || f[0] == "Z" || f[0] == "X" {
		return "", false
	}
	return f[19], true
}

// alive says whether the run that holds a release may still be at work: its lease
// runs, and it is not known to have ended.
func (r *Release) alive(now time.Time) bool {
	at := strings.LastIndex(r.holder, "/")
	if at > 0 {
		home := r.holder[:at]
		if i := strings.LastIndex(home, "/"); i > 0 && home[:i] == machine() {
			if pid, err := strconv.Atoi(home[i+1:]); err == nil {
				start, ok := startOf(pid)
				if !ok || start != r.holder[at+1:] {
					return false
				}
			}
		}
	}
	return now.Before(r.until)
}
