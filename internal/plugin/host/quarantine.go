package host

import (
	"io"
	"sync"
)

// quarantine takes all that a plugin prints. It never blocks the plugin for long,
// never fails, keeps at most a fixed number of bytes, and shows none of it (P20).
type quarantine struct {
	mu   sync.Mutex
	w    io.Writer
	left int64
}

func newQuarantine(l Limits) *quarantine {
	return &quarantine{w: l.Quarantine, left: l.QuarantineBytes}
}

func (q *quarantine) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.w != nil && q.left > 0 {
		keep := p[:min(int64(len(p)), q.left)]
		q.left -= int64(len(keep))
		_, _ = q.w.Write(keep)
	}
	return len(p), nil
}

// close lets go of the caller's writer: nothing is written to it afterwards.
func (q *quarantine) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.w = nil
}
