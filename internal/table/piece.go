package table

import (
	"context"
	"iter"
)

// piece is the smallest stretch of rows that is decoded on its own: one Parquet page of one column, or one Arrow
// record batch with all of its columns.
type piece struct {
	first int64 // its first row in the table
	rows  int
	cost  int64 // bytes it holds while it is alive, about

	decode func(w *worker, p *piece) error // fills data with exactly rows rows
	data   []vec                           // one for each column of the lane
	cols   []int                           // the lane's

	sparse bool // few of its rows are wanted; set with done

	done chan struct{} // made when the piece is handed to the workers, closed when it is decoded
	err  error
	refs int // planned blocks that need it, and the lane while it may be needed again
}

func (p *piece) end() int64 { return p.first + int64(p.rows) }

// lane is a sequence of pieces that together carry some of the scanned columns through the whole table.
type lane struct {
	cols   []int // positions among the scanned columns
	next   func() (*piece, bool)
	stop   func()
	window []*piece // pieces that the current or a later block overlaps
}

// source is what a file offers to a scan.
type source struct {
	cols   []int // positions among the scanned columns
	pieces iter.Seq[*piece]
}

// lanes joins the files' sources end to end. All files of a table have one format, and so the same lanes.
func (t *Table) lanes(cols []int, content *Content) []*lane {
	var perFile [][]source
	base := int64(0)
	for _, f := range t.files {
		perFile = append(perFile, f.sources(cols, base, content))
		for _, rows := range f.groups() {
			base += rows
		}
	}
	var lanes []*lane
	for i := range perFile[0] {
		l := &lane{cols: perFile[0][i].cols}
		l.next, l.stop = iter.Pull(func(yield func(*piece) bool) {
			for _, sources := range perFile {
				for p := range sources[i].pieces {
					if !yield(p) {
						return
					}
				}
			}
		})
		lanes = append(lanes, l)
	}
	return lanes
}

// run decodes one piece. It is called once, by the worker that took it.
func (p *piece) run(ctx context.Context, w *worker, adjust func(int, []float64) bool) {
	defer close(p.done)
	if p.err = ctx.Err(); p.err != nil {
		return
	}
	p.err = guarded(func() error { return p.decode(w, p) })
	if p.err != nil {
		return
	}
	for i := range p.data {
		v := &p.data[i]
		if v.rows() != p.rows || v.valid != nil && len(v.valid)*8 < p.rows {
			p.err = fail(CodeCorrupt, "", "fewer rows than declared were decoded")
			return
		}
		if adjust != nil && v.f64 != nil && v.valid == nil {
			v.adjusted = adjust(p.cols[i], v.f64)
		}
	}
}
