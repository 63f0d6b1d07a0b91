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

	light bool     // the values of some rows can stand for it: they refer to nothing else
	whole bool     // a block wants all of its rows
	want  []uint32 // its rows that are wanted, where it is light and not whole; complete when it is handed out

	into [][]float64                                              // where its values are to be put, if they can be
	move func(dst []float64, src []byte) (changed int64, ok bool) // how

	done chan struct{} // made when the piece is handed to the workers, closed when it is decoded
	err  error
	refs int // planned blocks that need it, and the lane while it may be needed again
}

func (p *piece) end() int64 { return p.first + int64(p.rows) }

// heavy is the cost of a piece that is not to be decoded beside others, unless they are counted.
const heavy = 8 << 20

// held is what it costs while it is alive.
func (p *piece) held() int64 {
	if p.want != nil {
		return min(p.cost, int64(len(p.want))*13+256)
	}
	return p.cost
}

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
	if p.want != nil && p.cost > heavy {
		// What is alive is counted by the rows that are wanted: large pages are then unpacked one at a time.
		w.pool.heavy.Lock()
		defer w.pool.heavy.Unlock()
	}
	p.err = guarded(func() error { return p.decode(w, p) })
	if p.err != nil {
		return
	}
	for i := range p.data {
		v := &p.data[i]
		if p.want != nil && v.picked || p.into != nil && v.moved {
			continue
		}
		if v.rows() != p.rows || v.valid != nil && len(v.valid)*8 < p.rows {
			p.err = fail(CodeCorrupt, "", "fewer rows than declared were decoded")
			return
		}
		if p.want != nil {
			v.pick(p.want, w.pool)
			continue
		}
		if adjust != nil && v.f64 != nil && v.valid == nil {
			v.adjusted = adjust(p.cols[i], v.f64)
		}
	}
}
