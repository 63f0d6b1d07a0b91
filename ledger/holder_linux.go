package ledger

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
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

// holding is this process, and until when it holds what it holds by the time since
// the machine was started.
func holding(lease time.Duration) string {
	name := thisProcess()
	up, ok := uptime()
	if name == "" || !ok {
		return name
	}
	return name + "@" + strconv.FormatInt(int64((up+lease)/time.Microsecond), 10)
}

// alive reports whether the run that holds a release may still be at work: its lease
// runs, and it is not known to have ended. On the machine of the holder the lease runs
// by the time since that machine was started, which no change of a clock can move; on
// others by the ledger's clock.
func (r *Release) alive(now time.Time) bool {
	if !now.Before(r.until) && r.until.UnixMicro() == 0 {
		return false // given up
	}
	holder, mark, marked := strings.Cut(r.holder, "@")
	// boot / space / process / beginning
	part := strings.Split(holder, "/")
	home, _, _ := strings.Cut(machine(), "/")
	if len(part) != 4 || home == "" || part[0] != home {
		return now.Before(r.until)
	}
	if part[0]+"/"+part[1] == machine() {
		if pid, err := strconv.Atoi(part[2]); err == nil {
			if start, ok := startOf(pid); !ok || start != part[3] {
				return false
			}
		}
	}
	up, ok := uptime()
	end, err := strconv.ParseInt(mark, 10, 64)
	if !marked || !ok || err != nil {
		return now.Before(r.until)
	}
	return up/time.Microsecond < time.Duration(end)
}

// uptime is the time since the machine was started, sleep included. Nobody sets it,
// and it is the same in all containers of a machine.
func uptime() (time.Duration, bool) {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}

// mounted reports whether a file is a mount of its own, as containers make them.
func mounted(path string) bool {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return false
	}
	path, err = filepath.Abs(path)
	return err == nil && mountedIn(string(b), path)
}

var escapeMount = strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`)

// mountedIn looks for a path among the places of mounts, the fifth field of a line.
func mountedIn(mounts, path string) bool {
	path = escapeMount.Replace(path)
	for line := range strings.Lines(mounts) {
		if f := strings.Fields(line); len(f) > 4 && f[4] == path {
			return true
		}
	}
	return false
}
