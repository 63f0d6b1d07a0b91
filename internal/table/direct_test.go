package table

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/compress"
)

// rooms is memory that is asked for page by page, at most some pages at once.
type rooms struct {
	most, given, visited int // stretches
	asked                int
	none                 bool
}

func (r *rooms) room(rows int) (parts [][]float64, later bool) {
	r.asked++
	if r.given-r.visited >= r.most {
		return nil, true
	}
	if r.none {
		return nil, false
	}
	for rows > 0 {
		n := min(rows, 4096)
		parts, rows = append(parts, make([]float64, n)), rows-n
	}
	r.given += len(parts)
	return parts, false
}

// plusOne adds one to every value, and refuses NaN.
func plusOne(dst []float64, src []byte) (changed int64, ok bool) {
	for i := range dst {
		x := math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:]))
		if x != x {
			return changed, false
		}
		dst[i] = x + 1
		changed++
	}
	return changed, true
}

// Values are put where they are wanted, once each and in order, where their pages are plain; from the first page on that is
// not they arrive as they are. Both say the same, whatever the pages are like.
func TestDirect(t *testing.T) {
	const n = 300_000
	for i, s := range []style{
		{codec: compress.Codecs.Snappy, pageSize: 400_000, groups: []int{200_000, 1, 99_999}},
		{codec: compress.Codecs.Snappy, pageSize: 90_000, groups: []int{n}, v2: true},
		{codec: compress.Codecs.Uncompressed, pageSize: 400_000, groups: []int{n}},
		{codec: compress.Codecs.Zstd, pageSize: 400_000, groups: []int{n}},
	} {
		cols, want := noisy(n, rand.New(rand.NewPCG(4, uint64(i))))
		cols[1].values.([]float64)[n-3] = math.NaN()
		tab := must(Open(t.Context(), Spec{Path: temp(t, "x.parquet", writeParquet(t, s, cols))}))
		defer tab.Close()
		for c, name := range []string{"f", "fn", "fs", "i", "in", "r"} {
			for _, none := range []bool{false, true} {
				r := &rooms{most: 40, none: none}
				content := must(tab.Content(t.Context(), []string{name}))
				rows, moved, changed, passed := 0, 0, int64(0), int64(0)
				o := ScanOptions{Columns: []string{name}, Content: content, Direct: &Direct{Room: r.room, Move: plusOne},
					Progress: func(p int64) { passed = p }}
				err := tab.Scan(t.Context(), o, func(b Batch) error {
					if int(b.Block.First) != rows || b.Rows != b.Block.Rows || b.Rows > blockRows {
						t.Fatalf("%d rows from %d after %d", b.Rows, b.Block.First, rows)
					}
					r.visited++
					rows += b.Rows
					v := b.Columns[0]
					changed += v.Changed
					if !v.Adjusted {
						if name != "fn" {
							return want[c].check(&v, int(b.Block.First), nil, b.Rows)
						}
						for i, x := range v.Float64 { // NaN equals nothing
							if math.Float64bits(x) != math.Float64bits(want[c].f64[int(b.Block.First)+i]) {
								t.Fatalf("%v %s: another value in row %d", s, name, int(b.Block.First)+i)
							}
						}
						return nil
					}
					moved += b.Rows
					for i, x := range v.Float64 {
						if x != want[c].f64[int(b.Block.First)+i]+1 {
							t.Fatalf("%v %s: another value in row %d", s, name, int(b.Block.First)+i)
						}
					}
					return nil
				})
				if err != nil || rows != n || passed != n || changed != int64(moved) {
					t.Fatalf("%v %s: %d rows, %d passed, %d moved, %d changed, %v", s, name, rows, passed, moved, changed, err)
				}
				plain := name == "f" || name == "fn" || name == "r" && s.codec == compress.Codecs.Uncompressed
				switch {
				case none || !plain || s.codec == compress.Codecs.Zstd:
					if moved > 0 {
						t.Errorf("%v %s: %d rows were moved", s, name, moved)
					}
				case name == "fn":
					if moved == 0 || moved == n {
						t.Errorf("%v %s: %d rows were moved, one of them NaN", s, name, moved)
					}
				case moved != n:
					t.Errorf("%v %s: %d rows of %d were moved", s, name, moved, n)
				}
			}
		}
	}
}

// A page whose checksum is wrong ends the scan before a value of it is delivered, wherever it was put.
func TestDirectHoldsToChecksums(t *testing.T) {
	const n = 100_000
	cols, _ := noisy(n, rand.New(rand.NewPCG(5, 5)))
	data := withChecksums(t, writeParquet(t, style{codec: compress.Codecs.Uncompressed, pageSize: 160_000, groups: []int{n}}, cols[:1]))
	path := temp(t, "x.parquet", data)
	tab := must(Open(t.Context(), Spec{Path: path}))
	defer tab.Close()
	if err := tab.Verify(t.Context(), tab.Usable()); err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	before := must(os.Stat(path)).ModTime()
	if err := errors.Join(os.WriteFile(path, data, 0o600), os.Chtimes(path, before, before)); err != nil {
		t.Fatal(err)
	}
	r, rows := &rooms{most: 40}, 0
	err := tab.Scan(t.Context(), ScanOptions{Columns: []string{"f"}, Direct: &Direct{Room: r.room, Move: plusOne}}, func(b Batch) error {
		r.visited++
		rows += b.Rows
		return nil
	})
	var e *Error
	if !errors.As(err, &e) || e.Code != CodeCorrupt || rows == 0 || rows > n/2 {
		t.Errorf("%d rows, %v", rows, err)
	}
	if err := os.Truncate(path, int64(len(data)/3)); err != nil {
		t.Fatal(err)
	}
	r = &rooms{most: 40}
	if err := tab.Scan(t.Context(), ScanOptions{Columns: []string{"f"}, Direct: &Direct{Room: r.room, Move: plusOne}}, func(Batch) error {
		r.visited++
		return nil
	}); err == nil {
		t.Error("a file that was cut short during the scan was read to its end")
	}
}
