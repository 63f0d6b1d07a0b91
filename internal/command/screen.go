package command

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Screen keeps some lines at the end of a terminal and writes them anew while something moves.
type Screen struct {
	sync.Mutex // held while lines is called
	w          io.Writer
	columns    int
	lines      func() []string
	shown      int // lines on the terminal
	ended      chan struct{}
	done       sync.WaitGroup
}

// Show begins to show what lines returns, which is called while the screen is locked. Stop must be called.
func (s *Screen) Show(w io.Writer, lines func() []string) {
	s.w, s.columns, s.lines, s.ended = w, terminalColumns(w), lines, make(chan struct{})
	s.done.Go(func() {
		tick := time.NewTicker(150 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.write()
			case <-s.ended:
				return
			}
		}
	})
}

// Stop leaves the lines as they are last.
func (s *Screen) Stop() {
	close(s.ended)
	s.done.Wait()
	s.write()
}

func (s *Screen) write() {
	s.Lock()
	defer s.Unlock()
	var b strings.Builder
	if s.shown > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", s.shown) // up, and clear what is below
	}
	all := s.lines()
	for _, line := range all {
		if r := []rune(line); len(r) >= s.columns { // a line that breaks would count as two
			line = string(r[:s.columns-1])
		}
		b.WriteString(line + "\n")
	}
	s.shown = len(all)
	_, _ = io.WriteString(s.w, b.String()) // a terminal that is gone shows nothing
}

const barWidth = 40

// Bar draws how much of a total is done.
func Bar(done, total int64) string {
	n := 0
	if total > 0 {
		n = int(min(done, total) * barWidth / total)
	}
	return "[" + strings.Repeat("=", n) + strings.Repeat("-", barWidth-n) + "]"
}
