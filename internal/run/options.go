package run

import (
	"time"

	"github.com/dprelease/dprelease/internal/planned"
	"github.com/dprelease/dprelease/plugins/sdk"
)

// ServeArgument is the one argument with which a program is started as a child process
// of a run, to serve the mechanisms that it comes with.
const ServeArgument = "__mechanism"

// Programs say where mechanisms come from that the job does not name as plugins.
type Programs struct {
	Mechanisms string            // the program that serves the built-in mechanisms
	Builtins   []sdk.Description // what each must give of itself; nil: any
	SoleParent bool              // this process has no children but plugins
	Apart      time.Duration     // how much later a plugin is asked again; 0: two seconds
	Plans      string            // the folder that remembers what plugins planned, "" for none
}

// Options are the needs of a run besides its plan.
type Options struct {
	Observe     func(Progress) // told what happens, one call at a time
	Diagnostics bool           // gather the private facts of the run
	Engine      Engine         // of a job that names one, else nil
	Allotment   []byte         // the secret of the panel that the job draws a wave of, else nil
}

// Progress is one step of a run, for progress bars and schedulers. It holds public
// facts only: Done and Total are shares of a draw, never rows (P19).
type Progress struct {
	Kind    string `json:"event"`
	Release string `json:"release,omitempty"`
	Draw    string `json:"draw,omitempty"`
	Done    int64  `json:"done,omitempty"`
	Total   int64  `json:"total,omitempty"`
	Message string `json:"message,omitempty"`
}

// progressSteps is the number of times that each draw reports its progress.
const progressSteps = 20

// progress reports how much of a draw's scans is done. Every run reports each step once
// and in order, and so does a run on an empty table: how many steps one scan passes at
// a time follows from the number of rows, which is secret under add-remove (P19).
func (r *Runner) progress(d *planned.Draw, scan, scans int) func(rows int64) {
	total := r.Table.Rows()
	before, after := progressSteps*int64(scan)/int64(scans), progressSteps*int64(scan+1)/int64(scans)
	last := before
	return func(rows int64) {
		share := after
		if rows < total {
			share = before + int64(float64(after-before)*float64(rows)/float64(total))
		}
		for last < share {
			last++
			r.options.Observe(Progress{Kind: "progress", Draw: d.Name, Done: last, Total: progressSteps})
		}
	}
}
