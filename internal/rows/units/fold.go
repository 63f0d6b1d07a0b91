package units

import (
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/internal/table"
)

// The ways to fold a column.
const (
	FoldSum   = "sum"
	FoldMean  = "mean"
	FoldMin   = "min"   // of a category: the first in the order of the domain
	FoldMax   = "max"   // of a category: the last
	FoldCount = "count" // of the values that are there: a number
	FoldAny   = "any"   // one value that is there is true: not 0, or the text "true"
	FoldAll   = "all"   // every value that is there is true
	FoldMode  = "mode"  // the most frequent category, of several the first in the domain
)

// Fold says how the rows of a unit become one value of a column.
type Fold struct {
	Column string
	By     string
	// Number says that the column holds numbers. Lower and Upper are the declared bounds of the folded value: they set
	// the grain of sums. Nothing is clipped here.
	Number       bool
	Lower, Upper float64
	// Domain is that of a category. Its values arrive as codes into the domain; a code that is none is missing.
	Domain []string
	// Views are the views that want the column. None means all of them.
	Views []int
	_     struct{}
}

// delivers says whether the folded column holds numbers.
func (f *Fold) delivers() bool { return f.Number || f.By == FoldCount }

// words is how much of a unit's record a fold takes.
func (f *Fold) words() int {
	if f.By == FoldSum || f.By == FoldMean {
		return 3 // the sum in grains, and how many values
	}
	return 1
}

func (f *Fold) check() error {
	numbers := []string{FoldSum, FoldMean, FoldMin, FoldMax, FoldCount, FoldAny, FoldAll}
	categories := []string{FoldMin, FoldMax, FoldCount, FoldAny, FoldAll, FoldMode}
	switch {
	case f.Number && !slices.Contains(numbers, f.By):
		return fmt.Errorf("units: column %s: numbers fold by %v", f.Column, numbers)
	case !f.Number && !slices.Contains(categories, f.By):
		return fmt.Errorf("units: column %s: categories fold by %v", f.Column, categories)
	case f.Number && !(f.Lower <= f.Upper && f.Lower >= -math.MaxFloat64 && f.Upper <= math.MaxFloat64):
		return fmt.Errorf("units: column %s: the bounds must be finite and in order", f.Column)
	case !f.Number && len(f.Domain) == 0:
		return fmt.Errorf("units: column %s: a category needs a domain", f.Column)
	case !f.Number && (f.By == FoldAny || f.By == FoldAll) && !slices.Equal(slices.Sorted(slices.Values(f.Domain)), []string{"false", "true"}):
		return fmt.Errorf("units: column %s: %s needs the domain [true, false]", f.Column, f.By)
	}
	return nil
}

// FoldSpec says what a Folder does.
type FoldSpec struct {
	Null    NullUnits
	Columns []Fold
	// Views is the number of views. A view sees the rows that pass its mask: what a `where` keeps. All views have the same
	// units in the same order.
	Views  int
	Memory int64  // the most bytes that units may take; 0 means table.DefaultMemory
	Dir    string // where units go that do not fit; "" is the folder of temporary files
	_      struct{}
}

// Folder makes one row of each unit (P22).
//
// # Contract
//
// The folded row of a unit is a function of the values of that unit's own rows alone, whatever their order, and of the
// spec. Every unit that has a row has exactly one folded row in every view, and units are in the order of their first
// rows. A unit without a row that passes a view's mask has missing values in it. Proof: fold.proof.md.
//
// A sum adds up its values exactly, each rounded to the nearest 2^-60 of the power of two at or above the declared
// bounds, and each held to 2^30 times that power; a mean divides that sum by the number of values; both round once. Not
// a number is a missing value. Missing values are left out; what has no value left is missing, and its count is 0.
type Folder struct {
	spec   FoldSpec
	set    *unitSet
	shards [shards]foldShard
	folds  []cell
	views  []int // for each, the word that counts its rows
	stride int
	floats [][]float64 // of the chunk, for columns of whole numbers
}

// foldShard is what the folds of a shard keep beside the records of its units.
type foldShard struct{ tally tally }

// cell is a fold in a view.
type cell struct {
	*Fold
	view, column int
	at           int // its first word in a record
	grains       grains
	truth        int32 // the code of the text "true"
}

// NewFolder makes a folder.
func NewFolder(spec FoldSpec) (*Folder, error) {
	if !spec.Null.valid() || spec.Views < 1 || spec.Memory < 0 {
		return nil, fmt.Errorf("units: a folder needs a rule for rows without a unit, and at least one view")
	}
	if spec.Memory == 0 {
		spec.Memory = table.DefaultMemory
	}
	f := &Folder{spec: spec, stride: ownWords, floats: make([][]float64, len(spec.Columns))}
	for v := range spec.Views {
		f.views = append(f.views, f.stride)
		f.stride++
		for i := range spec.Columns {
			c := &spec.Columns[i]
			if err := c.check(); err != nil {
				return nil, err
			}
			if len(c.Views) > 0 && !slices.Contains(c.Views, v) {
				continue
			}
			f.folds = append(f.folds, cell{Fold: c, view: v, column: i, at: f.stride,
				grains: newGrains(c.Lower, c.Upper), truth: int32(slices.Index(c.Domain, "true"))})
			f.stride += c.words()
		}
	}
	f.set = newUnitSet(spec.Null, f.stride)
	return f, nil
}

// Add folds rows: the unit column, the columns of the spec in its order, and for each view a bitmap of the rows that pass
// (as table.Values.Valid has it; nil passes all). Calls come in the order of the table. Add keeps nothing of its
// arguments, except dictionaries.
func (f *Folder) Add(unit table.Values, columns []table.Values, masks [][]byte, rows int) error {
	if len(columns) != len(f.spec.Columns) || len(masks) != f.spec.Views {
		return errShape
	}
	for i := range columns {
		c := &columns[i]
		number := f.spec.Columns[i].Number
		if rows > 0 && (number && c.Float64 == nil && c.Int64 == nil || !number && c.Codes == nil) {
			return errShape
		}
	}
	for first := 0; first < rows; first += chunkRows {
		if err := f.chunk(&unit, columns, masks, first, min(chunkRows, rows-first)); err != nil {
			return err
		}
	}
	return nil
}

func (f *Folder) chunk(unit *table.Values, columns []table.Values, masks [][]byte, first, rows int) error {
	err := f.set.keys.split(unit, first, rows, func(from, to int) {
		for i := range columns {
			if columns[i].Int64 != nil {
				f.widen(i, &columns[i], first, from, to)
			}
		}
	})
	if err != nil {
		return err
	}
	parallel(shards, func(i int) {
		s := f.set.find(i, unit, first)
		if len(s.offs) == 0 {
			return
		}
		for v, at := range f.views {
			for j, off := range s.offs {
				if bit(masks[v], first+int(off)) {
					s.records.at(s.nums[j])[at]++
				}
			}
		}
		for c := range f.folds {
			f.fold(s, &f.shards[i], c, &columns[f.folds[c].column], masks[f.folds[c].view], first)
		}
	})
	f.set.row += int64(rows)
	return nil
}

// widen turns whole numbers into floats, as the columns of a mechanism are: decimals are divided by their power of ten,
// and times are in seconds.
func (f *Folder) widen(column int, v *table.Values, first, from, to int) {
	if f.floats[column] == nil {
		f.floats[column] = make([]float64, chunkRows)
	}
	x := f.floats[column][from:to]
	divisor := math.Pow10(v.Scale)
	switch v.Unit {
	case table.Millisecond:
		divisor = 1e3
	case table.Microsecond:
		divisor = 1e6
	case table.Nanosecond:
		divisor = 1e9
	}
	for i, n := range v.Int64[first+from : first+to] {
		switch {
		case v.Unsigned:
			x[i] = float64(uint64(n))
		default:
			x[i] = float64(n) / divisor
		}
	}
}

// fold adds the rows of the chunk that belong to a shard to their units.
func (f *Folder) fold(s *unitShard, own *foldShard, which int, v *table.Values, mask []byte, first int) {
	c := &f.folds[which]
	if !c.Number {
		for j, off := range s.offs {
			i := first + int(off)
			code := v.Codes[i]
			if bit(mask, i) && bit(v.Valid, i) && code >= 0 && int(code) < len(c.Domain) {
				c.category(s, own, f.set.keys, uint32(which), s.nums[j], code)
			}
		}
		return
	}
	x, shift := v.Float64, first
	if v.Int64 != nil {
		x, shift = f.floats[c.column], 0
	}
	for j, off := range s.offs {
		i := first + int(off)
		if !bit(mask, i) || !bit(v.Valid, i) {
			continue
		}
		if x := x[shift+int(off)]; x == x {
			c.number(s.records.at(s.nums[j])[c.at:], x)
		}
	}
}

// What any and all have seen.
const (
	seenTrue = 1 << iota
	seenFalse
)

func seen(truth bool) uint64 {
	if truth {
		return seenTrue
	}
	return seenFalse
}

// noNumber makes zero, with which records begin, the word of a missing minimum or maximum.
var noNumber = math.Float64bits(math.NaN())

// number adds a number to a unit's words.
func (c *cell) number(words []uint64, x float64) {
	switch c.By {
	case FoldSum, FoldMean:
		c.grains.add(words, x)
		words[2]++
	case FoldCount:
		words[0]++
	case FoldAny, FoldAll:
		words[0] |= seen(x != 0)
	case FoldMin:
		if old := math.Float64frombits(words[0] ^ noNumber); !(old <= x) {
			words[0] = math.Float64bits(x+0) ^ noNumber // one zero
		}
	case FoldMax:
		if old := math.Float64frombits(words[0] ^ noNumber); !(old >= x) {
			words[0] = math.Float64bits(x+0) ^ noNumber
		}
	}
}

// category adds a category to a unit's words.
func (c *cell) category(s *unitShard, own *foldShard, k *keyer, which, unit uint32, code int32) {
	words := s.records.at(unit)[c.at:]
	switch c.By {
	case FoldCount:
		words[0]++
	case FoldAny, FoldAll:
		words[0] |= seen(code == c.truth)
	case FoldMin:
		if words[0] == 0 || uint64(code)+1 < words[0] {
			words[0] = uint64(code) + 1
		}
	case FoldMax:
		words[0] = max(words[0], uint64(code)+1)
	case FoldMode:
		own.tally.add(k, unit, which, code, 1, &words[0])
	}
}

// result is the folded value of a unit's words: the bits of a float64, or a code. False means missing.
func (c *cell) result(own *foldShard, words []uint64) (uint64, bool) {
	number, category := math.Float64bits, func(code int) uint64 { return uint64(code) }
	switch c.By {
	case FoldSum:
		if words[2] == 0 {
			return 0, false
		}
		return number(c.grains.value(words, 1)), true
	case FoldMean:
		if words[2] == 0 {
			return 0, false
		}
		return number(c.grains.value(words, words[2])), true
	case FoldCount:
		return number(float64(words[0])), true
	case FoldAny, FoldAll:
		truth := words[0]&seenTrue != 0
		if c.By == FoldAll {
			truth = words[0] == seenTrue
		}
		if words[0] == 0 {
			return 0, false
		}
		if !c.Number {
			return category(slices.Index(c.Domain, map[bool]string{true: "true", false: "false"}[truth])), true
		}
		if truth {
			return number(1), true
		}
		return number(0), true
	case FoldMode:
		code := own.tally.mode(words[0])
		return category(int(code)), code >= 0
	}
	switch {
	case words[0] == 0:
		return 0, false
	case c.Number:
		return words[0] ^ noNumber, true
	}
	return words[0] - 1, true
}
