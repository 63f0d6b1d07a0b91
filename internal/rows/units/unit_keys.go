package units

import (
	"hash/maphash"
	"math"
	"unsafe"

	"github.com/dprelease/dprelease/internal/data/table"
)

// keyer reads unit columns. It finds a word for each key, and sorts the rows of a chunk by the shards of their units. The
// word of a number is its bits, and that of a text is a hash.
type keyer struct {
	mixer
	chunk
	nulls  NullUnits
	seed   maphash.Seed
	text   bool     // the unit column holds texts
	dict   []string // the dictionary that texts belongs to
	dictID uint64
	texts  []uint64 // the hashes of its entries
	read   []uint64 // the words of the chunk's rows
}

func newKeyer(nulls NullUnits) *keyer {
	return &keyer{mixer: newMixer(), chunk: newChunk(), nulls: nulls, seed: maphash.MakeSeed()}
}

// hash returns the hash of a key that is in a shard.
func (k *keyer) hash(s *unitShard, key uint64) uint64 {
	if k.text {
		return k.mix(maphash.Bytes(k.seed, s.texts.at(key)))
	}
	return k.mix(key)
}

// split sorts rows [first, first+rows) of a unit column, at most chunkRows of them. It returns how many have no key.
func (k *keyer) split(v *table.Values, first, rows int) (missing int64, err error) {
	switch {
	case v.Codes != nil:
		k.text = true
		k.hashDict(v)
	case v.Int64 == nil && v.Float64 == nil && rows > 0:
		return 0, errShape
	}
	k.read = fit(k.read, rows)
	k.sort(rows, func(from, to int) {
		k.find(v, first, from, to)
		for i := from; i < to; i++ {
			switch at := first + i; {
			case bit(v.Valid, at) && (v.Float64 == nil || v.Float64[at] == v.Float64[at]) && (v.Codes == nil || v.Codes[at] >= 0):
				k.of[i] = int32(k.mix(k.read[i]) >> (64 - shardBits))
			case k.nulls == OwnNulls:
				k.of[i] = int32(i&(shards-1)) | ownShard
			default:
				k.of[i] = noShard
			}
		}
	})
	for _, shard := range k.of[:rows] {
		if shard < 0 || shard >= ownShard {
			missing++
		}
	}
	return missing, nil
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
