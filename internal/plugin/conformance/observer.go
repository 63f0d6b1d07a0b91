package conformance

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/dprelease/dprelease/internal/data/file"
	"github.com/dprelease/dprelease/internal/plugin/host"
	"github.com/dprelease/dprelease/internal/plugin/sandbox"
	"github.com/dprelease/dprelease/plugins/sdk/sdktest"
)

// confinement returns the confinement of a plugin while it is checked: as well as this
// machine can, or in full where the command demands it.
func confinement(c host.Command) sandbox.Confinement {
	if c.Confine.Mode != sandbox.Required {
		c.Confine.Mode = sandbox.Best
	}
	if c.Confine.Memory == 0 {
		c.Confine.Memory = memoryLimit
	}
	return c.Confine
}

// memoryLimit is the number of bytes that a process may hold while it is checked. The largest
// table that it is given takes 64 KiB a column.
const memoryLimit = 2 << 30

// The phases of a process, as a finding names them.
const (
	starting   = "its start"
	describing = "Describe"
	planning   = "Plan"
	releasing  = "Release"
)

// observer compares the acts of a plugin's processes with the needs of a mechanism.
type observer struct {
	mu     sync.Mutex
	phase  string
	reads  []string // what was granted
	seen   map[string]bool
	opened map[string]bool // the system's files that were read
	broken []sdktest.Finding
}

func newObserver(c host.Command) *observer {
	return &observer{phase: starting, reads: c.Confine.Read, seen: map[string]bool{}, opened: map[string]bool{}}
}

// enter notes the phase that the host begins.
func (o *observer) enter(phase string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.phase = phase
}

// findings are the first of each kind that was seen.
func (o *observer) findings() []sdktest.Finding {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.broken
}

// read are the system's files that were read.
func (o *observer) read() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Sorted(maps.Keys(o.opened))
}

// tell is told of everything that a process does.
func (o *observer) tell(s sandbox.Seen) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s.Act == sandbox.OpenFile && !s.Write && sandbox.System(s.Path) {
		o.opened[s.Path] = true
	}
	check, what := o.judge(s)
	if check == "" || o.seen[check] {
		return
	}
	o.seen[check] = true
	o.broken = append(o.broken, sdktest.Finding{Check: check, Detail: fmt.Sprintf("in %s it %s", o.phase, what)})
}

// judge names the promise that an act breaks, and says what was done.
func (o *observer) judge(s sandbox.Seen) (check, what string) {
	switch s.Act {
	case sandbox.OpenSocket:
		// A library of gRPC asks the kernel what sockets it has while a plugin starts. Nothing
		// is known then that could be sent, and the sandbox gives it none to keep.
		if private(s.Path) || o.phase == starting {
			return "", ""
		}
		return "network", "reaches for " + s.Path
	case sandbox.TouchProcess:
		return "trace", "tries to signal another process or to look into it"
	case sandbox.StartProcess:
		if o.phase != starting {
			return "process", strings.TrimSpace("starts a process " + s.Path)
		}
	case sandbox.OpenFile:
		switch {
		case s.Write && !o.mayWrite(s.Path):
			return "write", "makes or changes the file " + s.Path
		case !s.Write && o.phase != starting && !o.mayRead(s.Path):
			return "read", "reads the file " + s.Path
		}
	}
	return "", ""
}

// mayWrite allows the devices that keep nothing and, while the plugin starts, what makes
// its socket.
func (o *observer) mayWrite(path string) bool {
	return file.Within(path, "/dev") && !file.Within(path, "/dev/shm") || o.phase == starting && private(path) || path == ""
}

// mayRead allows what is the same on every machine of a kind, and what the plugin is.
func (o *observer) mayRead(path string) bool {
	if path == "" || sandbox.System(path) || private(path) || strings.HasPrefix(path, "/memfd:plugin") {
		return true
	}
	for _, folder := range append([]string{"/etc", "/sys", "/dev", "/proc/self", "/proc/thread-self", "/proc/1", "/proc/sys"}, o.reads...) {
		if file.Within(path, folder) {
			return true
		}
	}
	return filepath.Dir(path) == "/proc" // of the machine, not of a process
}

// private reports whether a path lies in the folder of a plugin.
func private(path string) bool {
	return strings.HasPrefix(path, filepath.Join(sandbox.DirBase(), "dprelease-plugin-"))
}
