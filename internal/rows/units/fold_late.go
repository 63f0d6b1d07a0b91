package units

import (
	"errors"
	"math"

	"github.com/dprelease/dprelease/internal/data/table"
)

// Where the units do not fit in memory, a Folder sorts all rows by ranges of units, whose numbers follow one another. In the end
// it folds one range after the other.

// mostRanges bounds the number of ranges.
const mostRanges = 1 << 10

// putAside makes ranges for units that need so much memory.
func (f *Folder) putAside(need int64) {
	f.limit = f.spec.Memory / 2
	ranges := min(2*need/max(f.limit, 1)+1, mostRanges)
	f.span = (f.spec.Units/ranges + 64) &^ 63
	f.late = NewSorter(int(f.spec.Units/f.span)+1, f.spec.Memory/4, f.spec.Dir)
}

// flags returns the number of words that say which values of a row are there, and which views it passes.
func (f *Folder) flags() int { return (len(f.spec.Columns) + f.spec.Views + 31) / 32 }

// put puts a chunk of rows aside, from first on. A row is its unit, the flags, and the values.
func (f *Folder) put(units []int32, columns []table.Values, masks [][]byte, first int) error {
	values := make([][]float64, len(columns))
	for i := range columns {
		f.floats[i], values[i] = floatsOf(&columns[i], first, len(units), f.floats[i])
	}
	for i, unit := range units {
		if unit < 0 || int64(unit) >= f.spec.Units {
			continue
		}
		row := append(append(f.row[:0], uint32(unit)), make([]uint32, f.flags())...)
		for c := range columns {
			if bit(columns[c].Valid, first+i) {
				row[1+c>>5] |= 1 << (c & 31)
			}
			if f.spec.Columns[c].Number {
				x := math.Float64bits(values[c][i])
				row = append(row, uint32(x), uint32(x>>32))
			} else {
				row = append(row, uint32(columns[c].Codes[first+i]))
			}
		}
		for v := 1; v < len(masks); v++ {
			if at := len(columns) + v; bit(masks[v], first+i) {
				row[1+at>>5] |= 1 << (at & 31)
			}
		}
		f.row = row
		if err := f.late.Add(int(int64(unit)/f.span), row...); err != nil {
			return err
		}
	}
	return nil
}

// lateRows are rows that are read again.
type lateRows struct {
	units   []int32
	columns []table.Values
	masks   [][]byte
}

func (f *Folder) newLateRows() lateRows {
	l := lateRows{units: make([]int32, 0, chunkRows), columns: make([]table.Values, len(f.spec.Columns)), masks: make([][]byte, f.spec.Views)}
	for i := range l.columns {
		c := &l.columns[i]
		if c.Valid = make([]byte, chunkRows/8); f.spec.Columns[i].Number {
			c.Float64 = make([]float64, chunkRows)
		} else {
			c.Codes = make([]int32, chunkRows)
		}
	}
	for v := 1; v < len(l.masks); v++ {
		l.masks[v] = make([]byte, chunkRows/8)
	}
	return l
}

// errRange says that the units of a range do not fit in memory, because of what their modes count.
var errRange = errors.New("units: a range does not fit in memory")

// fold folds a range of units, whose rows are in a part, and delivers them. A range that does not fit in memory is halved, and its
// part is read once for each half.
func (f *Folder) fold(u *FoldedUnits, first, units int64, part int) error {
	if f.again.units == nil {
		f.again = f.newLateRows()
	}
	half := (units/2 + 63) &^ 63
	err := error(nil)
	if units > 64 && 8*units*int64(f.width) > f.limit {
		err = errRange
	} else {
		f.begin(first, units)
		f.again.units = f.again.units[:0]
		err = f.late.Each(part, func(rows []uint32) error {
			for len(rows) > 0 {
				if rows = f.again.read(f, rows); len(f.again.units) == chunkRows {
					f.addAgain()
				}
			}
			if f.bytes() > f.limit && units > 64 {
				return errRange
			}
			return nil
		})
		f.addAgain()
	}
	switch {
	case err == errRange:
		if err = f.fold(u, first, half, part); err == nil && half < units {
			err = f.fold(u, first+half, units-half, part)
		}
	case err == nil:
		err = f.deliver(u)
	}
	return err
}

// addAgain folds the rows that were read again.
func (f *Folder) addAgain() {
	f.add(f.again.units, f.again.columns, f.again.masks, 0)
	f.again.units = f.again.units[:0]
}

// read reads a row that put has put aside, and returns the words behind it.
func (l *lateRows) read(f *Folder, rows []uint32) []uint32 {
	at, flags := len(l.units), rows[1:1+f.flags()]
	l.units = append(l.units, int32(rows[0]))
	set := func(b []byte, flag int) {
		b[at>>3] = b[at>>3]&^(1<<(at&7)) | byte(flags[flag>>5]>>(flag&31)&1)<<(at&7)
	}
	rows = rows[1+len(flags):]
	for i := range l.columns {
		c := &l.columns[i]
		if set(c.Valid, i); c.Codes != nil {
			c.Codes[at], rows = int32(rows[0]), rows[1:]
		} else {
			c.Float64[at], rows = math.Float64frombits(uint64(rows[1])<<32|uint64(rows[0])), rows[2:]
		}
	}
	for v := 1; v < len(l.masks); v++ {
		set(l.masks[v], len(l.columns)+v)
	}
	return rows
}
