package formula

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Bins cut a number into labelled ranges. A range holds its lower edge and not its upper edge; the last range holds both,
// so that the edges 0, 18, 120 cover the bounds 0 to 120. A value outside the edges is missing, or in a range of its own
// with Below or Above, which a job says with the edges -inf and inf.
type Bins struct {
	Column       string    // a number, or a date or timestamp
	Edges        []float64 // of dates: days since 1970
	Below, Above bool
	Dates        bool `json:",omitempty"`
}

// maxBins is the largest number of edges.
const maxBins = 10_000

// Check describes what is wrong with the edges, or returns "".
func (b *Bins) Check() (what, hint string) {
	least := 2
	if b.Below || b.Above {
		least = 1
	}
	switch n := len(b.Edges); {
	case n < least:
		return fmt.Sprintf("needs at least %d edges", least), "write edges: [0, 18, 65, 120]"
	case n > maxBins:
		return fmt.Sprintf("has %d edges, the most is %d", n, maxBins), ""
	}
	for i, e := range b.Edges {
		if math.IsNaN(e) || math.IsInf(e, 0) {
			return "has an edge that is not finite", "write -inf as the first edge or inf as the last one"
		}
		if i > 0 && e <= b.Edges[i-1] {
			return fmt.Sprintf("has the edge %s after %s", b.edge(e), b.edge(b.Edges[i-1])), "write the edges in ascending order, each once"
		}
	}
	return "", ""
}

// Labels returns the names of the ranges in ascending order: "< 0", "[0, 18)", "[18, 120]", "> 120". The code of a range is
// its place here.
func (b *Bins) Labels() []string {
	var labels []string
	n := len(b.Edges)
	if b.Below {
		labels = append(labels, "< "+b.edge(b.Edges[0]))
	}
	for i := 1; i < n; i++ {
		end := ")"
		if i == n-1 {
			end = "]"
		}
		labels = append(labels, "["+b.edge(b.Edges[i-1])+", "+b.edge(b.Edges[i])+end)
	}
	if b.Above {
		sign := "> "
		if n == 1 {
			sign = ">= "
		}
		labels = append(labels, sign+b.edge(b.Edges[n-1]))
	}
	return labels
}

// Code returns the range of a value, or -1 if it is in none or is not a number.
func (b *Bins) Code(x float64) int32 {
	n := len(b.Edges)
	first, last := b.Edges[0], b.Edges[n-1]
	code := int32(0)
	if b.Below {
		code = 1
	}
	switch {
	case x != x:
		return -1
	case x < first:
		return code - 1
	case x > last || n == 1:
		if !b.Above {
			return -1
		}
		return code + int32(n-1)
	case x == last:
		return code + int32(n-2)
	}
	lo, hi := 0, n-1 // Edges[lo] <= x < Edges[hi]
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; b.Edges[mid] <= x {
			lo = mid
		} else {
			hi = mid
		}
	}
	return code + int32(lo)
}

func (b *Bins) edge(x float64) string {
	if b.Dates {
		return time.Unix(int64(x)*86400, 0).UTC().Format(time.DateOnly)
	}
	if a := math.Abs(x); a != 0 && (a < 1e-6 || a >= 1e15) {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return strconv.FormatFloat(x+0, 'f', -1, 64)
}

// Fit reports whether a column of this type can be cut at the edges.
func (b *Bins) Fit(t Type) bool {
	if b.Dates {
		return t == Date || t == Timestamp
	}
	return t == Number
}
