package worker

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/noise"
)

// shard is all rows of some units: what a shuffle by unit brings to one machine. Its rows stand in the order of the table,
// whatever the order in which they came.
type shard struct {
	columns []string
	pieces  []piece
	rows    int64
}

// piece is the rows of a shard that one part of the table has, block by block.
type piece struct {
	Part   int // of the table
	Blocks []shardBlock
}

type shardBlock struct {
	Rows    int
	Columns []table.Values
}

var errShard = errors.New("the rows of a shard are not those of all parts, each once")

// newShard puts a shard together. Each part of the table must have sent one piece, and no part two others: what was lost
// or doubled on the way is no shard.
func newShard(columns []string, sent [][]byte, parts int) (*shard, error) {
	s := &shard{columns: columns, pieces: make([]piece, parts)}
	seen := make([]bool, parts)
	for _, b := range sent {
		var p piece
		if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&p); err != nil || p.Part < 0 || p.Part >= parts || seen[p.Part] {
			return nil, errShard
		}
		seen[p.Part], s.pieces[p.Part] = true, p
		for _, b := range p.Blocks {
			if len(b.Columns) != len(columns) {
				return nil, errShard
			}
			for i := range b.Columns {
				b.Columns[i].DictID = table.NewDictID()
			}
			s.rows += int64(b.Rows)
		}
	}
	if slices.Contains(seen, false) {
		return nil, errShard
	}
	return s, nil
}

// Rows is the number of rows of the shard.
func (s *shard) Rows() int64 { return s.rows }

// Scan visits the rows of the shard.
func (s *shard) Scan(ctx context.Context, o table.ScanOptions, visit func(table.Batch) error) error {
	at := make([]int, len(o.Columns))
	for i, name := range o.Columns {
		if at[i] = slices.Index(s.columns, name); at[i] < 0 {
			return errShard
		}
	}
	first := int64(0)
	for _, p := range s.pieces {
		for _, block := range p.Blocks {
			if err := ctx.Err(); err != nil {
				return err
			}
			b := table.Batch{Block: table.Block{First: first, Rows: block.Rows}, Picked: table.Pick{All: true}}
			first += int64(block.Rows)
			if o.Pick != nil {
				var err error
				if b.Picked, err = o.Pick(b.Block); err != nil {
					return err
				}
			}
			var rows []int
			for i := range block.Rows {
				if b.Picked.All {
					rows = append(rows, i)
				}
			}
			for _, r := range b.Picked.Rows {
				rows = append(rows, int(r))
			}
			if b.Rows = len(rows); b.Rows > 0 {
				for _, k := range at {
					b.Columns = append(b.Columns, rowsOf(&block.Columns[k], rows))
				}
				if err := visit(b); err != nil {
					return err
				}
			}
			if o.Progress != nil {
				o.Progress(first)
			}
		}
	}
	return nil
}

// rowsOf are the values of some rows, in memory of their own.
func rowsOf(v *table.Values, rows []int) table.Values {
	out := *v
	out.Float64, out.Int64, out.Codes, out.Valid, out.Unread = taken(v.Float64, rows), taken(v.Int64, rows), taken(v.Codes, rows),
		nil, table.Unread{}
	if v.Valid != nil {
		out.Valid = make([]byte, (len(rows)+7)/8)
		for i, r := range rows {
			out.Valid[i>>3] |= v.Valid[r>>3] >> (r & 7) & 1 << (i & 7)
		}
	}
	return out
}

func taken[T any](v []T, rows []int) []T {
	if v == nil {
		return nil
	}
	out := make([]T, len(rows))
	for i, r := range rows {
		out[i] = v[r]
	}
	return out
}

// scatter divides rows among shards by their units. The hash has a key: the number of a shard says nothing of a unit.
type scatter struct {
	block  cipher.Block
	shards int
	unit   int // its column
	part   int
	out    []piece
}

func newScatter(key noise.Key, part, shards, unit int) (*scatter, error) {
	key = key.Derive("shard")
	block, err := aes.NewCipher(key[:])
	return &scatter{block: block, shards: shards, unit: unit, part: part, out: make([]piece, shards)}, err
}

// shardOf is the shard of a key, which stands in one word, or is a text. Equal keys are in one shard.
func (s *scatter) shardOf(h xxh3.Uint128) int {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], h.Lo)
	binary.LittleEndian.PutUint64(b[8:], h.Hi)
	s.block.Encrypt(b[:], b[:])
	return int(binary.LittleEndian.Uint64(b[:8]) % uint64(s.shards))
}

// shardsOf are the shards of the rows of a block.
func (s *scatter) shardsOf(v *table.Values, b table.Batch) []int {
	out := make([]int, b.Rows)
	texts := make([]int, len(v.Dict))
	for i, text := range v.Dict {
		texts[i] = s.shardOf(xxh3.HashString128(text))
	}
	for i := range out {
		var word uint64
		switch {
		case v.Null(i) || v.Codes != nil && v.Codes[i] < 0 || v.Float64 != nil && v.Float64[i] != v.Float64[i]:
			// A row without a unit belongs to no other row: any shard will do.
			out[i] = s.shardOf(xxh3.Uint128{Lo: uint64(b.Block.First) + uint64(i), Hi: uint64(s.part)})
			continue
		case v.Codes != nil:
			out[i] = texts[v.Codes[i]]
			continue
		case v.Int64 != nil:
			word = uint64(v.Int64[i])
		default:
			word = math.Float64bits(v.Float64[i] + 0) // one zero, as everywhere
		}
		out[i] = s.shardOf(xxh3.Uint128{Lo: word})
	}
	return out
}

// add divides the rows of a block.
func (s *scatter) add(b table.Batch) {
	rows := make([][]int, s.shards)
	for i, to := range s.shardsOf(&b.Columns[s.unit], b) {
		rows[to] = append(rows[to], i)
	}
	for to, mine := range rows {
		if len(mine) == 0 {
			continue
		}
		block := shardBlock{Rows: len(mine)}
		for c := range b.Columns {
			v := rowsOf(&b.Columns[c], mine)
			v.Dict = usedTexts(&v)
			block.Columns = append(block.Columns, v)
		}
		s.out[to].Blocks = append(s.out[to].Blocks, block)
	}
}

// usedTexts are the texts that occur in a column. Its codes become those of this dictionary.
func usedTexts(v *table.Values) (dict []string) {
	to := map[int32]int32{}
	for i, code := range v.Codes {
		if v.Null(i) || code < 0 {
			v.Codes[i] = min(code, 0)
			continue
		}
		at, ok := to[code]
		if !ok {
			at = int32(len(dict))
			to[code], dict = at, append(dict, v.Dict[code])
		}
		v.Codes[i] = at
	}
	return dict
}

// pieces encodes the rows of each shard.
func (s *scatter) pieces() ([][]byte, error) {
	out := make([][]byte, s.shards)
	for i, p := range s.out {
		p.Part = s.part
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(p); err != nil {
			return nil, err
		}
		out[i] = b.Bytes()
	}
	return out, nil
}
