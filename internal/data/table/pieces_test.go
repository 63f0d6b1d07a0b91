package table

import (
	"bytes"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/zeebo/xxh3"

	"github.com/dprelease/dprelease/internal/data/table/pagewalk"
)

// TestUnpackPieces: a page that is unpacked as it is read is the page that is read and then unpacked, with the same digest.
// What is damaged, too long or too short is never taken. Each page has copies among its literals.
func TestUnpackPieces(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	taken := 0
	for i := range 400 {
		size := []int{0, 1, 60, 3000, segmentBytes, 2*segmentBytes + 77}[i%6]
		want := make([]byte, size)
		for k := range want {
			want[k] = byte(r.Uint32())
		}
		if size > 2000 {
			copy(want[1000:1100], want[:100]) // a copy, and with i%5 one that overlaps itself
			for k := 200; k < 300 && i%5 == 0; k++ {
				want[k] = want[199]
			}
		}
		front := []int{0, min(size, 40)}[i%2]
		stored := slices.Concat(want[:front], snappy.Encode(nil, want[front:]))
		damage := i % 4
		switch {
		case damage == 1 && len(stored) > front:
			stored[front+r.IntN(len(stored)-front)] ^= 1 << r.IntN(8)
		case damage == 2:
			stored = append(stored, 0)
		case damage == 3:
			stored = stored[:front+r.IntN(len(stored)-front)]
		}
		var sums []xxh3.Uint128
		c := &chunk{r: bytes.NewReader(append([]byte("head"), stored...)), facts: &pagewalk.Chunk{Codec: pagewalk.Snappy},
			note: func(_ int, sum xxh3.Uint128) error { sums = append(sums, sum); return nil }}
		p := &pagewalk.Page{Off: 4, Stored: int32(len(stored)), Unpacked: int32(size), V2: true, DefLen: int32(front), Packed: true,
			HasCRC: i%3 == 0, CRC: crc32.ChecksumIEEE(stored)}
		w := &worker{arena: &arena{limit: 1 << 30}}
		got := make([]byte, size)
		ok := w.unpackPieces(c, p, 0, got)
		whole, out := make([]byte, len(stored)), make([]byte, size)
		if err := w.read(c, p, 0, whole); err != nil || !bytes.Equal(whole, stored) {
			t.Fatal(err)
		}
		copy(out, whole[:front])
		err := w.unpack.unpack(pagewalk.Snappy, out[front:], whole[front:])
		if ok && size > front && (err != nil || !bytes.Equal(got, out) || len(sums) != 2 || sums[0] != sums[1]) || damage == 0 && !ok || damage > 1 && ok {
			t.Fatalf("page %d of %d bytes, damage %d: taken %v, as a whole %v, digests %x", i, size, damage, ok, err, sums)
		}
		if ok {
			taken++
		}
	}
	if taken < 100 {
		t.Errorf("%d pages were taken", taken)
	}
}
