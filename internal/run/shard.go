package run

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

	"github.com/dprelease/dprelease/internal/noise"
	"github.com/dprelease/dprelease/internal/table"
)

// shard is all rows of some units: what a shuffle by unit brings to one machine. Its rows stand in the order of the table,
// whatever the order in which they came.
type shard struct {
	columns []string
	pieces  []piece
	rows    int64
}

// piece is the rows of a shard that one part of the table has.
type piece struct {
	Part    int // of the table
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
		if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&p); err != nil || p.Part < 0 || p.Part >= parts || seen[p.Part] || len(p.Columns) != len(columns) {
			return nil, errShard
		}
		for i := range p.Columns {
			p.Columns[i].DictID = table.NewDictID()
		}
		seen[p.Part], s.pieces[p.Part] = true, p
		s.rows += int64(p.Rows)
	}
	if slices.Contains(seen, false) {
		return nil, errShard
	}
	return s, nil
}

// Rows is the number of rows of the shard.
func (s *shard) Rows() int64 { return s.rows }

// shardRows is how many rows are visited at once.
const shardRows = 1 << 16

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
		for from := 0; from < p.Rows; from += shardRows {
			if err := ctx.Err(); err != nil {
				return err
			}
			b := table.Batch{Block: table.Block{First: first, Rows: min(shardRows, p.Rows-from)}, Picked: table.Pick{All: true}}
			first += int64(b.Block.Rows)
			if o.Pick != nil {
				var err error
				if b.Picked, err = o.Pick(b.Block); err != nil {
					return err
				}
			}
			var rows []int
			for i := range b.Block.Rows {
				if b.Picked.All {
					rows = append(rows, from+i)
				}
			}
			for _, r := range b.Picked.Rows {
				rows = append(rows, from+int(r))
			}
			if b.Rows = len(rows); b.Rows > 0 {
				for _, k := range at {
					b.Columns = append(b.Columns, rowsOf(&p.Columns[k], rows))
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
	out.Float64, out.Int64, out.Codes, out.Valid, out.Unread = taken(v.Float64, rows), taken(v.Int64, rows), taken(v.Codes, rows), nil, 0
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
	dicts  []map[string]int32 // of each column: the code of a text
}

func newScatter(key noise.Key, part, shards, unit, columns int) (*scatter, error) {
	key = key.Derive("shard")
	block, err := aes.NewCipher(key[:])
	s := &scatter{block: block, shards: shards, unit: unit, part: part, out: make([]piece, shards), dicts: make([]map[string]int32, columns)}
	for i := range s.out {
		s.out[i] = piece{Part: part, Columns: make([]table.Values, columns)}
	}
	return s, err
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
	for c := range b.Columns {
		v := b.Columns[c]
		if v.Codes != nil {
			v.Codes, v.Dict = s.recode(c, &v), nil
		}
		for to, mine := range rows {
			if len(mine) > 0 {
				join(&s.out[to].Columns[c], rowsOf(&v, mine), s.out[to].Rows, len(mine))
			}
		}
	}
	for to, mine := range rows {
		s.out[to].Rows += len(mine)
	}
}

// recode gives a column one dictionary for all blocks.
func (s *scatter) recode(c int, v *table.Values) []int32 {
	if s.dicts[c] == nil {
		s.dicts[c] = map[string]int32{}
	}
	to := make([]int32, len(v.Dict))
	for i, text := range v.Dict {
		code, ok := s.dicts[c][text]
		if !ok {
			code = int32(len(s.dicts[c]))
			s.dicts[c][text] = code
		}
		to[i] = code
	}
	out := make([]int32, len(v.Codes))
	for i, code := range v.Codes {
		if code >= 0 && !v.Null(i) {
			out[i] = to[code]
		}
	}
	return out
}

// join puts more values behind those of a column that has some rows.
func join(to *table.Values, more table.Values, rows, n int) {
	valid := to.Valid
	switch {
	case rows == 0:
		*to = more
		return
	case valid == nil && more.Valid != nil:
		valid = bytes.Repeat([]byte{0xff}, (rows+7)/8)
	}
	to.Float64, to.Int64, to.Codes = append(to.Float64, more.Float64...), append(to.Int64, more.Int64...), append(to.Codes, more.Codes...)
	if valid != nil {
		valid = append(valid, make([]byte, (rows+n+7)/8-len(valid))...)
		for i := range n {
			at := rows + i
			valid[at>>3] = valid[at>>3]&^(1<<(at&7)) | b2i(more.Valid == nil || more.Valid[i>>3]>>(i&7)&1 == 1)<<(at&7)
		}
	}
	to.Valid = valid
}

func b2i(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// pieces are what each shard gets.
func (s *scatter) pieces() ([][]byte, error) {
	out := make([][]byte, s.shards)
	for i := range s.out {
		for c := range s.out[i].Columns {
			s.out[i].Columns[c].Dict = s.dictionary(c, &s.out[i].Columns[c])
		}
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(s.out[i]); err != nil {
			return nil, err
		}
		out[i] = b.Bytes()
	}
	return out, nil
}

// dictionary gives the codes of a column a dictionary of the texts that occur.
func (s *scatter) dictionary(c int, v *table.Values) (dict []string) {
	if v.Codes == nil {
		return nil
	}
	texts := make([]string, len(s.dicts[c]))
	for text, code := range s.dicts[c] {
		texts[code] = text
	}
	to := map[int32]int32{}
	for i, code := range v.Codes {
		if v.Null(i) {
			v.Codes[i] = 0
			continue
		}
		at, ok := to[code]
		if !ok {
			at = int32(len(dict))
			to[code], dict = at, append(dict, texts[code])
		}
		v.Codes[i] = at
	}
	return dict
}
