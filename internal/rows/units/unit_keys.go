package units

import (
	"hash/maphash"
	"math"
	"math/bits"
	"runtime"

	"github.com/dprelease/dprelease/internal/table"
)

const (
	// chunkRows is how many rows are worked on at once.
	chunkRows = 1 << 16
	// Units are spread over shards by the top bits of their hash. Goroutines work on different shards, and each shard is a
	// partition of what is spilled.
	shardBits = 6
	shards    = 1 << shardBits
)

// An entry of a shard's list is the offset of a row in its chunk, and whether the row is a unit of its own.
const (
	ownRow  = 1 << 31
	offMask = ownRow - 1
)

// keyer reads unit columns: it finds a word for each key and spreads the rows of a chunk over the shards. The word of a
// number is the key itself, that of a text is a hash.
type keyer struct {
	nulls   NullUnits
	seed    maphash.Seed
	odd     uint64
	whiten  uint64
	text    bool     // the unit column holds texts
	dict    []string // the dictionary that hashes belong to
	dictID  uint64
	hashes  []uint64
	words   []uint64           // of the rows of the chunk
	lists   [][shards][]uint32 // for each stretch of the chunk and each shard, its rows in order
	without []int64            // for each stretch, its rows without a key
	missing int64              // rows without a key, so far
	_       struct{}
}

func newKeyer(nulls NullUnits) *keyer {
	n := runtime.GOMAXPROCS(0)
	seed := maphash.MakeSeed() // of the process's random numbers: nobody can prepare keys that collide
	return &keyer{nulls: nulls, seed: seed, odd: maphash.String(seed, "odd") | 1, whiten: maphash.String(seed, "whiten"),
		words: make([]uint64, chunkRows), lists: make([][shards][]uint32, n), without: make([]int64, n)}
}

// mix spreads a word over 64 bits. It decides where a unit is kept and never what its number is.
func (k *keyer) mix(word uint64) uint64 {
	hi, lo := bits.Mul64(word^k.whiten, k.odd)
	hi, lo = bits.Mul64(hi^lo^k.odd, k.whiten|1)
	return hi ^ lo
}

// shardOf is the shard of a hash at a depth of the partitioning.
func shardOf(h uint64, depth int) int {
	return int(h>>(64-shardBits*(depth+1))) & (shards - 1)
}

// split spreads rows [first, first+rows) of a unit column, at most chunkRows, over the shards. Beside it calls also for
// each stretch of the chunk, on the goroutine that works on it.
func (k *keyer) split(v *table.Values, first, rows int, also func(from, to int)) error {
	switch {
	case v.Codes != nil:
		k.text = true
		k.hashDict(v)
	case v.Int64 == nil && v.Float64 == nil && rows > 0:
		return errShape
	}
	parts := len(k.lists)
	parallel(parts, func(p int) {
		from, to := p*rows/parts, (p+1)*rows/parts
		also(from, to)
		lists := &k.lists[p]
		for s := range lists {
			lists[s] = lists[s][:0]
		}
		k.without[p] = 0
		words := k.words[from:to]
		switch {
		case v.Codes != nil:
			for i, c := range v.Codes[first+from : first+to] {
				if int(c) < len(k.hashes) { // the place of a null holds zero, and a dictionary may be empty
					words[i] = k.hashes[c]
				}
			}
		case v.Int64 != nil:
			for i, n := range v.Int64[first+from : first+to] {
				words[i] = uint64(n)
			}
		default:
			for i, f := range v.Float64[first+from : first+to] {
				words[i] = math.Float64bits(f + 0) // one zero
			}
		}
		if v.Valid == nil && v.Float64 == nil {
			for i, w := range words {
				s := shardOf(k.mix(w), 0)
				lists[s] = append(lists[s], uint32(from+i))
			}
			return
		}
		for i, w := range words {
			at := first + from + i
			entry := uint32(from + i)
			if v.Null(at) || v.Float64 != nil && v.Float64[at] != v.Float64[at] {
				k.without[p]++
				if k.nulls != OwnNulls {
					continue
				}
				w, entry = uint64(entry), entry|ownRow
			}
			s := shardOf(k.mix(w), 0)
			lists[s] = append(lists[s], entry)
		}
	})
	for _, n := range k.without {
		k.missing += n
	}
	return nil
}

// hashDict hashes the texts of a dictionary once.
func (k *keyer) hashDict(v *table.Values) {
	if k.hashes != nil && k.dictID == v.DictID && len(k.dict) == len(v.Dict) {
		return
	}
	k.dict, k.dictID = v.Dict, v.DictID
	if cap(k.hashes) < len(v.Dict) {
		k.hashes = make([]uint64, len(v.Dict))
	}
	k.hashes = k.hashes[:len(v.Dict)]
	const stretch = 1 << 12
	parallel((len(v.Dict)+stretch-1)/stretch, func(p int) {
		for i := p * stretch; i < min((p+1)*stretch, len(v.Dict)); i++ {
			k.hashes[i] = maphash.String(k.seed, v.Dict[i])
		}
	})
}

// err says whether the rule for rows without a unit was broken.
func (k *keyer) err() error {
	if k.nulls == RefuseNulls && k.missing > 0 {
		return ErrNullKey
	}
	return nil
}
