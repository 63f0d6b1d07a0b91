package table

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/parquet"
	"github.com/dprelease/dprelease/internal/testkit/testdir"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// A footer has no checksum. Whichever of its bits is turned, a column keeps its kind and its values, or cannot be used.
// Where a file states the annotation of a column once, not twice, a bit may make another kind of it, and a job that
// declares the column sees that; its values under the same kind are never wrong, with one exception: nothing contradicts
// a lone converted type that says signed where it said unsigned, and the same bits are then read with their sign.
func TestFooterBits(t *testing.T) {
	cols, want := generated(65, 0, rand.New(rand.NewPCG(7, 7)))
	path := filepath.Join(testdir.New(t), "x.parquet")
	for without, name := range map[int]string{0: "twice", convertedType: "without the converted type", logicalType: "without the logical type"} {
		t.Run(name, func(t *testing.T) {
			var signed []string // the columns of which a bit makes signed ones
			for k := range cols {
				data := withChecksums(t, writeParquet(t, style{codec: parquet.Codecs.Uncompressed, pageSize: 300, groups: []int{65}}, cols[k:k+1]))
				if body, footer := footerOf(data); without > 0 {
					column := &footer.field(2).list[1]
					if column.field(without) == nil {
						continue
					}
					column.remove(without)
					data = withFooter(body, &footer)
				}
				if err := os.WriteFile(path, data, 0o600); err != nil {
					t.Fatal(err)
				}
				kind := kindsIn(path)
				from := len(data) - 8 - int(binary.LittleEndian.Uint32(data[len(data)-8:]))
				for bit := from * 8; bit < (len(data)-8)*8; bit += tier.Of(7, 1) {
					damaged := append([]byte(nil), data...)
					damaged[bit/8] ^= 1 << (bit % 8)
					if err := os.WriteFile(path, damaged, 0o600); err != nil {
						t.Fatal(err)
					}
					now, there := kindsIn(path)[want[k].name]
					if there && now != kind[want[k].name] {
						if without == 0 {
							t.Errorf("%s: bit %d of byte %d of the footer makes %v of %v", want[k].name, bit%8, bit/8-from, now, kind[want[k].name])
						}
						continue
					}
					_, err := scanExact(path, want[k:k+1], 65)
					if err != nil && without == logicalType && saysSigned(damaged) && !saysSigned(data) {
						signed = append(signed, want[k].name)
						_, err = scanExact(path, []wantColumn{withSign(want[k])}, 65)
					}
					if err != nil {
						t.Errorf("%s: bit %d of byte %d of the footer: %v", want[k].name, bit%8, bit/8-from, err)
					}
				}
			}
			if most := map[int]int{logicalType: 1}[without]; len(signed) > most || !testing.Short() && len(signed) < most {
				t.Errorf("a bit makes signed columns of %v, want %d", signed, most)
			}
		})
	}
}

// The fields of a schema element that hold its annotation.
const (
	convertedType = 6
	logicalType   = 10
)

// saysSigned reports whether the converted type of a file's only column is one of signed whole numbers.
func saysSigned(data []byte) bool {
	_, footer := footerOf(data)
	n := footer.field(2).list[1].field(convertedType)
	const ofInt8, ofInt64 = 15, 18
	return n != nil && ofInt8 <= int(n.num) && int(n.num) <= ofInt64
}

// withSign returns what a column of unsigned numbers of 32 bits holds where the highest bit is taken for a sign.
func withSign(w wantColumn) wantColumn {
	out := wantColumn{name: w.name, i64: make([]int64, len(w.i64))}
	for i, v := range w.i64 {
		out.i64[i] = int64(int32(v))
	}
	return out
}

// kindsIn returns the kinds of the usable columns of a file.
func kindsIn(path string) map[string]Column {
	tab, err := Open(context.Background(), Spec{Path: path})
	if err != nil {
		return nil
	}
	defer tab.Close()
	all := map[string]Column{}
	for _, c := range tab.Columns() {
		if c.Usable {
			c.Nullable = false // with the same values, that a column may hold nulls is no difference
			all[c.Name] = c
		}
	}
	return all
}
