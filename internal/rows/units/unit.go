package units

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
)

// NullUnits is the rule for rows whose unit is missing. The zero value is invalid.
type NullUnits string

// The rules for rows without a unit.
const (
	RefuseNulls NullUnits = "refuse" // Finish returns ErrNullKey
	DropNulls   NullUnits = "drop"   // the row belongs to no unit and does not count
	OwnNulls    NullUnits = "own"    // the row is a unit of its own
)

func (n NullUnits) valid() bool { return n == RefuseNulls || n == DropNulls || n == OwnNulls }

// The errors after the first row, beside those of package unlinked. Their texts are fixed (P20).
var (
	ErrNullKey = errors.New("units: a row names no unit")
	ErrLimit   = errors.New("units: there are more units than can be numbered")
)

var errShape = errors.New("units: a column does not have the shape that was declared") // the caller's mistake

// parallel calls do for every i below n, on all processors. It panics if do panics.
func parallel(n int, do func(i int)) {
	workers := min(n, runtime.GOMAXPROCS(0))
	if workers <= 1 {
		for i := range n {
			do(i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	var failed atomic.Pointer[any]
	for range workers {
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					failed.Store(&p)
				}
			}()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
	if p := failed.Load(); p != nil {
		panic(*p)
	}
}

// bit reads a bitmap such as table.Values.Valid: least significant bit first, and nil for all ones.
func bit(b []byte, i int) bool { return b == nil || b[i>>3]>>(i&7)&1 == 1 }

// fit returns x, or a new slice if x has fewer than n elements. The elements have no meaning.
func fit[T any](x []T, n int) []T {
	if len(x) >= n {
		return x
	}
	return make([]T, n)
}
