package table

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/testdir"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// mutationFiles are small files with a checksum on every page: each codec, both page versions, with and without
// dictionaries and nulls.
func mutationFiles(t testing.TB) (files [][]byte, wants [][]wantColumn) {
	for i, codec := range allCodecs {
		for k := range 4 {
			s := style{codec: codec, v2: k&1 == 1, dict: k&2 == 2, pageSize: 300, groups: []int{40, 25}}
			if (i+k)%2 == 0 {
				s.nulls = 0.2
			}
			cols, want := generated(65, s.nulls, rand.New(rand.NewPCG(7, uint64(4*i+k))))
			// A few columns each, so that most bytes of the file matter; all types over all files.
			keep := func(j int) bool { return (j+i+k)%6 == 0 }
			var some []genColumn
			var somewant []wantColumn
			for j := range cols {
				if keep(j) {
					some = append(some, cols[j])
					somewant = append(somewant, want[j])
				}
			}
			files = append(files, withChecksums(t, writeParquet(t, s, some)))
			wants = append(wants, somewant)
		}
	}
	return files, wants
}

// mutate changes a few places of a file in one of the ways files get damaged.
func mutate(data []byte, r *rand.Rand) []byte {
	out := append([]byte(nil), data...)
	// Half of the damage goes to the last quarter: the footer has no checksum, so that is where it is hardest to see.
	at := func() int {
		if r.IntN(2) == 0 {
			return len(out) - 1 - r.IntN(max(1, len(out)/4))
		}
		return r.IntN(len(out))
	}
	switch r.IntN(8) {
	case 0, 1, 2:
		out[at()] ^= 1 << r.IntN(8)
	case 3, 4:
		out[at()] = byte(r.Uint32())
	case 5:
		for range 1 + r.IntN(4) {
			out[at()] = byte(r.Uint32())
		}
	case 6: // a hole
		i := at()
		n := min(len(out)-i, 1+r.IntN(8))
		clear(out[i : i+n])
	case 7: // bytes lost or doubled
		i := at()
		n := min(len(out)-i, 1+r.IntN(4))
		if r.IntN(2) == 0 {
			out = append(out[:i], out[i+n:]...)
		} else {
			out = append(out[:i+n], append(append([]byte(nil), out[i:i+n]...), out[i+n:]...)...)
		}
	}
	return out
}

// scanExact scans a file and compares every value of every column that is still there. A column may be gone or called
// otherwise (its name is in the footer, which has no checksum, and callers ask for columns by name); a value that
// arrives under a known name must be right, and all rows must arrive.
func scanExact(path string, want []wantColumn, n int) (scanned bool, err error) {
	ctx := context.Background()
	tab, err := Open(ctx, Spec{Path: path})
	if err != nil {
		return false, onlyOurs(err)
	}
	defer tab.Close()
	var names []string
	var have []wantColumn
	for _, c := range tab.Columns() {
		for _, w := range want {
			if c.Name == w.name && c.Usable {
				names = append(names, c.Name)
				have = append(have, w)
			}
		}
	}
	if tab.Rows() != int64(n) {
		return false, fmt.Errorf("wrong number of rows: %d", tab.Rows())
	}
	rows := 0
	var wrong error
	// Two rows, which may be read where they lie.
	sparse := ScanOptions{Columns: names, Workers: 1, Pick: func(b Block) (Pick, error) {
		return Pick{Rows: []uint32{uint32(b.Rows / 3), uint32(b.Rows - 1)}}, nil
	}}
	if n > 64 {
		err = tab.Scan(ctx, sparse, func(b Batch) error {
			for i := range have {
				if wrong == nil {
					wrong = have[i].same(&b.Columns[i], int(b.Block.First), b.Picked.Rows, b.Rows)
				}
			}
			return wrong
		})
		if wrong != nil || onlyOurs(err) != nil {
			return false, errors.Join(wrong, onlyOurs(err))
		}
	}
	err = tab.Scan(ctx, ScanOptions{Columns: names, Workers: 1}, func(b Batch) error {
		rows += b.Rows
		for i := range have {
			if err := have[i].same(&b.Columns[i], int(b.Block.First), nil, b.Rows); err != nil {
				wrong = err
				return err
			}
		}
		return nil
	})
	if wrong != nil {
		return false, wrong
	}
	if err == nil && rows != n {
		return false, fmt.Errorf("short read: %d rows", rows)
	}
	return err == nil, onlyOurs(err)
}

// same is check, after making sure that the values came in the same shape: a damaged annotation that turns numbers
// into text is as wrong as a wrong number, unless it is noticed as another Kind.
func (w *wantColumn) same(v *Values, at int, rows []uint32, n int) error {
	if (w.f64 != nil) != (v.Float64 != nil) || (w.i64 != nil) != (v.Int64 != nil) {
		return fmt.Errorf("%s: arrived in another shape", w.name)
	}
	return w.check(v, at, rows, n)
}

func onlyOurs(err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) && e.File != "" {
		return nil
	}
	return fmt.Errorf("not an Error about a file: %w", err)
}

var mutationCount = flag.Int("mutations", 20_000, "damaged files to try")

// TestMutations: of 20,000 damaged files (-mutations) each is refused or gives the right values. It is sound because a page's bytes
// are under its checksum; what is not (footer and page headers) must be cross-checked until a change either has no
// effect on values or is noticed.
func TestMutations(t *testing.T) {
	files, wants := mutationFiles(t)
	dir := testdir.New(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	survived, bad, mutations := 0, 0, *mutationCount/tier.Of(50, 1)
	workers := max(2, runtime.GOMAXPROCS(0))
	for w := range workers {
		wg.Go(func() {
			path := filepath.Join(dir, fmt.Sprint(w))
			for i := w; i < mutations; i += workers {
				r := rand.New(rand.NewPCG(99, uint64(i)))
				k := r.IntN(len(files))
				if err := os.WriteFile(path, mutate(files[k], r), 0o600); err != nil {
					t.Error(err)
					return
				}
				ok, err := scanExact(path, wants[k], 65)
				mu.Lock()
				if ok {
					survived++
				}
				if err != nil {
					if bad++; bad < 10 {
						t.Errorf("mutation %d of file %d: %v", i, k, err)
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

// TestTruncations: a file cut anywhere is refused.
func TestTruncations(t *testing.T) {
	files, wants := mutationFiles(t)
	checkTruncations(t, "parquet", files[0], wants[0], 65)
	for _, codec := range []string{"none", "zstd"} {
		for _, stream := range []bool{false, true} {
			data, want := writeArrow(t, arrowStyle{stream: stream, codec: codec, nulls: 0.2, batches: []int{40, 3}, every: 5})
			checkTruncations(t, fmt.Sprintf("arrow %s, stream %v", codec, stream), data, want, 43)
		}
	}
}

func checkTruncations(t *testing.T, name string, data []byte, want []wantColumn, n int) {
	t.Helper()
	path := temp(t, "cut", data)
	if ok, err := scanExact(path, want, n); !ok || err != nil {
		t.Fatalf("%s: whole: %v", name, err)
	}
	for size := len(data) - 1; size >= 0; size-- {
		if err := os.Truncate(path, int64(size)); err != nil {
			t.Fatal(err)
		}
		if ok, err := scanExact(path, want, n); ok || err != nil {
			t.Fatalf("%s: cut to %d of %d bytes: read %v, %v", name, size, len(data), ok, err)
		}
	}
}
