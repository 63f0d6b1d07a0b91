package run

import (
	"sync"
	"time"
)

// diagnostics are the private facts of one run. Each method may be called on nil,
// where nobody asked for them.
type diagnostics struct {
	begin time.Time

	mu    sync.Mutex
	draws []drawFacts
}

// drawFacts are the private facts of one draw.
type drawFacts struct {
	Name    string        `json:"name"`
	Rows    int64         `json:"sample_size"`
	Columns []columnFacts `json:"columns"`
}

// columnFacts count what was changed in a column on its way to the mechanisms.
type columnFacts struct {
	Name    string `json:"name"`
	Missing int64  `json:"missing"`
	Outside int64  `json:"outside,omitempty"`
	Clipped int64  `json:"clipped,omitempty"`
}

func newDiagnostics(o Options) *diagnostics {
	if !o.Diagnostics {
		return nil
	}
	return &diagnostics{begin: time.Now()}
}

// scanned adds what one scan of a draw saw. Further scans of the draw see the
// same rows: they add the columns that are new.
func (d *diagnostics) scanned(draw string, rows int64, columns []*Preparer) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	k := 0
	for k < len(d.draws) && d.draws[k].Name != draw {
		k++
	}
	if k == len(d.draws) {
		d.draws = append(d.draws, drawFacts{Name: draw, Rows: rows, Columns: []columnFacts{}})
	}
	known := map[string]bool{}
	for _, c := range d.draws[k].Columns {
		known[c.Name] = true
	}
	for _, p := range columns {
		if !known[p.Column.Name] {
			f := p.facts
			f.Name = p.Column.Name
			d.draws[k].Columns = append(d.draws[k].Columns, f)
		}
	}
}

// Content is the content of the file. job says in the words of the report which job it is about.
func (d *diagnostics) Content(job any, rows int64) any {
	return struct {
		Warning string      `json:"confidential"`
		Version int         `json:"version"`
		Job     any         `json:"job"`
		Rows    int64       `json:"rows"`
		Seconds float64     `json:"seconds"`
		Draws   []drawFacts `json:"draws"`
	}{"private facts, no differential privacy: never publish this file", 1, job, rows, time.Since(d.begin).Seconds(), d.draws}
}
