package ledger

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/dprelease/dprelease/internal/testkit/ledgercheck"
)

// task is the work of a child process of the tests: that of a run of a job, with
// a random number for a release.
type task struct {
	Address string
	Plan    string
	Epsilon float64
	Content string // what the data are now; a file that holds it
	Out     string // the folder to publish in
	Again   bool
	Kill    string        // a named point at which the process kills itself
	Wait    time.Duration // for another run
	Witness bool          // look at the outputs that are there first
	Slices  int           // charge so many slices, and do nothing else
}

// work runs a task and prints what happened on standard output.
func work(text string) int {
	var w task
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return 2
	}
	how, err := w.run()
	if err != nil {
		how = codeOf(err)
	}
	fmt.Println(how)
	return 0
}

func (w *task) reach(point string) {
	if w.Kill == point {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func (w *task) run() (string, error) {
	a, err := ParseAddress(w.Address, ".")
	if err != nil {
		return "", err
	}
	l, err := Open(background, a, Options{Create: true})
	if err != nil {
		return "", err
	}
	defer l.Close()
	if w.Slices > 0 {
		return "charged", chargeMany(l, w.Slices)
	}
	w.reach("opened")
	if err := w.witness(l); err != nil {
		return "", err
	}
	q := request(w.Plan, w.Epsilon)
	q.Again = w.Again
	s, err := w.ask(l, &q)
	switch {
	case err != nil:
		return "", err
	case s.Busy:
		return "busy", nil
	case s.Found != nil:
		files, err := l.Output(background, s.Found.ID)
		if err != nil {
			return "", err
		}
		return "found", w.publish(l, s.Found.ID, files)
	}
	w.reach("debited")
	// The first random bit is drawn here.
	var bits [16]byte
	rand.Read(bits[:])
	content, err := os.ReadFile(w.Content)
	if err != nil {
		return "", err
	}
	w.reach("drawn")
	mark := fmt.Sprintf("%s %s %d %s", w.Plan, content, s.Ticket.Seq, s.Ticket.Head)
	files := []File{{Path: "value", Mode: 0o644, Data: []byte(hex.EncodeToString(bits[:]))}, {Path: "mark", Mode: 0o644, Data: []byte(mark)}}
	if err := l.Seal(background, s.Ticket, string(content), files); err != nil {
		return "", err
	}
	w.reach("sealed")
	return "made", w.publish(l, s.Ticket.Release, files)
}

// witness shows the ledger every release that is there.
func (w *task) witness(l *Ledger) error {
	if !w.Witness {
		return nil
	}
	marks, err := filepath.Glob(filepath.Join(w.Out, "p*", "mark"))
	if err != nil {
		return err
	}
	for _, m := range marks {
		b, err := os.ReadFile(m)
		if err != nil {
			return err
		}
		var o ledgercheck.Output
		if _, err := fmt.Sscanf(string(b), "%s %s %d %s", &o.Plan, &o.Content, &o.Seq, &o.Head); err != nil {
			return err
		}
		if err := l.Witness(background, Seen{Where: m, Mark: Mark{Ledger: l.ID(), Seq: o.Seq, Head: o.Head}}); err != nil {
			return err
		}
	}
	return nil
}

func (w *task) ask(l *Ledger, q *Request) (Standing, error) {
	for start := time.Now(); ; time.Sleep(2 * time.Millisecond) {
		s, err := asking(l, *q)
		switch {
		case err == nil && s.Compare:
			b, err := os.ReadFile(w.Content)
			if err != nil {
				return s, err
			}
			q.Content = string(b)
		case err == nil && s.Busy && time.Since(start) < w.Wait:
		default:
			return s, err
		}
	}
}

// publish makes files visible at once: each in a folder that is renamed into place.
func (w *task) publish(l *Ledger, release int64, files []File) error {
	temp, err := os.MkdirTemp(w.Out, ".temp-")
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(temp, f.Path), f.Data, f.Mode); err != nil {
			return err
		}
	}
	w.reach("written")
	// A name of its own for every attempt, so that all are seen.
	if err := os.Rename(temp, filepath.Join(w.Out, fmt.Sprintf("%s-%d-%d", w.Plan, release, os.Getpid()))); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	w.reach("visible")
	return l.Publish(background, release)
}
