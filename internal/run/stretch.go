package run

// stretch is a set of rows that follow one another.
type stretch struct{ first, rows int64 }

func (s stretch) has(row int64) bool { return row >= s.first && row < s.first+s.rows }

func (s stretch) before(row int64) int64 { return min(max(0, row-s.first), s.rows) }

// ranged is a run of rows of a source. To whoever scans it, its rows are counted from 0.
func ranged(whole rowSource, first, rows int64) *sliced {
	return &sliced{whole: whole, set: stretch{first, rows}, rows: rows}
}
