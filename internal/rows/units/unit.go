package units

import (
	"errors"
	"hash/maphash"
	"math/bits"
	"runtime"
	"sync/atomic"

	"github.com/dprelease/dprelease/internal/guard"
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

// errRoom says that the units of a part do not fit in memory. The part is then read once for each half of them.
var errRoom = errors.New("units: a part does not fit in memory")

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
	var wg guard.Group
	for range workers {
		wg.Run(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
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

// mixer spreads words over 64 bits. It decides where something stands in memory or on the disk, and nothing else. It is secret
// and random, so that nobody can prepare values that collide.
type mixer struct{ odd, whiten uint64 }

func newMixer() mixer {
	seed := maphash.MakeSeed()
	return mixer{maphash.String(seed, "odd") | 1, maphash.String(seed, "whiten") | 1}
}

func (m *mixer) mix(word uint64) uint64 {
	hi, lo := bits.Mul64(word^m.whiten, m.odd)
	hi, lo = bits.Mul64(hi^lo^m.odd, m.whiten)
	return hi ^ lo
}

const (
	// chunkRows is the number of rows that are worked on at once.
	chunkRows = 1 << 16
	// Units are spread over shards. Goroutines work on different shards.
	shardBits = 6
	shards    = 1 << shardBits
)

// chunk holds rows by the shards of their units. Each stretch of rows is sorted by itself.
type chunk struct {
	of        []int32  // the shard of each row, noShard for one that does not count, with ownShard for a unit of its own
	sorted    []uint32 // the rows, with ownRow for a unit of its own
	stretches []stretch
}

const (
	noShard  = -1
	ownShard = shards
	ownRow   = 1 << 31
	offMask  = ownRow - 1
)

// stretch is the rows of a chunk that one goroutine sorts.
type stretch struct {
	from int                // where they begin
	ends [shards + 1]uint32 // where the shards end; an empty one stands before the first
}

func newChunk() chunk { return chunk{stretches: make([]stretch, runtime.GOMAXPROCS(0))} }

// sort sorts rows. fill sets the shards of some of them, on several goroutines.
func (c *chunk) sort(rows int, fill func(from, to int)) {
	c.of, c.sorted = fit(c.of, rows), fit(c.sorted, rows)
	parts := len(c.stretches)
	parallel(parts, func(p int) {
		s, from, to := &c.stretches[p], p*rows/parts, (p+1)*rows/parts
		fill(from, to)
		s.from, s.ends = from, [shards + 1]uint32{}
		for _, shard := range c.of[from:to] {
			if shard >= 0 {
				s.ends[shard&(shards-1)+1]++
			}
		}
		var next [shards]uint32
		for i := range shards {
			next[i] = s.ends[i]
			s.ends[i+1] += s.ends[i]
		}
		sorted := c.sorted[from:to]
		for i, shard := range c.of[from:to] {
			if shard >= 0 {
				at := &next[shard&(shards-1)]
				sorted[*at] = uint32(from+i) | uint32(shard)>>shardBits<<31
				*at++
			}
		}
	})
}

// each visits the rows of a shard, in their order: they stand in sorted from lo to hi.
func (c *chunk) each(shard int, visit func(lo, hi int)) {
	for i := range c.stretches {
		s := &c.stretches[i]
		if lo, hi := s.ends[shard], s.ends[shard+1]; lo < hi {
			visit(s.from+int(lo), s.from+int(hi))
		}
	}
}
