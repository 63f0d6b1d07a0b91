package units

import (
	"hash/maphash"
	"math"
	"math/bits"
	"runtime"
	"unsafe"

	"github.com/dprelease/dprelease/internal/data/table"
)

const (
	// chunkRows is the number of rows that are worked on at once.
	chunkRows = 1 << 16
	// Units are spread over shards by the top bits of their hash. Goroutines work on different shards, and each shard is a
	// partition of what is spilled.
	shardBits = 6
	shards    = 1 << shardBits
)

// An entry is the offset of a row in its chunk. Its top bit says that the row is a unit of its own.
const (
	ownRow  = 1 << 31
	offMask = ownRow - 1
)

// keyer reads unit columns. It finds a word for each key, and sorts the rows of a chunk by the shards of their units. The
// word of a number is its bits, and that of a text is a hash.
type keyer struct {
	nulls   NullUnits
	seed    maphash.Seed
	odd     uint64
	whiten  uint64
	text    bool     // the unit column holds texts
	listed  bool     // keys are the numbers of units: see listedSet
	dict    []string // the dictionary that texts belongs to
	dictID  uint64
	texts   []uint64 // the hashes of its entries
	missing int64    // rows without a key, so far

	// Of the chunk. Each stretch has its own part of the slices.
	stretches []stretch
	read      []uint64 // the words of the rows
	entries   []uint32 // the rows that belong to a unit, in order
	places    []uint32 // the place of each in sorted and words
	sorted    []uint32 // entries, sorted by shards
	words     []uint64 // and their words
}

// stretch is a part of a chunk that one goroutine sorts.
type stretch struct {
	from, rows int            // the begin of its part of the slices, and the number of rows that belong to a unit
	ends       [shards]uint32 // where the shards end
	missing    int64
}

// newKeyer makes a keyer.
func newKeyer(nulls NullUnits) *keyer {
	seed := maphash.MakeSeed() // secret and random, so that nobody can prepare keys that collide
	return &keyer{nulls: nulls, seed: seed, odd: maphash.String(seed, "odd") | 1, whiten: maphash.String(seed, "whiten") | 1,
		stretches: make([]stretch, runtime.GOMAXPROCS(0))}
}

// shard returns the places of a shard's rows in the sorted slices.
func (s *stretch) shard(i int) (lo, hi int) {
	if i > 0 {
		lo = int(s.ends[i-1])
	}
	return s.from + lo, s.from + int(s.ends[i])
}

// mix spreads a word over 64 bits. It decides the place of a unit in memory, and never its number.
func (k *keyer) mix(word uint64) uint64 {
	hi, lo := bits.Mul64(word^k.whiten, k.odd)
	hi, lo = bits.Mul64(hi^lo^k.odd, k.whiten)
	return hi ^ lo
}

// hash returns the hash of a record's key.
func (k *keyer) hash(s *unitShard, record []uint64) uint64 {
	if k.text {
		return k.mix(k.hashText(s.texts.at(record[keyWord])))
	}
	return k.mix(record[keyWord])
}

// hashText returns the word of a text.
func (k *keyer) hashText(text []byte) uint64 { return maphash.Bytes(k.seed, text) }

// shardOf returns the shard of a hash at a depth of the partitioning.
func shardOf(h uint64, depth int) int {
	return int(h>>(64-shardBits*(depth+1))) & (shards - 1)
}

// split sorts rows [first, first+rows) of a unit column, at most chunkRows of them. Then it calls also for each stretch, on
// the goroutine that sorted it.
func (k *keyer) split(v *table.Values, first, rows int, also func(s *stretch)) error {
	switch {
	case v.Codes != nil:
		k.text = true
		k.hashDict(v)
	case v.Int64 == nil && v.Float64 == nil && rows > 0:
		return errShape
	}
	k.read, k.words = fit(k.read, rows), fit(k.words, rows)
	k.entries, k.places, k.sorted = fit(k.entries, rows), fit(k.places, rows), fit(k.sorted, rows)
	parts := len(k.stretches)
	parallel(parts, func(p int) {
		from, to := p*rows/parts, (p+1)*rows/parts
		k.find(v, first, from, to)
		k.sort(&k.stretches[p], v, first, from, to)
		also(&k.stretches[p])
	})
	for i := range k.stretches {
		k.missing += k.stretches[i].missing
	}
	return nil
}

// find computes the words of rows.
func (k *keyer) find(v *table.Values, first, from, to int) {
	words := k.read[from:to]
	switch {
	case v.Codes != nil:
		for i, c := range v.Codes[first+from : first+to] {
			if uint32(c) < uint32(len(k.texts)) { // the place of a null holds zero, and a dictionary may be empty
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

// sort sorts rows by the shards of their hashes, and drops those that belong to no unit.
func (k *keyer) sort(s *stretch, v *table.Values, first, from, to int) {
	var count [shards]uint32
	n := from
	s.from, s.missing = from, 0
	for i := from; i < to; i++ {
		entry, word := uint32(i), k.read[i]
		if !bit(v.Valid, first+i) || v.Float64 != nil && v.Float64[first+i] != v.Float64[first+i] || v.Codes != nil && v.Codes[first+i] < 0 {
			s.missing++
			if k.nulls != OwnNulls {
				continue
			}
			entry, word = entry|ownRow, uint64(i)
			k.read[i] = word
		}
		shard := word & (shards - 1)
		if !k.listed {
			shard = k.mix(word) >> (64 - shardBits)
		}
		k.entries[n], k.places[n] = entry, uint32(shard)
		count[shard]++
		n++
	}
	s.rows = n - from
	sum := uint32(0)
	for i, c := range count {
		count[i], sum = sum, sum+c
	}
	entries, places, sorted, words := k.entries[from:n], k.places[from:n], k.sorted[from:n], k.words[from:n]
	for i, e := range entries {
		at := count[places[i]&(shards-1)]
		count[places[i]&(shards-1)]++
		places[i], sorted[at], words[at] = at, e, k.read[e&offMask]
	}
	s.ends = count
}

// sortColumn puts values of the rows of a stretch into the order of the sorted slices.
func sortColumn[T any](k *keyer, s *stretch, dst []T, value func(off int) T) {
	dst = dst[s.from : s.from+s.rows]
	places := k.places[s.from : s.from+s.rows]
	for i, e := range k.entries[s.from : s.from+s.rows] {
		dst[places[i]] = value(int(e & offMask))
	}
}

// hashDict hashes the texts of a new dictionary.
func (k *keyer) hashDict(v *table.Values) {
	if v.DictID != 0 && k.dictID == v.DictID && len(k.dict) == len(v.Dict) && unsafe.SliceData(k.dict) == unsafe.SliceData(v.Dict) {
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

// err returns ErrNullKey if a row broke the rule for rows without a unit.
func (k *keyer) err() error {
	if k.nulls == RefuseNulls && k.missing > 0 {
		return ErrNullKey
	}
	return nil
}
