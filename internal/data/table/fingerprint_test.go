package table

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/tier"
	"github.com/dprelease/dprelease/plugins/columns"
)

func fingerprint(t *testing.T, path string, key byte, columns ...string) Fingerprint {
	t.Helper()
	tab, err := Open(context.Background(), Spec{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer tab.Close()
	f, err := tab.Fingerprint(context.Background(), columns, Key{key})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func released(t *testing.T, write func(w *os.File, r Release) error, name string, x, y []float64, s []string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	r := Release{Columns: []columns.Column{{Name: "x", Float64: x}, {Name: "y", Float64: y}, {Name: "s", Texts: s}}}
	if err := write(f, r); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// A fingerprint is that of the columns it is asked about: it does not change with
// the place of the file, the order of the names, or other columns, and it changes
// with every value, every column, and the key.
func TestFingerprint(t *testing.T) {
	for name, write := range map[string]func(*os.File, Release) error{
		"t.parquet": func(f *os.File, r Release) error { return WriteParquet(f, r) },
		"t.arrow":   func(f *os.File, r Release) error { return WriteArrow(f, r) },
	} {
		x, y, s := make([]float64, 3000), make([]float64, 3000), make([]string, 3000)
		for i := range x {
			x[i], y[i], s[i] = float64(i), float64(-i), string(rune('a'+i%20))
		}
		first := released(t, write, name, x, y, s)
		want := fingerprint(t, first, 1, "x", "s")
		if got := fingerprint(t, released(t, write, name, x, y, s), 1, "s", "x"); got != want {
			t.Errorf("%s: another file with the same content, named in another order, differs", name)
		}
		if fingerprint(t, first, 2, "x", "s") == want || fingerprint(t, first, 1, "x") == want || fingerprint(t, first, 1, "y", "s") == want {
			t.Errorf("%s: the key or the columns make no difference", name)
		}
		for i := range x {
			if i%500 != 0 && i != len(x)-1 {
				continue
			}
			x[i] += 0.5
			if fingerprint(t, released(t, write, name, x, y, s), 1, "x", "s") == want {
				t.Errorf("%s: row %d of x makes no difference", name, i)
			}
			x[i] -= 0.5
		}
		s[77] = "z"
		if fingerprint(t, released(t, write, name, x, y, s), 1, "x", "s") == want {
			t.Errorf("%s: a text makes no difference", name)
		}
		s[77] = string(rune('a' + 77%20))
		y[5]++
		if name == "t.parquet" && fingerprint(t, released(t, write, name, x, y, s), 1, "x", "s") != want {
			t.Errorf("%s: a column that was not asked for makes a difference", name)
		}
	}
}

// Every byte of the columns' chunks counts.
func TestFingerprintSeesEveryByte(t *testing.T) {
	x, s := make([]float64, 200), make([]string, 200)
	for i := range x {
		x[i], s[i] = float64(i*i), "t"
	}
	path := released(t, func(f *os.File, r Release) error { return WriteParquet(f, r) }, "t.parquet", x, x, s)
	want := fingerprint(t, path, 1, "x")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tab, err := Open(context.Background(), Spec{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	chunk := tab.files[0].dataFile.(*parquetFile).footer.Groups[0].Chunks[0]
	tab.Close()
	if chunk.Len < 200 {
		t.Fatalf("a chunk of %d bytes", chunk.Len)
	}
	unreadable := 0
	for off := chunk.Start; off < chunk.Start+chunk.Len; off += tier.Of[int64](7, 1) {
		b := append([]byte(nil), whole...)
		b[off] ^= 0x10
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		tab, err := Open(t.Context(), Spec{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		switch got, err := tab.Fingerprint(t.Context(), []string{"x"}, Key{1}); {
		case err != nil: // a page header that is none any more
			unreadable++
		case got == want:
			t.Fatalf("byte %d makes no difference", off)
		}
		tab.Close()
	}
	if unreadable == 0 || unreadable > 100 {
		t.Errorf("%d of the bytes make the file unreadable", unreadable)
	}
}

// The same bytes are other values where a batch, or a dictionary, says that it has
// another number of nulls: without any, its validity is not read.
func TestFingerprintSeesNullCounts(t *testing.T) {
	x, s, blank := make([]float64, 300), make([]string, 300), make([]bool, 300)
	for i := range x {
		x[i], s[i], blank[i] = float64(i), string(rune('a'+i%20)), i%7 == 0
	}
	path := filepath.Join(t.TempDir(), "t.arrow")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := WriteArrow(f, Release{Columns: []columns.Column{{Name: "x", Float64: x, Blank: blank}, {Name: "s", Texts: s}}}); err != nil {
		t.Fatal(err)
	}
	f.Close()
	tab, err := Open(t.Context(), Spec{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer tab.Close()
	of := func() Fingerprint {
		f, err := tab.Fingerprint(t.Context(), []string{"x", "s"}, Key{1})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	want := of()
	for i, b := range tab.files[0].dataFile.(*arrowFile).batches {
		for k := range b.columns {
			before := b.columns[k].nulls
			if k == 0 && before == 0 {
				t.Fatal("no nulls were written")
			}
			b.columns[k].nulls = 1 - min(1, before)
			if of() == want {
				t.Errorf("batch %d, column %d: the number of nulls makes no difference", i, k)
			}
			b.columns[k].nulls = before
			if d := b.dicts[k]; d != nil {
				d.batch.columns[0].nulls++
				if of() == want {
					t.Errorf("column %d: the number of nulls of a dictionary makes no difference", k)
				}
				d.batch.columns[0].nulls--
			}
		}
	}
	if of() != want {
		t.Error("the same table has two fingerprints")
	}
}

// BenchmarkFingerprint measures the time that content addressing adds to a run. Reference:
// BenchmarkScanSum, beside which it runs.
func BenchmarkFingerprint(b *testing.B) {
	path := benchFile(b)
	for b.Loop() {
		t, err := Open(context.Background(), Spec{Path: path})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := t.Fingerprint(context.Background(), t.Usable(), Key{1}); err != nil {
			b.Fatal(err)
		}
		t.Close()
	}
	perRow(b)
}
