package sandbox

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// procStat is the record of a process in /proc.
type procStat struct {
	pid, ppid, session int
	state              byte
	started            uint64
}

// Kill ends every process of the tree and reports whether none is left. It takes at most
// the given time.
func (p *Process) Kill(within time.Duration) bool {
	deadline := time.Now().Add(within)
	// Registered and under the lock, the leader has not been reaped: the number is still its own.
	leaders.Lock()
	if leaders.pids[p.pid] {
		_ = unix.Kill(-p.pid, unix.SIGKILL)
		_ = unix.Kill(p.pid, unix.SIGKILL)
	}
	leaders.Unlock()
	// The usual tree is one process: once it is reaped and this process has no
	// child any more, there is nothing to look for.
	select {
	case <-p.done:
	case <-time.After(min(within, usualEnd)):
	}
	for {
		if p.ended() && childless() {
			return true
		}
		if left := p.sweep(); p.ended() && left == 0 {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
		select {
		case <-p.done:
			time.Sleep(time.Millisecond)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// ended reports whether the first process has been reaped.
func (p *Process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// usualEnd is the time that a killed process usually takes to end; its descendants are
// looked for after that at the latest.
const usualEnd = 10 * time.Millisecond

// childless reports that this process has no children. As the reaper of its orphaned
// descendants it then has no descendants either: every one has a chain of parents
// that lead to it, and the last one of the chain is its child.
func childless() bool {
	err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil)
	return err == unix.ECHILD
}

// sweep kills the processes of the tree that are left, except its leader, and
// returns how many there were.
func (p *Process) sweep() int {
	leaders.Lock()
	defer leaders.Unlock()
	all := processes()
	for pid := range p.members(all) {
		if pid != p.pid {
			p.doomed[pid] = true
		}
	}
	// A process that has ended can no longer be told by its mark, so those that were
	// once found are remembered until they are gone, and reaped if they are ours.
	for pid := range p.doomed {
		s, ok := all[pid]
		switch {
		case !ok:
			delete(p.doomed, pid)
		case s.state != 'Z':
			killExactly(s)
		case s.ppid == os.Getpid():
			// Not yet, where threads of it are still ending.
			if got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); got == pid || err == unix.ECHILD {
				delete(p.doomed, pid)
			}
		}
	}
	return len(p.doomed)
}

// members are the processes of the tree: whatever is in its session or carries its
// mark, orphans if there can be no others, and the descendants of all those. A child
// that is older than the tree came with this process, across an exec.
func (p *Process) members(all map[int]procStat) map[int]bool {
	self := os.Getpid()
	mine := map[int]bool{p.pid: true}
	for pid, s := range all {
		switch {
		case pid == self || leaders.pids[pid]:
		case s.session == p.pid,
			s.state != 'Z' && marked(pid, p.mark),
			p.soleParent && s.ppid == self && s.started >= p.started:
			mine[pid] = true
		}
	}
	for grown := true; grown; {
		grown = false
		for pid, s := range all {
			if !mine[pid] && mine[s.ppid] && !leaders.pids[pid] {
				mine[pid], grown = true, true
			}
		}
	}
	return mine
}

// contains reports whether pid is a process of the tree.
func (p *Process) contains(pid int) bool {
	if s, ok := readStat(pid); ok && s.session == p.pid {
		return true
	}
	leaders.Lock()
	defer leaders.Unlock()
	return p.members(processes())[pid]
}

// killExactly kills the process that s was read from, not one that took its number.
func killExactly(s procStat) {
	fd, err := unix.PidfdOpen(s.pid, 0)
	if err == unix.ENOSYS { // a kernel before 5.3
		_ = unix.Kill(s.pid, unix.SIGKILL)
		return
	}
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if now, ok := readStat(s.pid); ok && now.started == s.started {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
}

func processes() map[int]procStat {
	all := map[int]procStat{}
	dir, err := os.Open("/proc")
	if err != nil {
		return all
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if s, ok := readStat(pid); ok {
				all[pid] = s
			}
		}
	}
	return all
}

func readStat(pid int) (procStat, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procStat{}, false
	}
	// The name in parentheses may hold anything, also parentheses.
	end := bytes.LastIndexByte(b, ')')
	f := strings.Fields(string(b[end+1:]))
	if end < 0 || len(f) < 20 {
		return procStat{}, false
	}
	s := procStat{pid: pid, state: f[0][0]}
	s.ppid, _ = strconv.Atoi(f[1])
	s.session, _ = strconv.Atoi(f[3])
	s.started, _ = strconv.ParseUint(f[19], 10, 64)
	return s, true
}

// marked reports whether a process was started with the tree's mark. Processes of
// other users cannot be read and are not ours.
func marked(pid int, mark string) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(b, []byte(markKey+"="+mark))
}
