package sdk

import "errors"

// Values holds some rows of one column: Float64 and Valid for a Number, Codes for a
// Category.
type Values struct {
	Float64 []float64
	// Codes are indices into the domain of the column, or -1 where the value is
	// missing.
	Codes []int32
	// Valid is a bitmap, least significant bit first, of the numbers that are present; nil if
	// all are. A number that is not present has any finite value, which must not be read.
	Valid []byte
}

// Batch holds some rows of the columns that the plan asked for, in the plan's order.
// Its slices may be memory that cannot be written: a mechanism that changes values
// copies them first.
type Batch struct {
	Rows    int
	Columns []Values
	// Weights are the design weights of the rows, or nil where all are equal.
	Weights []float64

	_ struct{}
}

// Float64 returns the values of column i of the plan, a Number.
func (b *Batch) Float64(i int) []float64 { return b.Columns[i].Float64 }

// Codes returns the codes of column i of the plan, a Category.
func (b *Batch) Codes(i int) []int32 { return b.Columns[i].Codes }

// IsValid reports whether the value in a row of column i is present.
func (b *Batch) IsValid(i, row int) bool {
	c := &b.Columns[i]
	if c.Codes != nil {
		return c.Codes[row] >= 0
	}
	return c.Valid == nil || c.Valid[row>>3]>>(row&7)&1 == 1
}

// What may be wrong with a batch. The texts are fixed: a batch holds data.
var (
	errBatchShape = errors.New("rows do not have the shape of the plan's columns")
	errBatchCode  = errors.New("a category code is outside its domain")
)

// Check returns what is wrong with b as rows of these columns, or nil.
func (b *Batch) Check(columns []Column) error {
	if b.Rows < 0 || len(b.Columns) != len(columns) || b.Weights != nil && len(b.Weights) != b.Rows {
		return errBatchShape
	}
	for i, c := range columns {
		v := b.Columns[i]
		if c.Type != Category {
			if len(v.Float64) != b.Rows || v.Codes != nil || v.Valid != nil && len(v.Valid) < (b.Rows+7)/8 {
				return errBatchShape
			}
			continue
		}
		if len(v.Codes) != b.Rows || v.Float64 != nil || v.Valid != nil {
			return errBatchShape
		}
		for most, codes := uint32(len(c.Domain)), v.Codes; len(codes) > 0; codes = codes[1:] {
			if uint32(codes[0]+1) > most { // −1 becomes 0, and what is below it large
				return errBatchCode
			}
		}
	}
	return nil
}
