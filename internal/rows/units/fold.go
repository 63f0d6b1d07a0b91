package units

import (
	"fmt"
	"math"
	"slices"

	"github.com/dprelease/dprelease/internal/data/table"
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

// Fold is a rule that makes one value of a column out of the rows of a unit.
type Fold struct {
	Column string
	By     string
	// Number says that the column holds numbers. Lower and Upper, the declared bounds of the folded value, set the grain of
	// sums. A Folder does not clip.
	Number       bool
	Lower, Upper float64
	// Domain is that of a category. The values are codes into it; any other code is missing.
	Domain []string
	// Views are the views that want the column; none means all.
	Views []int
	_     struct{}
}

// delivers reports whether the folded column holds numbers.
func (f *Fold) delivers() bool { return f.Number || f.By == FoldCount }

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

// FoldSpec holds the options of a Folder.
type FoldSpec struct {
	Null    NullUnits
	Columns []Fold
	// Views is the number of views. View 0 sees every row. Another sees the rows that pass its mask, as a `where` does. All
	// views have the same units in the same order.
	Views int
	// Units is the number of units where an Index has numbered them: their keys are the numbers below it, and each of them
	// has a folded row. 0 says that units have keys of their own.
	Units  int64
	Memory int64  // the most bytes that units may take; 0 means table.DefaultMemory
	Dir    string // the folder for units that do not fit; "" is the folder of temporary files
	_      struct{}
}

// Folder makes one row of each unit (P22).
//
// # Contract
//
// The folded row of a unit is a function of the spec and of the values of that unit's own rows, whatever their order.
// Every unit that has a row has exactly one folded row in every view, and units are in the order of their first rows. Where
// the spec says how many units there are, it is the unit's number. In a view whose mask none of its rows pass, a unit has
// missing values. Proof: fold.proof.md.
//
// Let p be the power of two at or above the declared bounds. A sum rounds each value to the nearest p * 2^-60, limits it to
// p * 2^30, and adds up exactly; a mean divides that sum by the number of values; both round once. NaN is a missing value.
// Folds leave missing values out. A fold of no value is missing, and its count is 0.
type Folder struct {
	overflow
	spec    FoldSpec
	tally   [shards]tally
	folds   []cell
	passed  []int          // for each view except view 0 the word that says whether a row passed
	columns []sortedColumn // of the chunk
}

// sortedColumn holds the values of a chunk by the shards of their units.
type sortedColumn struct {
	floats []float64
	codes  []int32
}

// NewFolder makes a folder.
func NewFolder(spec FoldSpec) (*Folder, error) {
	if !spec.Null.valid() || spec.Views < 1 || spec.Memory < 0 || spec.Units < 0 || spec.Units > 0 && spec.Null != DropNulls {
		return nil, fmt.Errorf("units: a folder needs a rule for rows without a unit, and at least one view")
	}
	if spec.Memory == 0 {
		spec.Memory = table.DefaultMemory
	}
	f := &Folder{overflow: overflow{dir: spec.Dir, limit: tableShare(spec.Memory)}, spec: spec, passed: make([]int, spec.Views),
		columns: make([]sortedColumn, len(spec.Columns))}
	for i := range spec.Columns {
		if err := spec.Columns[i].check(); err != nil {
			return nil, err
		}
	}
	f.width = ownWords
	for v := range spec.Views {
		if v > 0 {
			f.passed[v] = f.width
			f.width++
		}
		for i := range spec.Columns {
			if c := &spec.Columns[i]; len(c.Views) == 0 || slices.Contains(c.Views, v) {
				f.folds = append(f.folds, newCell(c, v, i, f.width))
				f.width += f.folds[len(f.folds)-1].words()
			}
		}
	}
	modes := slices.ContainsFunc(f.folds, func(c cell) bool { return c.op == opMode }) // their counts grow with the rows
	if width := f.width - ownWords; spec.Units > 0 && !modes && 8*spec.Units*int64(padded(width)) <= f.limit {
		for i := range f.folds {
			f.folds[i].at -= ownWords
		}
		for v := 1; v < len(f.passed); v++ {
			f.passed[v] -= ownWords
		}
		f.width = width
		f.set = listedSet(spec.Units, width)
		return f, nil
	}
	f.set = newUnitSet(spec.Null, f.width)
	if err := f.addAll(); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// addAll adds every unit that an Index has numbered, without a value.
func (f *Folder) addAll() error {
	some := min(chunkRows, f.spec.Units)
	valid := make([]byte, (some+7)/8)
	columns, masks := make([]table.Values, len(f.spec.Columns)), make([][]byte, f.spec.Views)
	for i, c := range f.spec.Columns {
		if columns[i] = (table.Values{Float64: make([]float64, some), Valid: valid}); !c.Number {
			columns[i] = table.Values{Codes: make([]int32, some), Dict: c.Domain, Valid: valid}
		}
	}
	for v := 1; v < len(masks); v++ {
		masks[v] = valid
	}
	unit := table.Values{Int64: make([]int64, some)}
	for first := int64(0); first < f.spec.Units; first += chunkRows {
		n := min(chunkRows, f.spec.Units-first)
		for i := range unit.Int64[:n] {
			unit.Int64[i] = first + int64(i)
		}
		if err := f.Add(unit, columns, masks, int(n)); err != nil {
			return err
		}
	}
	return nil
}

// Add folds rows: the unit column, the columns of the spec in its order, and for each view a bitmap of the rows that pass,
// like table.Values.Valid. The bitmap of view 0 is nil. Calls come in the order of the table. Add keeps only dictionaries
// of its arguments.
func (f *Folder) Add(unit table.Values, columns []table.Values, masks [][]byte, rows int) error {
	if len(columns) != len(f.spec.Columns) || len(masks) != f.spec.Views || masks[0] != nil || f.spec.Units > 0 && rows > 0 &&
		unit.Int64 == nil {
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
	for i := range f.columns {
		if c := &f.columns[i]; f.spec.Columns[i].Number {
			c.floats = fit(c.floats, rows)
		} else {
			c.codes = fit(c.codes, rows)
		}
	}
	err := f.set.split(unit, first, rows, func(s *stretch) {
		for i := range columns {
			f.sort(i, &columns[i], s, first)
		}
	})
	if err != nil {
		return err
	}
	if !f.set.listed {
		err = f.makeRoom()
	}
	if err != nil {
		return err
	}
	parallel(shards, func(i int) {
		f.set.find(i, unit, first)
		f.set.found(i, func(s *unitShard, lo int, offs, nums []uint32) {
			for v, at := range f.passed {
				for j, off := range offs {
					if v > 0 && bit(masks[v], first+int(off)) {
						s.records.at(nums[j])[at] = 1
					}
				}
			}
			for n := range f.folds {
				c := &f.folds[n]
				in := &f.columns[c.column]
				rows := shardRows{offs: offs, nums: nums, first: first, valid: columns[c.column].Valid, mask: masks[c.view]}
				if c.Number {
					c.addNumbers(s, rows, in.floats[lo:])
				} else {
					c.addCodes(s, rows, in.codes[lo:], func(unit uint32, code int32, head *uint64) {
						f.tally[i].add(f.set.keys, unit, uint32(n), code, 1, head)
					})
				}
			}
		})
	})
	f.set.row += int64(rows)
	return nil
}

// sort sorts a column of a chunk by shards. Whole numbers become floats, as in the columns of a mechanism.
func (f *Folder) sort(column int, v *table.Values, s *stretch, first int) {
	to, k := &f.columns[column], f.set.keys
	switch {
	case v.Codes != nil:
		sortColumn(k, s, to.codes, func(off int) int32 { return v.Codes[first+off] })
	case v.Float64 != nil:
		sortColumn(k, s, to.floats, func(off int) float64 { return v.Float64[first+off] })
	case v.Unsigned:
		sortColumn(k, s, to.floats, func(off int) float64 { return float64(uint64(v.Int64[first+off])) })
	default:
		divisor := v.Divisor()
		sortColumn(k, s, to.floats, func(off int) float64 { return float64(v.Int64[first+off]) / divisor })
	}
}
