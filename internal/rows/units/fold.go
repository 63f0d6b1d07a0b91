package units

import (
	"cmp"
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
	Columns []Fold
	// Views is the number of views. View 0 sees every row. Another sees the rows that pass its mask, as a `where` does. All
	// views have the same units in the same order.
	Views  int
	Units  int64  // the number of units, which an Index has numbered
	Rows   int64  // at most so many rows are added; it says how much memory the counts of categories may take
	Memory int64  // the most bytes that units may take; 0 means table.DefaultMemory
	Dir    string // the folder for rows and units that do not fit; "" is the folder of temporary files
	_      struct{}
}

// Folder makes one row of each unit (P22).
//
// # Contract
//
// The folded row of a unit is a function of the spec and of the values of that unit's own rows, whatever their order. Every unit
// that an Index has numbered has exactly one folded row in every view, at the place of its number. In a view whose mask none of
// its rows pass, a unit has missing values. Proof: fold.proof.md.
//
// Let p be the power of two at or above the declared bounds. A sum rounds each value to the nearest p * 2^-60, limits it to
// p * 2^30, and adds up exactly; a mean divides that sum by the number of values; both round once. NaN is a missing value.
// Folds leave missing values out. A fold of no value is missing, and its count is 0.
type Folder struct {
	spec   FoldSpec
	folds  []cell
	passed []int // for each view except view 0 the word that says whether a row passed
	width  int   // words of a unit
	limit  int64 // the most bytes that the units of a range may take
	mixer
	chunk
	first, units int64 // the range of units that is folded
	shards       [shards]foldShard
	floats       [][]float64 // of the chunk's columns of whole numbers
	nums         []uint32    // the places of the chunk's sorted rows in their shards

	late *Rows // all rows, by ranges of their units, nil where all units fit in memory: see fold_late.go
	span int64 // units of a range
}

// foldShard holds the words of the units of a range whose numbers have the same lower bits.
type foldShard struct {
	words []uint64
	tally tally
}

// NewFolder makes a folder.
func NewFolder(spec FoldSpec) (*Folder, error) {
	if spec.Views < 1 || spec.Memory < 0 || spec.Units < 0 || spec.Units > math.MaxInt32 || spec.Rows < 0 {
		return nil, fmt.Errorf("units: a folder needs a number of units, and at least one view")
	}
	spec.Memory = cmp.Or(spec.Memory, table.DefaultMemory)
	f := &Folder{spec: spec, passed: make([]int, spec.Views), floats: make([][]float64, len(spec.Columns)), limit: spec.Memory / 4 * 3,
		mixer: newMixer(), chunk: newChunk(), span: spec.Units}
	for i := range spec.Columns {
		if err := spec.Columns[i].check(); err != nil {
			return nil, err
		}
	}
	counted := int64(0) // the most that modes count
	for v := range spec.Views {
		if v > 0 {
			f.passed[v] = f.width
			f.width++
		}
		for i := range spec.Columns {
			if c := &spec.Columns[i]; len(c.Views) == 0 || slices.Contains(c.Views, v) {
				f.folds = append(f.folds, newCell(c, v, i, f.width))
				f.width += f.folds[len(f.folds)-1].words()
				if c.By == FoldMode {
					counted += min(spec.Rows, spec.Units*int64(len(c.Domain)))
				}
			}
		}
	}
	if f.width = padded(f.width); 8*int64(f.width)*spec.Units+counted*(talliedBytes+8) > f.limit {
		f.putAside(8*int64(f.width)*spec.Units + counted*(talliedBytes+8))
		return f, nil
	}
	f.begin(0, spec.Units)
	return f, nil
}

// padded returns how many words a unit takes in memory, so that a small one does not lie across two lines of a core's cache.
func padded(width int) int {
	switch {
	case width == 3:
		return 4
	case width > 4 && width < 8:
		return 8
	}
	return width
}

// begin begins to fold a range of units.
func (f *Folder) begin(first, units int64) {
	f.first, f.units = first, units
	parallel(shards, func(i int) {
		n := int((units-int64(i)+shards-1)/shards) * f.width
		f.shards[i].tally = tally{}
		f.shards[i].words = fit(f.shards[i].words, n)[:n]
		clear(f.shards[i].words)
	})
}

// bytes returns how much memory the units of the range take.
func (f *Folder) bytes() (n int64) {
	for i := range f.shards {
		n += 8*int64(len(f.shards[i].words)) + f.shards[i].tally.bytes()
	}
	return n
}

// Add folds rows: the numbers of their units, -1 for a row without one, the columns of the spec in its order, and for each view a
// bitmap of the rows that pass, like table.Values.Valid. The bitmap of view 0 is nil.
func (f *Folder) Add(units []int32, columns []table.Values, masks [][]byte) error {
	if len(columns) != len(f.spec.Columns) || len(masks) != f.spec.Views || masks[0] != nil {
		return errShape
	}
	for i := range columns {
		c := &columns[i]
		number := f.spec.Columns[i].Number
		if len(units) > 0 && (number && c.Float64 == nil && c.Int64 == nil || !number && c.Codes == nil) {
			return errShape
		}
	}
	if f.late != nil {
		return f.put(units, columns, masks)
	}
	for first := 0; first < len(units); first += chunkRows {
		f.add(units[first:min(first+chunkRows, len(units))], columns, masks, first)
	}
	return nil
}

// add folds a chunk of rows, from first on. Units outside of the range do not count.
func (f *Folder) add(units []int32, columns []table.Values, masks [][]byte, first int) {
	values := make([][]float64, len(columns))
	for i := range columns {
		f.floats[i], values[i] = floatsOf(&columns[i], first, len(units), f.floats[i])
	}
	f.nums = fit(f.nums, len(units))
	f.sort(len(units), func(from, to int) {
		for i, unit := range units[from:to] {
			if f.of[from+i] = noShard; int64(unit) >= f.first && int64(unit) < f.first+f.units {
				f.of[from+i] = int32((int64(unit) - f.first) & (shards - 1))
			}
		}
	})
	parallel(shards, func(i int) {
		s := &f.shards[i]
		f.each(i, func(lo, hi int) {
			r := shardRows{offs: f.sorted[lo:hi], nums: f.nums[lo:hi], first: first, stride: f.width}
			for j, off := range r.offs {
				r.nums[j] = uint32((int64(units[off]) - f.first) >> shardBits)
			}
			for v, at := range f.passed[1:] {
				for j, off := range r.offs {
					if bit(masks[v+1], first+int(off)) {
						s.words[int(r.nums[j])*f.width+at] = 1
					}
				}
			}
			for n := range f.folds {
				c := &f.folds[n]
				if r.valid, r.mask = columns[c.column].Valid, masks[c.view]; c.Number {
					c.addNumbers(s.words, r, values[c.column])
					continue
				}
				c.addCodes(s.words, r, columns[c.column].Codes[first:], func(unit uint32, code int32, head *uint64) {
					s.tally.add(&f.mixer, unit, uint32(n), code, head)
				})
			}
		})
	})
}

// floatsOf returns the numbers of a chunk. Whole numbers become floats, as in the columns of a mechanism.
func floatsOf(v *table.Values, first, rows int, room []float64) (kept, x []float64) {
	switch {
	case v.Float64 != nil:
		return room, v.Float64[first : first+rows]
	case v.Int64 == nil:
		return room, nil
	}
	room = fit(room, rows)
	divisor := v.Divisor()
	for i, n := range v.Int64[first : first+rows] {
		if room[i] = float64(n) / divisor; v.Unsigned {
			room[i] = float64(uint64(n))
		}
	}
	return room, room[:rows]
}

// Finish ends the table. Nobody may use the folder after that.
func (f *Folder) Finish() (*FoldedUnits, error) {
	defer f.Close()
	u := newFoldedUnits(f)
	var err error
	if f.late == nil {
		err = f.deliver(u)
	}
	for first := int64(0); err == nil && f.late != nil && first < f.spec.Units; first += f.span {
		err = f.fold(u, first, min(f.span, f.spec.Units-first), int(first/f.span))
	}
	if err == nil {
		err = u.end()
	}
	if err != nil {
		u.Close()
		return nil, err
	}
	return u, nil
}

// deliverUnits is the number of units that a goroutine delivers at once.
const deliverUnits = 1 << 12

// deliver adds the results of the units of the range, in their order. Ranges begin at whole words of a bitmap.
func (f *Folder) deliver(u *FoldedUnits) error {
	for at := int64(0); at < f.units; {
		row := int(u.units % blockUnits)
		if row == 0 {
			if err := u.begin(); err != nil {
				return err
			}
		}
		n := min(int(f.units-at), blockUnits-row)
		parallel((n+deliverUnits-1)/deliverUnits, func(part int) {
			for i := part * deliverUnits; i < min(n, (part+1)*deliverUnits); i++ {
				f.result(at+int64(i), u, row+i)
			}
		})
		u.units += int64(n)
		at += int64(n)
	}
	return nil
}

// result puts the results of a unit of the range into a row of the block that is being filled.
func (f *Folder) result(unit int64, u *FoldedUnits, row int) {
	s := &f.shards[unit&(shards-1)]
	words := s.words[int(unit>>shardBits)*f.width:][:f.width]
	for i := range f.folds {
		c := &f.folds[i]
		if c.view > 0 && words[f.passed[c.view]] == 0 {
			continue
		}
		if x, ok := c.result(&s.tally, words[c.at:]); ok {
			u.filling[i][row] = x
			u.filling[i][u.size+row>>6] |= 1 << (row & 63)
		}
	}
}

// Close frees the memory and the file of a folder, as Finish does.
func (f *Folder) Close() error {
	f.shards = [shards]foldShard{}
	if f.late == nil {
		return nil
	}
	return f.late.Close()
}
