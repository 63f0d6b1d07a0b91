package rows

import "math"

// Cells number the combinations of the codes of group columns. The last column varies fastest: of two columns with two
// values each, cell 1 has the codes 0 and 1. The product of the sizes, and Other, are below 1<<31.
type Cells struct {
	Sizes []int32 // of the domains
	Other int32   // the cell of the rows without a value in one of the columns, -1 where there is none
}

// Code fills dst with the cell of each row, from the codes of the group columns in their domains; a code of -1 is missing.
// Rows that mask leaves out, and rows in no cell, get -1. A mask of nil leaves no row out.
//
// # Contract
//
// dst[i] is a function of the codes and of the mask bit of row i alone, and is -1 or a cell. See evaluate.proof.md (P24).
func (c *Cells) Code(dst []int32, codes [][]int32, mask []byte) {
	fill(dst, 0)
	for k, column := range codes {
		n := c.Sizes[k]
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
			dst[i] = c.Other
		}
		if mask != nil && mask[i>>3]>>(i&7)&1 == 0 {
			dst[i] = -1
		}
	}
}
