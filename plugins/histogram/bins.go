package histogram

import (
	"errors"
	"math"
	"sort"
)

// maxBins bounds the bins of a histogram.
const maxBins = 10_000

// bins find the bin of a value. If bins are about equally wide, the time does not grow with their
// number.
type bins struct {
	edges []float64
	first float64
	slots float64 // slots in a unit of the value
	start []int32 // of each slot: a bin near it
}

func newBins(edges []float64) (*bins, error) {
	if len(edges) < 2 || len(edges) > maxBins+1 {
		return nil, errors.New("edges: must be between 2 and 10001 numbers")
	}
	for i, e := range edges {
		if math.IsNaN(e) || math.IsInf(e, 0) || i > 0 && !(e > edges[i-1]) {
			return nil, errors.New("edges: must be finite and ascend")
		}
	}
	width := edges[len(edges)-1] - edges[0]
	if math.IsInf(width, 0) {
		return nil, errors.New("edges: the first and the last are too far apart")
	}
	b := &bins{edges: edges, first: edges[0]}
	n := min(16*len(edges), 1<<16)
	if b.slots = float64(n) / width; math.IsInf(b.slots, 0) {
		n, b.slots = 1, 0 // all edges within the smallest numbers: one slot
	}
	for s := range n {
		at := edges[0] + width*float64(s)/float64(n)
		b.start = append(b.start, int32(max(0, sort.Search(b.n(), func(i int) bool { return edges[i] > at })-1)))
	}
	return b, nil
}

func (b *bins) n() int { return len(b.edges) - 1 }

// find is the bin of x, or -1. The slot is a guess, from which the edges themselves are
// looked at.
func (b *bins) find(x float64) int {
	last := b.n()
	if !(x >= b.first) || x > b.edges[last] {
		return -1
	}
	slot := int((x - b.first) * b.slots)
	i := int(b.start[min(slot, len(b.start)-1)])
	for x < b.edges[i] {
		i--
	}
	for i+1 < last && x >= b.edges[i+1] {
		i++
	}
	return i
}
