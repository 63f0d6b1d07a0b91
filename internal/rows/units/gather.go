package units

import (
	"cmp"
	"fmt"
	"math"
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
	u := f.units
	at := slices.IndexFunc(u.folds, func(c cell) bool { return c.view == f.view && c.Column == column })
	if at < 0 {
		return table.Values{}, fmt.Errorf("units: column %s is not folded in view %d", column, f.view)
	}
	fold, n := &u.folds[at], len(units)
	g.valid, g.floats, g.codes = fit(g.valid, (n+7)/8), fit(g.floats, n), fit(g.codes, n)
	clear(g.valid)
	g.pages = g.pages[:0]
	for _, b := range u.blocks {
		if b.folds == nil {
			g.pages = append(g.pages, nil)
		} else {
			g.pages = append(g.pages, b.folds[at])
		}
	}
	// Stretches begin at whole bytes of the bitmap.
	stretches := (n + gatherRows - 1) / gatherRows
	for len(g.late) < stretches {
		g.late = append(g.late, nil)
	}
	parallel(stretches, func(i int) {
		g.late[i] = g.some(fold.delivers(), u.size, units, i*gatherRows, min(n, (i+1)*gatherRows), g.late[i][:0])
	})
	if err := u.gatherLate(at, units, g, stretches); err != nil {
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
	if fold.delivers() {
		return table.Values{Kind: table.Float, Float64: g.floats[:n], Valid: g.valid[:(n+7)/8]}, nil
	}
	return table.Values{Kind: table.String, Codes: g.codes[:n], Dict: fold.Domain, DictID: u.dicts[at], Valid: g.valid[:(n+7)/8]}, nil
}

// gatherRows is the number of rows that a goroutine gathers at once.
const gatherRows = 1 << 13

// Gathered is the memory of one reader of a folded column.
type Gathered struct {
	floats []float64
	codes  []int32
	valid  []byte
	pages  [][]uint64 // the values of each block, nil where they are on the disk
	late   [][]int32  // the rows of each stretch whose values are on the disk
}

// some gathers rows [from, to) as far as their units are in memory, and returns the other rows.
func (g *Gathered) some(floats bool, size int, units []int32, from, to int, late []int32) []int32 {
	for i := from; i < to; i++ {
		unit := units[i]
		if g.floats[i], g.codes[i] = 0, 0; unit < 0 {
			continue
		}
		words, row := g.pages[unit/blockUnits], int(unit%blockUnits)
		if words == nil {
			late = append(late, int32(i))
			continue
		}
		g.put(floats, i, words[row], words[size+row>>6]>>(row&63))
	}
	return late
}

// put puts down the value of a row, if the lowest bit of there is set.
func (g *Gathered) put(floats bool, i int, word, there uint64) {
	if there&1 == 0 {
		return
	}
	if floats {
		g.floats[i] = math.Float64frombits(word)
	} else {
		g.codes[i] = int32(word)
	}
	g.valid[i>>3] |= 1 << (i & 7)
}

// manyLate is from how many rows on a whole block is read for them.
const manyLate = 256

// gatherLate gathers the rows whose units are on the disk, block by block.
func (u *FoldedUnits) gatherLate(fold int, units []int32, g *Gathered, stretches int) error {
	var rows []int32
	for _, late := range g.late[:stretches] {
		rows = append(rows, late...)
	}
	slices.SortFunc(rows, func(a, b int32) int { return cmp.Compare(units[a], units[b]) })
	floats, all := u.folds[fold].delivers(), []uint64(nil)
	for len(rows) > 0 {
		at := units[rows[0]] / blockUnits
		n := 1
		for n < len(rows) && units[rows[n]]/blockUnits == at {
			n++
		}
		b, one := u.blocks[at], make([]uint64, 2)
		if n >= manyLate {
			if _, _, err := u.read(b, fold, &all); err != nil {
				return err
			}
		}
		for _, i := range rows[:n] {
			row := int(units[i] % blockUnits)
			if n >= manyLate {
				one[0], one[1] = all[row], all[u.size+row>>6]
			} else {
				for k, word := range []int{row, u.size + row>>6} {
					if err := u.disk.Fill(asBytes(one[k:k+1]), b.at+int64(fold)*u.foldBytes()+8*int64(word)); err != nil {
						return err
					}
				}
			}
			g.put(floats, int(i), one[0], one[1]>>(row&63))
		}
		rows = rows[n:]
	}
	return nil
}
