package units

import (
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
	f.late = NewRows(int(f.spec.Units/f.span)+1, f.spec.Memory/4, f.spec.Dir)
}

// put puts rows aside: their units, the columns, and for each view whether they pass its mask.
func (f *Folder) put(units []int32, columns []table.Values, masks [][]byte) error {
	all := []table.Values{{Codes: units}}
	for i := range columns {
		v := columns[i]
		if _, x := floatsOf(&v, 0, len(units), nil); x != nil {
			v.Float64 = x
		}
		all = append(all, v)
	}
	for _, mask := range masks[1:] {
		all = append(all, table.Values{Valid: mask})
	}
	for i, unit := range units {
		if unit >= 0 && int64(unit) < f.spec.Units {
			if err := f.late.Add(int(int64(unit)/f.span), i, all); err != nil {
				return err
			}
		}
	}
	return nil
}

// fold folds a range of units, whose rows are in a part, and delivers them. A range that does not fit in memory is halved, and its
// part is read once for each half.
func (f *Folder) fold(u *FoldedUnits, first, units int64, part int) (err error) {
	if units > 64 && 8*units*int64(f.width) > f.limit {
		err = errRoom
	} else {
		f.begin(first, units)
		err = f.late.Each(part, chunkRows, func(all []table.Values, rows int) error {
			columns, masks := all[1:1+len(f.spec.Columns)], make([][]byte, f.spec.Views)
			for v, mask := range all[1+len(columns):] {
				masks[1+v] = mask.Valid
			}
			if f.add(all[0].Codes, columns, masks, 0); f.bytes() > f.limit && units > 64 {
				return errRoom
			}
			return nil
		})
	}
	switch half := (units/2 + 63) &^ 63; {
	case err == errRoom:
		if err = f.fold(u, first, half, part); err == nil && half < units {
			err = f.fold(u, first+half, units-half, part)
		}
	case err == nil:
		err = f.deliver(u)
	}
	return err
}
