package pipeline

import "sync"

// Event is one step of a run, for progress bars and schedulers. It holds public
// facts only: Done and Total are hundredths of a draw, never rows (P19).
type Event struct {
	Kind    string `json:"event"`
	Release string `json:"release,omitempty"`
	Draw    string `json:"draw,omitempty"`
	Done    int64  `json:"done,omitempty"`
	Total   int64  `json:"total,omitempty"`
	Message string `json:"message,omitempty"`
}

// Observer is told what happens during a run. Calls come one at a time.
type Observer interface{ Observe(Event) }

// serial hands events on one at a time.
type serial struct {
	mu sync.Mutex
	to Observer
}

func serially(o Observer) Observer {
	if o == nil {
		return nil
	}
	return &serial{to: o}
}

func (s *serial) Observe(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to.Observe(e)
}

// progress reports how much of a draw's scan is done, in hundredths: the number
// of rows is secret under add-remove, a share of it is not (P19).
func (r *running) progress(d *draw, scan, scans int) func(rows int64) {
	total := r.table.rows()
	last := int64(-1)
	return func(rows int64) {
		if total == 0 {
			return
		}
		share := (100*int64(scan) + 100*rows/total) / int64(scans)
		if share != last {
			last = share
			r.options.observe(Event{Kind: "progress", Draw: d.name, Done: share, Total: 100})
		}
	}
}
