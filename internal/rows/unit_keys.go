package rows

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

// An entry is the offset of a row in its chunk, and whether the row is a unit of its own.
const (
	ownRow  = 1 << 31
	offMask = ownRow - 1
)

// keyer reads unit columns: it finds a word for each key and spreads the rows of a chunk over the shards. The word of a
// number is the key itself, that of a text is a hash.
type keyer struct {
	nulls     NullUnits
	seed      maphash.Seed
	odd       uint64
	whiten    uint64
	text      bool     // the unit column holds texts
	dict      []string // the dictionary that texts belongs to
	dictID    uint64
	texts     []uint64 // the hashes of its entries
	words     []uint64 // of the rows of the chunk
	hashes    []uint64 // the words, spread
	stretches []stretch
	missing   int64 // rows without a key, so far
}

// stretch is a part of a chunk, which one goroutine spreads.
type stretch struct {
	entries []uint32 // the rows that belong to a unit, in order
	sorted  []uint32 // the same rows by their shards
	ends    [shards]uint32
	missing int64
}

// shard returns the rows of a shard.
func (s *stretch) shard(i int) []uint32 {
	if i == 0 {
		return s.sorted[:s.ends[0]]
	}
	return s.sorted[s.ends[i-1]:s.ends[i]]
}

// newKeyer makes a keyer.
func newKeyer(nulls NullUnits) *keyer {
	seed := maphash.MakeSeed() // of the process's random numbers: nobody can prepare keys that collide
	return &keyer{nulls: nulls, seed: seed, odd: maphash.String(seed, "odd") | 1, whiten: maphash.String(seed, "whiten") | 1,
		words: make([]uint64, chunkRows), hashes: make([]uint64, chunkRows), stretches: make([]stretch, runtime.GOMAXPROCS(0))}
}

// mix spreads a word over 64 bits. It decides where a unit is kept and never what its number is.
func (k *keyer) mix(word uint64) uint64 {
	hi, lo := bits.Mul64(word^k.whiten, k.odd)
	hi, lo = bits.Mul64(hi^lo^k.odd, k.whiten)
	return hi ^ lo
}

// hash is that of the key of a record.
func (k *keyer) hash(s *unitShard, record []uint64) uint64 {
	if k.text {
		return k.mix(maphash.Bytes(k.seed, s.texts.at(record[keyWord])))
	}
	return k.mix(record[keyWord])
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
	parts := len(k.stretches)
	parallel(parts, func(p int) {
		from, to := p*rows/parts, (p+1)*rows/parts
		also(from, to)
		k.read(v, first, from, to)
		k.stretches[p].spread(k, v, first, from, to)
	})
	for i := range k.stretches {
		k.missing += k.stretches[i].missing
	}
	return nil
}

// read finds the words of rows.
func (k *keyer) read(v *table.Values, first, from, to int) {
	words := k.words[from:to]
	switch {
	case v.Codes != nil:
		for i, c := range v.Codes[first+from : first+to] {
			if int(c) < len(k.texts) { // the place of a null holds zero, and a dictionary may be empty
				words[i] = k.texts[c]
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
}

// spread sorts rows by the shards of their hashes, and leaves out those that belong to no unit.
func (s *stretch) spread(k *keyer, v *table.Values, first, from, to int) {
	if cap(s.entries) < to-from {
		s.entries, s.sorted = make([]uint32, to-from), make([]uint32, to-from)
	}
	entries, hashes, words := s.entries[:0], k.hashes, k.words
	var count [shards]uint32
	s.missing = 0
	for i := from; i < to; i++ {
		entry, word := uint32(i), words[i]
		if !bit(v.Valid, first+i) || v.Float64 != nil && v.Float64[first+i] != v.Float64[first+i] {
			s.missing++
			if k.nulls != OwnNulls {
				continue
			}
			entry, word = entry|ownRow, uint64(i)
		}
		h := k.mix(word)
		hashes[i] = h
		count[h>>(64-shardBits)]++
		entries = append(entries, entry)
	}
	sum := uint32(0)
	for i, n := range count {
		count[i], sum = sum, sum+n
	}
	s.sorted = s.sorted[:len(entries)]
	for _, e := range entries {
		shard := hashes[e&offMask] >> (64 - shardBits)
		s.sorted[count[shard]] = e
		count[shard]++
	}
	s.ends = count
}

// hashDict hashes the texts of a dictionary once.
func (k *keyer) hashDict(v *table.Values) {
	if k.texts != nil && k.dictID == v.DictID && len(k.dict) == len(v.Dict) {
		return
	}
	k.dict, k.dictID = v.Dict, v.DictID
	if cap(k.texts) < len(v.Dict) {
		k.texts = make([]uint64, len(v.Dict))
	}
	k.texts = k.texts[:len(v.Dict)]
	const stretch = 1 << 12
	parallel((len(v.Dict)+stretch-1)/stretch, func(p int) {
		for i := p * stretch; i < min((p+1)*stretch, len(v.Dict)); i++ {
			k.texts[i] = maphash.String(k.seed, v.Dict[i])
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
