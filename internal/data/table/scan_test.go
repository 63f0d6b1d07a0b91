package table

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/parquet"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

var allCodecs = []parquet.Codec{
	parquet.Codecs.Uncompressed, parquet.Codecs.Snappy, parquet.Codecs.Gzip, parquet.Codecs.Brotli,
	parquet.Codecs.Zstd, parquet.Codecs.Lz4Raw,
}

// styles covers every codec, both page versions, dictionaries, nulls, and row groups from one page to many.
func styles() []style {
	var out []style
	for i, codec := range allCodecs {
		for _, v2 := range []bool{false, true} {
			for _, dict := range []bool{false, true} {
				for _, nulls := range []float64{0, 0.2} {
					out = append(out, style{codec: codec, v2: v2, dict: dict, nulls: nulls, pageSize: 2000, groups: []int{700, 1, 900}, crc: i%2 == 0})
				}
			}
		}
	}
	return append(out, style{groups: nil}, style{groups: []int{1}}, style{groups: []int{50}, nulls: 1, dict: true})
}

func total(groups []int) (n int) {
	for _, g := range groups {
		n += g
	}
	return n
}

func TestScanReturnsWhatWasWritten(t *testing.T) {
	for _, s := range tier.Some(styles(), 3) {
		t.Run(s.String(), func(t *testing.T) {
			n := total(s.groups)
			cols, want := generated(n, s.nulls, rand.New(rand.NewPCG(1, uint64(n))))
			path := temp(t, "x.parquet", writeParquet(t, s, cols))
			checkScan(t, path, want, n)
		})
	}
}

// checkScan scans everything, every third row, and single blocks.
func checkScan(t *testing.T, path string, want []wantColumn, n int) {
	t.Helper()
	ctx := context.Background()
	tab, err := Open(ctx, Spec{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer tab.Close()
	if tab.Rows() != int64(n) {
		t.Fatalf("%d rows instead of %d", tab.Rows(), n)
	}
	names := make([]string, len(want))
	for i := range want {
		names[i] = want[i].name
	}
	third := func(b Block) (Pick, error) {
		var p Pick
		for i := range b.Rows {
			if (int(b.First)+i)%3 == 0 {
				p.Rows = append(p.Rows, uint32(i))
			}
		}
		return p, nil
	}
	for _, pick := range []func(Block) (Pick, error){nil, third} {
		rows := 0
		err := tab.Scan(ctx, ScanOptions{Columns: names, Pick: pick}, func(b Batch) error {
			rows += b.Rows
			for i := range want {
				if err := want[i].check(&b.Columns[i], int(b.Block.First), b.Picked.Rows, b.Rows); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		expect := n
		if pick != nil {
			expect = (n + 2) / 3
		}
		if rows != expect {
			t.Fatalf("%d rows instead of %d", rows, expect)
		}
	}
}

func TestScanLargeGroups(t *testing.T) {
	n := tier.Of(60_000, 300_000)
	for _, s := range []style{
		{codec: parquet.Codecs.Snappy, groups: []int{n / 3 * 2, n / 3}},
		{codec: parquet.Codecs.Zstd, v2: true, groups: []int{n}, nulls: 0.01, pageSize: int64(n / 3), dict: true},
	} {
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			cols, want := generated(n, s.nulls, rand.New(rand.NewPCG(2, 3)))
			checkScan(t, temp(t, "x.parquet", writeParquet(t, s, cols)), want, n)
		})
	}
}

// TestRandomPicks mixes whole blocks, empty ones and sparse ones over columns whose pages end at different rows.
func TestRandomPicks(t *testing.T) {
	n := 400_000
	cols, want := generated(n, 0.05, rand.New(rand.NewPCG(11, 12)))
	keep := []int{0, 2, 13, 18} // doubles, floats, booleans, few strings: from 250 to 64,000 rows a page
	var someCols []genColumn
	var some []wantColumn
	names := []string{}
	for _, k := range keep {
		someCols, some, names = append(someCols, cols[k]), append(some, want[k]), append(names, want[k].name)
	}
	path := temp(t, "x.parquet", writeParquet(t, style{codec: parquet.Codecs.Snappy, dict: true, pageSize: 8000, groups: []int{70_000, 1, 329_999}}, someCols))
	tab := must(Open(t.Context(), Spec{Path: path}))
	defer tab.Close()
	for seed := range tier.Of[uint64](5, 20) {
		r := rand.New(rand.NewPCG(seed, 1))
		picked := 0
		pick := func(b Block) (Pick, error) {
			var p Pick
			switch r.IntN(4) {
			case 0:
				picked += b.Rows
				return Pick{All: true}, nil
			case 1:
				return p, nil
			case 2:
				p.Rows = append(p.Rows, uint32(r.IntN(b.Rows)))
			default:
				for row := r.IntN(3000); row < b.Rows; row += 1 + r.IntN(3000) {
					p.Rows = append(p.Rows, uint32(row))
				}
			}
			picked += len(p.Rows)
			return p, nil
		}
		rows := 0
		err := tab.Scan(t.Context(), ScanOptions{Columns: names, Pick: pick, Workers: 1 + int(seed%4)}, func(b Batch) error {
			rows += b.Rows
			for i := range some {
				if err := some[i].check(&b.Columns[i], int(b.Block.First), b.Picked.Rows, b.Rows); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || rows != picked {
			t.Fatalf("seed %d: %d rows of %d, %v", seed, rows, picked, err)
		}
	}
}
