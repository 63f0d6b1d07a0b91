package table

import (
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/compress"
)

// Few rows of many blocks come together, in order and once, whatever the blocks between them and the pages are like: pages
// that reach over several blocks, blocks without a row, blocks of which every row is wanted.
func TestFewRowsTogether(t *testing.T) {
	const n = 700_000
	cols, want := noisy(n, rand.New(rand.NewPCG(3, 9)))
	for _, s := range []style{
		{codec: compress.Codecs.Snappy, pageSize: 3_000_000, groups: []int{500_000, 1, 199_999}},
		{codec: compress.Codecs.Zstd, pageSize: 200_000, groups: []int{n}},
	} {
		tab := must(Open(t.Context(), Spec{Path: temp(t, "x.parquet", writeParquet(t, s, cols))}))
		defer tab.Close()
		for seed := range uint64(8) {
			r := rand.New(rand.NewPCG(seed, 5))
			few, picked, blocks, batches := seed%2 == 0, 0, 0, 0
			pick := func(b Block) (Pick, error) {
				var p Pick
				switch r.IntN(4) {
				case 0:
					return p, nil
				case 1:
					if !few {
						picked += b.Rows
						return Pick{All: true}, nil
					}
				}
				for row := r.IntN(4000); row < b.Rows; row += 1 + r.IntN(4000) {
					p.Rows = append(p.Rows, uint32(row))
				}
				if len(p.Rows) > 0 {
					blocks++
				}
				picked += len(p.Rows)
				return p, nil
			}
			rows, next, passed := 0, int64(0), int64(0)
			o := ScanOptions{Columns: tab.Usable(), Pick: pick, Workers: 1 + int(seed%3), Progress: func(p int64) {
				if p <= passed {
					t.Errorf("passed %d rows after %d", p, passed)
				}
				passed = p
			}}
			err := tab.Scan(t.Context(), o, func(b Batch) error {
				if b.Block.First < next || b.Rows == 0 {
					t.Fatalf("%d rows from row %d, after row %d", b.Rows, b.Block.First, next)
				}
				next = b.Block.First + int64(b.Block.Rows)
				rows += b.Rows
				batches++
				for i := range want {
					if err := want[i].check(&b.Columns[i], int(b.Block.First), b.Picked.Rows, b.Rows); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil || rows != picked || passed != n {
				t.Fatalf("%v seed %d: %d rows of %d, %d passed, %v", s, seed, rows, picked, passed, err)
			}
			if few && blocks > 4 && batches > blocks/2+1 {
				t.Errorf("%v seed %d: %d batches of %d blocks with few rows", s, seed, batches, blocks)
			}
		}
	}
}
