package run

import (
	"bytes"
	"math"

	"github.com/dprelease/dprelease/internal/data/table"
)

// enoughBits is the number of bits at which two slices with equal columns hold the same rows: that two others agree by
// chance is then as unlikely as one in a million.
const enoughBits = 20

// telling estimates how many bits the values of a column tell about its rows: few yes/no answers are often those of
// another slice, too. In rows with an order, each value that differs from the one before counts as a choice among the
// values that occur. Without an order, only the number of times that each value occurs is compared: each value but the
// first counts as one bit.
type telling struct {
	ordered bool
	last    []byte
	changes int
	values  map[string]bool
}

// see takes the value of the next row.
func (t *telling) see(value []byte) {
	if t.values == nil {
		t.values = map[string]bool{string(value): true}
	} else if !bytes.Equal(t.last, value) {
		t.changes++
		t.values[string(value)] = true
	}
	t.last = append(t.last[:0], value...)
}

// bits returns the estimate, 0 for a column that holds one value.
func (t *telling) bits() float64 {
	switch {
	case len(t.values) < 2:
		return 0
	case t.ordered:
		return float64(t.changes) * math.Log2(float64(len(t.values)))
	}
	return float64(len(t.values) - 1)
}

// enough reports whether the column identifies its rows without any other. No further values need be seen then.
func (t *telling) enough() bool { return t.changes >= enoughBits && t.bits() >= enoughBits }

// identifying returns the marks of the columns that tell something, or none where all together tell too little.
func identifying(names []string, tells []*telling, mark func(int) (table.Fingerprint, error)) (map[string]table.Fingerprint, error) {
	total, out := 0.0, map[string]table.Fingerprint{}
	for i, t := range tells {
		bits := t.bits()
		if bits == 0 {
			continue
		}
		total += bits
		m, err := mark(i)
		if err != nil {
			return nil, err
		}
		out[names[i]] = m
	}
	if total < enoughBits {
		return nil, nil
	}
	return out, nil
}
