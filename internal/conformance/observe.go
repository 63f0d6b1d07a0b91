package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// transcript keeps the first bytes of what a plugin prints.
type transcript struct {
	mu   sync.Mutex
	text strings.Builder
}

const maxTranscript = 4096

// Write never fails, so that the drain goes on.
func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text.Write(p[:min(len(p), maxTranscript-t.text.Len())])
	return len(p), nil
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// children are the child processes of this one.
func children() map[int]bool {
	out := map[int]bool{}
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, f := range lists {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		for _, word := range strings.Fields(string(b)) {
			if pid, err := strconv.Atoi(word); err == nil {
				out[pid] = true
			}
		}
	}
	return out
}

// residentSlack is by how much a process with a garbage collector varies.
const residentSlack = 12 << 20

// Memory is what the process has resident and not shared with others.
func (p *Process) Memory() (used, slack uint64, err error) {
	p.mu.Lock()
	pid := p.pid
	p.mu.Unlock()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kb, err := strconv.ParseUint(strings.Fields(rest)[0], 10, 64)
			return kb << 10, residentSlack, err
		}
	}
	return 0, 0, fmt.Errorf("no RssAnon in the status of the process")
}
