package units

import (
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
	for i, unit := range units {
		g.floats[i], g.codes[i] = 0, 0
		if unit < 0 {
			continue
		}
		word, ok, err := u.word(at, int64(unit), g)
		switch {
		case err != nil:
			return table.Values{}, err
		case !ok && empty != empty:
			continue
		case !ok:
			g.floats[i] = empty
		case fold.delivers():
			g.floats[i] = math.Float64frombits(word)
		default:
			g.codes[i] = int32(word)
		}
		g.valid[i>>3] |= 1 << (i & 7)
	}
	if fold.delivers() {
		return table.Values{Kind: table.Float, Float64: g.floats[:n], Valid: g.valid[:(n+7)/8]}, nil
	}
	return table.Values{Kind: table.String, Codes: g.codes[:n], Dict: fold.Domain, DictID: u.dicts[at], Valid: g.valid[:(n+7)/8]}, nil
}

// Gathered is the memory of one reader of a folded column. It keeps the last block that it read from the disk.
type Gathered struct {
	floats []float64
	codes  []int32
	valid  []byte

	words []uint64
	block int64 // that words holds, plus one
}

// word returns a folded value, and whether there is one.
func (u *FoldedUnits) word(fold int, unit int64, g *Gathered) (uint64, bool, error) {
	at, row := unit/blockUnits, unit%blockUnits
	if at >= int64(len(u.blocks)) {
		return 0, false, errShape
	}
	b := u.blocks[at]
	var words []uint64
	if b.folds != nil {
		words = b.folds[fold]
	} else {
		if g.block != at+1 {
			if _, _, err := u.read(b, fold, &g.words); err != nil {
				return 0, false, err
			}
			g.block = at + 1
		}
		words = g.words
	}
	return words[row], words[u.size+int(row>>6)]>>(row&63)&1 == 1, nil
}
