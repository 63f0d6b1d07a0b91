package pagewalk

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// files are those of other writers and the hostile ones, as seeds and as a corpus.
func files(t testing.TB, folder string, least int) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", "testdata", folder, "*.parquet"))
	if err != nil || len(names) < least {
		t.Fatalf("%s: found %d files, %v", folder, len(names), err)
	}
	return names
}

func load(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestWalkCoversPages walks every flat column of every file; the pages must sum to the chunk.
func TestWalkCoversPages(t *testing.T) {
	pages := 0
	for _, name := range files(t, "writers", 15) {
		b := load(t, name)
		f, err := ReadFooter(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(name, err)
		}
		for g := range f.Groups {
			for i := range f.Leaves {
				if !f.Leaves[i].Flat() {
					continue
				}
				k := &f.Groups[g].Chunks[i]
				l, err := Walk(context.Background(), bytes.NewReader(b), &f.Leaves[i], k)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				var sum, first int64
				for _, p := range l.Data {
					if p.First != first {
						t.Errorf("%s: page begins at row %d, not %d", name, p.First, first)
					}
					first += int64(p.Values)
					sum += int64(p.Values)
					pages++
				}
				if sum != k.Values {
					t.Errorf("%s: %d values of %d", name, sum, k.Values)
				}
			}
		}
	}
	if pages < 150 {
		t.Errorf("only %d pages walked", pages)
	}
}

// TestLongHeader: page headers may be longer than the window they are read through.
func TestLongHeader(t *testing.T) {
	b := longHeader(3 * windowBytes)
	leaf := Leaf{Name: "x", Path: []string{"x"}, Type: Int64}
	k := Chunk{Len: int64(len(b)), Values: 1, Encodings: 1}
	l, err := Walk(context.Background(), bytes.NewReader(b), &leaf, &k)
	if err != nil || len(l.Data) != 1 || l.Data[0].Off != int64(len(b)-8) {
		t.Fatal(l, err)
	}
	var fault *Fault
	k.Len--
	if _, err := Walk(context.Background(), bytes.NewReader(b), &leaf, &k); !errors.As(err, &fault) || fault.Code != Corrupt {
		t.Error(err)
	}
	b = longHeader(8 * maxHeaderBytes)
	k.Len = int64(len(b))
	if _, err := Walk(context.Background(), bytes.NewReader(b), &leaf, &k); !errors.As(err, &fault) || fault.Code != TooBig {
		t.Error(err)
	}
}

// longHeader is a page of one number whose header holds a statistic of a length.
func longHeader(length int) (b []byte) {
	b = append(b, 0x15, 0, 0x15, 16, 0x15, 16, 0x2c)              // a data page of 8 bytes
	b = append(b, 0x15, 2, 0x15, 0, 0x15, 6, 0x15, 6, 0x1c, 0x18) // one plain value, statistics with a maximum
	b = binary.AppendUvarint(b, uint64(length))
	b = append(b, strings.Repeat("x", length)...)
	b = append(b, 0, 0, 0)
	return append(b, make([]byte, 8)...)
}

// TestAnnotationsAreCrossChecked: two statements about a column that disagree leave it in doubt.
func TestAnnotationsAreCrossChecked(t *testing.T) {
	base := element{typ: int32(Int64), has: 1 << 10}
	micros := base
	micros.logical = Annotation{Meaning: Timestamp, Unit: Micros}
	for name, c := range map[string]struct {
		e     element
		doubt bool
	}{
		"logical alone":         {micros, false},
		"both agree":            {withConverted(micros, 10), false},
		"units differ":          {withConverted(micros, 9), true},
		"time or timestamp":     {withConverted(micros, 8), true},
		"number that is not":    {withConverted(micros, 99), true},
		"date on 64 bits":       {element{typ: int32(Int64), has: 1 << 6, converted: 6}, true},
		"decimal, no precision": {element{typ: int32(Int64), has: 1 << 6, converted: 5}, true},
		"decimal":               {element{typ: int32(Int64), has: 1 << 6, converted: 5, scale: 2, precision: 9}, false},
		"json and enum":         {withConverted(element{typ: int32(ByteArray), has: 1 << 10, logical: Annotation{Meaning: Text}}, 19), false},
	} {
		if _, doubt := c.e.annotation(); (doubt != "") != c.doubt {
			t.Errorf("%s: %q", name, doubt)
		}
	}
}

func withConverted(e element, v int32) element {
	e.has |= 1 << 6
	e.converted = v
	return e
}

// FuzzFile: no bytes make the walk panic, and what it accepts adds up.
func FuzzFile(f *testing.F) {
	for _, name := range append(files(f, "hostile", 17), files(f, "writers", 15)...) {
		if b := load(f, name); len(b) < 30_000 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		foot, err := ReadFooter(r, int64(len(b)))
		if err != nil {
			var fault *Fault
			if !errors.As(err, &fault) {
				t.Fatalf("not a Fault: %v", err)
			}
			return
		}
		var rows int64
		for g := range foot.Groups {
			rows += foot.Groups[g].Rows
			for i := range foot.Leaves {
				k := &foot.Groups[g].Chunks[i]
				if !foot.Leaves[i].Flat() {
					continue
				}
				if k.Values > 0 && (k.Start < 4 || k.Start+k.Len > int64(len(b))-8) {
					t.Fatal("a chunk outside the file was accepted")
				}
				l, err := Walk(context.Background(), r, &foot.Leaves[i], k)
				if err != nil {
					continue
				}
				var sum int64
				for _, p := range l.Data {
					sum += int64(p.Values)
				}
				if sum != k.Values {
					t.Fatal("pages that do not sum to their chunk were accepted")
				}
			}
		}
		if rows != foot.Rows {
			t.Fatal("row groups that do not sum to the file were accepted")
		}
	})
}
