package table

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/testdir"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// TestMutationsOfOtherWriters damages files by other writers, given checksums, everywhere but in the pages' bodies,
// where a checksum is known to stand: footers and page headers differ between writers in what they leave out.
func TestMutationsOfOtherWriters(t *testing.T) {
	names, err := filepath.Glob("testdata/writers/*.parquet")
	if err != nil || len(names) < 15 {
		t.Fatalf("found %d files", len(names))
	}
	var files [][]byte
	var open [][]int // positions outside page bodies
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		b = withChecksums(t, b)
		files = append(files, b)
		open = append(open, outsideBodies(b))
	}
	dir := testdir.New(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	survived, bad, mutations := 0, 0, *mutationCount/tier.Of(100, 10)
	for w := range 2 {
		wg.Go(func() {
			path := filepath.Join(dir, fmt.Sprint(w))
			for i := w; i < mutations; i += 2 {
				r := rand.New(rand.NewPCG(77, uint64(i)))
				k := r.IntN(len(files))
				data := append([]byte(nil), files[k]...)
				at := open[k][r.IntN(len(open[k]))]
				switch r.IntN(3) {
				case 0:
					data[at] = byte(r.Uint32())
				case 1:
					clear(data[at:min(len(data), at+1+r.IntN(6))])
				default:
					data[at] ^= 1 << r.IntN(8)
				}
				if err := os.WriteFile(path, data, 0o600); err != nil {
					t.Error(err)
					return
				}
				ok, err := scanRows(path)
				mu.Lock()
				if ok {
					survived++
				}
				if err != nil {
					if bad++; bad < 10 {
						t.Errorf("mutation %d of %s at %d of %d: %v", i, names[k], at, len(data), err)
					}
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("%d of %d read right in spite of the damage, %d wrong", survived, mutations, bad)
	if survived == 0 {
		t.Error("nothing survived: the files were not valid to begin with")
	}
}

// outsideBodies returns the positions of a file's footer and page headers.
func outsideBodies(data []byte) (at []int) {
	body, footer := footerOf(data)
	inside := make([]bool, len(data))
	for _, g := range footer.field(4).list {
		for _, c := range g.field(1).list {
			meta := c.field(3)
			start := meta.field(9).num
			if d := meta.field(11); d != nil && d.num > 0 && d.num < start {
				start = d.num
			}
			for off := start; off < start+meta.field(7).num; {
				r := treader{b: body, i: int(off)}
				h := r.value(12, false)
				end := int64(r.i) + h.field(3).num
				for i := int64(r.i); i < end; i++ {
					inside[i] = true
				}
				off = end
			}
		}
	}
	for i := range inside {
		if !inside[i] {
			at = append(at, i)
		}
	}
	return at
}

// scanRows scans a damaged file of testdata/writers: every usable column that still has a known name must hold what
// rowValue says, in all 1000 rows.
func scanRows(path string) (scanned bool, err error) {
	tab, err := Open(context.Background(), Spec{Path: path})
	if err != nil {
		return false, onlyOurs(err)
	}
	defer tab.Close()
	if tab.Rows() != 1000 {
		return false, fmt.Errorf("wrong number of rows: %d", tab.Rows())
	}
	var cols []string
	for _, c := range tab.Columns() {
		if _, known := rowValue(c.Name, 0); known && c.Usable {
			cols = append(cols, c.Name)
		}
	}
	if cols == nil {
		return false, nil
	}
	var wrong error
	rows := 0
	err = tab.Scan(context.Background(), ScanOptions{Columns: cols, Workers: 1}, func(b Batch) error {
		for k := range b.Columns {
			if wrong = sameAsRow(cols[k], &b.Columns[k], int(b.Block.First), b.Rows); wrong != nil {
				return wrong
			}
		}
		rows += b.Rows
		return nil
	})
	switch {
	case wrong != nil:
		return false, wrong
	case err == nil && rows != 1000:
		return false, fmt.Errorf("short read: %d rows", rows)
	}
	return err == nil, onlyOurs(err)
}
