package rows

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/lang"
)

// MaxCells is the most cells that a release may have.
const MaxCells = 1 << 20

// GroupColumn is a column that a release groups by.
type GroupColumn struct {
	Name   string
	Domain []string
}

// Cells number the combinations of the values of group columns. The last column varies
// fastest: of [a, b] by [x, y] cell 1 is (a, y).
type Cells struct {
	columns []GroupColumn
	other   string
	cells   int
}

// NewCells makes the cells of a release. Where other is not "", rows without a value in
// one of the columns go to a last cell, which has this label in every column. The error
// is a sentence for the person who wrote the job.
func NewCells(columns []GroupColumn, other string) (*Cells, error) {
	size := big.NewInt(1)
	var factors []string
	for i, c := range columns {
		size.Mul(size, big.NewInt(int64(len(c.Domain))))
		factors = append(factors, fmt.Sprint(len(c.Domain)))
		switch {
		case slices.ContainsFunc(columns[:i], func(before GroupColumn) bool { return before.Name == c.Name }):
			return nil, fmt.Errorf("groups by %s twice", lang.Shown(c.Name))
		case len(c.Domain) == 0:
			return nil, fmt.Errorf("groups by %s, which has no domain", lang.Shown(c.Name))
		case other != "" && slices.Contains(c.Domain, other):
			return nil, fmt.Errorf("calls the cell of other rows %s, which is in the domain of %s", lang.Shown(other), lang.Shown(c.Name))
		}
	}
	if other != "" {
		size.Add(size, big.NewInt(1))
	}
	if size.Cmp(big.NewInt(MaxCells)) > 0 {
		return nil, fmt.Errorf("has %s cells (%s), the most is %d", size, strings.Join(factors, " × "), MaxCells)
	}
	return &Cells{slices.Clone(columns), other, int(size.Int64())}, nil
}

// Len is the number of cells.
func (c *Cells) Len() int { return c.cells }

// Names are the group columns.
func (c *Cells) Names() []string {
	var names []string
	for _, g := range c.columns {
		names = append(names, g.Name)
	}
	return names
}

// Labels are the values of the group columns in a cell.
func (c *Cells) Labels(cell int) []string {
	labels := make([]string, len(c.columns))
	if c.other != "" && cell == c.cells-1 {
		for i := range labels {
			labels[i] = c.other
		}
		return labels
	}
	for i := len(labels) - 1; i >= 0; i-- {
		n := len(c.columns[i].Domain)
		labels[i] = c.columns[i].Domain[cell%n]
		cell /= n
	}
	return labels
}

// Code fills dst with the cell of each row, from the codes of the group columns in their
// domains; a code of -1 is missing. Rows that mask leaves out, and rows in no cell, get
// -1. A mask of nil leaves no row out.
//
// # Contract
//
// dst[i] is a function of the codes and of the mask bit of row i alone, and is -1 or a
// cell. See evaluate.proof.md (P24).
func (c *Cells) Code(dst []int32, codes [][]int32, mask []byte) {
	missing := int32(-1)
	if c.other != "" {
		missing = int32(c.cells - 1)
	}
	fill(dst, 0)
	for k, column := range codes {
		n := int32(len(c.columns[k].Domain))
		for i, code := range column[:len(dst)] {
			if code < 0 || code >= n || dst[i] < 0 {
				dst[i] = math.MinInt32
			} else {
				dst[i] = dst[i]*n + code
			}
		}
	}
	for i, code := range dst {
		if code < 0 {
			dst[i] = missing
		}
		if mask != nil && mask[i>>3]>>(i&7)&1 == 0 {
			dst[i] = -1
		}
	}
}
