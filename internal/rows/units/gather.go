package units

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/dprelease/dprelease/internal/data/table"
)

// Gather reads a folded column of any units: the value of unit units[i] becomes the i-th value. A unit below 0 has a missing
// value. A missing value becomes empty, unless that is NaN.
//
// # Contract
//
// The i-th value is a function of the rows of unit units[i] alone. Proof: gather.proof.md.
func (f *Folded) Gather(column string, units []int32, empty float64, g *Gathered) (table.Values, error) { // P32
	at, err := f.fold(column)
	if err != nil {
		return table.Values{}, err
	}
	u, n := f.units, len(units)
	g.begin(&u.folds[at], n)
	// Stretches begin at whole bytes of the bitmap.
	stretches := (n + gatherRows - 1) / gatherRows
	for len(g.late) < stretches {
		g.late = append(g.late, nil)
	}
	parallel(stretches, func(i int) {
		g.late[i] = u.inMemory(at, units, i*gatherRows, min(n, (i+1)*gatherRows), g, g.late[i][:0])
	})
	if err := u.gatherLate(at, units, slices.Concat(g.late[:stretches]...), g); err != nil {
		return table.Values{}, err
	}
	if empty == empty {
		for i, unit := range units {
			if unit >= 0 && !bit(g.valid, i) {
				g.floats[i] = empty
				g.valid[i>>3] |= 1 << (i & 7)
			}
		}
	}
	return u.values(at, g), nil
}

// values returns the values of a fold that were put down.
func (u *FoldedUnits) values(fold int, g *Gathered) table.Values {
	v := table.Values{Kind: table.Float, Float64: g.floats, Valid: g.valid}
	if c := &u.folds[fold]; !c.delivers() {
		v = table.Values{Kind: table.String, Codes: g.codes, Dict: c.Domain, DictID: u.dicts[fold], Valid: v.Valid}
	}
	there := 0
	for _, b := range v.Valid {
		there += bits.OnesCount8(b)
	}
	if there == max(len(v.Float64), len(v.Codes)) {
		v.Valid = nil
	}
	return v
}

// gatherRows is the number of rows that a goroutine gathers at once.
const gatherRows = 1 << 13

// Gathered is the memory of one reader of a folded column.
type Gathered struct {
	floats []float64 // nil for a category
	codes  []int32
	valid  []byte
	late   [][]int32 // the rows of each stretch whose values are on the disk
	page   []uint64  // from the disk
}

// begin makes room for n missing values of a fold.
func (g *Gathered) begin(fold *cell, n int) {
	g.valid = slices.Grow(g.valid[:0], (n+7)/8)[:(n+7)/8]
	clear(g.valid)
	if fold.delivers() {
		g.floats = slices.Grow(g.floats[:0], n)[:n]
		clear(g.floats)
		return
	}
	g.codes = slices.Grow(g.codes[:0], n)[:n]
	clear(g.codes)
}

// put puts down the value of a row, if there is one at a place of a page.
func (g *Gathered) put(row int, page []uint64, size, at int) {
	if page[size+at>>6]>>(at&63)&1 == 0 {
		return
	}
	if g.floats != nil {
		g.floats[row] = math.Float64frombits(page[at])
	} else {
		g.codes[row] = int32(page[at])
	}
	g.valid[row>>3] |= 1 << (row & 7)
}

// pageOf returns the number of the page with the value of a unit.
func (u *FoldedUnits) pageOf(fold int, unit int32) int64 {
	return int64(unit/blockUnits)*int64(len(u.folds)) + int64(fold)
}

// inMemory gathers rows [from, to) of a fold as far as their units are in memory, and returns the other rows.
func (u *FoldedUnits) inMemory(fold int, units []int32, from, to int, g *Gathered, late []int32) []int32 {
	for i := from; i < to; i++ {
		unit := units[i]
		if unit < 0 {
			continue
		}
		if page := u.page(u.pageOf(fold, unit)); page != nil {
			g.put(i, page, u.size, int(unit%blockUnits))
		} else {
			late = append(late, int32(i))
		}
	}
	return late
}

// whole returns a page, which is read into the memory of g if it is on the disk.
func (u *FoldedUnits) whole(i int64, g *Gathered) ([]uint64, error) {
	if page := u.page(i); page != nil {
		return page, nil
	}
	g.page = fit(g.page, int(u.length))
	return g.page, u.fill(asBytes(g.page), i, 0)
}

// manyLate is from how many rows on a whole page is read for them.
const manyLate = 256

// gatherLate gathers rows whose units are on the disk, page by page.
func (u *FoldedUnits) gatherLate(fold int, units, rows []int32, g *Gathered) error {
	slices.SortFunc(rows, func(a, b int32) int { return cmp.Compare(units[a], units[b]) })
	for len(rows) > 0 {
		i := u.pageOf(fold, units[rows[0]])
		n := 1
		for n < len(rows) && u.pageOf(fold, units[rows[n]]) == i {
			n++
		}
		g.page = fit(g.page, int(u.length))
		if n >= manyLate {
			if err := u.fill(asBytes(g.page), i, 0); err != nil {
				return err
			}
		}
		for _, row := range rows[:n] {
			at := int(units[row] % blockUnits)
			if n < manyLate {
				valid := u.size + at>>6
				err := cmp.Or(u.fill(asBytes(g.page[at:at+1]), i, int64(at)), u.fill(asBytes(g.page[valid:valid+1]), i, int64(valid)))
				if err != nil {
					return err
				}
			}
			g.put(int(row), g.page, u.size, at)
		}
		rows = rows[n:]
	}
	return nil
}
