package table

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dprelease/dprelease/internal/testkit/parquet"
	"github.com/dprelease/dprelease/internal/testkit/testdir"
	"github.com/dprelease/dprelease/internal/testkit/tier"
)

// examined opens a table and examines its usable columns. Then it scans them, and returns what each said.
func examined(path string, examine func(*Table, context.Context, []string) error) (before, after error) {
	ctx := context.Background()
	tab, err := Open(ctx, Spec{Path: path})
	if err != nil {
		return err, nil
	}
	defer tab.Close()
	columns := tab.Usable()
	if err := examine(tab, ctx, columns); err != nil {
		return err, nil
	}
	return nil, tab.Scan(ctx, ScanOptions{Columns: columns, Workers: 1}, func(Batch) error { return nil })
}

// sweptFile is a small file. beyond are the places that docs/tables.md says are not looked at before the debit.
type sweptFile struct {
	name, ext string
	data      []byte
	beyond    func(at int, err error) bool
}

// packedNumbers are the columns of generated whose pages Examine does not unpack.
var packedNumbers = []string{"f64", "f64split", "f32", "f32split", "i32", "i32split", "i64", "u32", "small", "date", "bool"}

// sweptFiles are files of every format, encoding and codec, without checksums.
func sweptFiles(t *testing.T) (files []sweptFile) {
	for i, codec := range allCodecs {
		for k := range 4 {
			s := style{codec: codec, v2: k&1 == 1, dict: k&2 == 2, pageSize: 300, groups: []int{40, 25}}
			if (i+k)%2 == 0 {
				s.nulls = 0.2
			}
			cols, _ := generated(65, s.nulls, rand.New(rand.NewPCG(7, uint64(4*i+k))))
			cols = slices.DeleteFunc(cols, func(c genColumn) bool { return (len(c.node.Name())+i+k)%3 > 0 })
			f := sweptFile{name: "parquet " + s.String(), ext: ".parquet", data: writeParquet(t, s, cols)}
			if codec == parquet.Codecs.Snappy || codec == parquet.Codecs.Zstd {
				outside := outsideBodies(f.data)
				f.beyond = func(at int, err error) bool {
					return !slices.Contains(outside, at) &&
						slices.ContainsFunc(packedNumbers, func(n string) bool { return strings.Contains(err.Error(), "column "+n+":") })
				}
			}
			files = append(files, f)
		}
	}
	for i, codec := range []string{"none", "lz4", "zstd"} {
		for k, stream := range []bool{false, true} {
			b, want := writeArrow(t, arrowStyle{stream: stream, codec: codec, nulls: 0.2 * float64(k), batches: []int{20, 7}, every: 2 + i})
			f := sweptFile{name: fmt.Sprintf("arrow %s, stream %v", codec, stream), ext: ".arrow", data: b}
			if codec == "zstd" {
				f.beyond = func(_ int, err error) bool {
					return slices.ContainsFunc(want, func(w wantColumn) bool {
						return (w.f64 != nil || w.i64 != nil) && strings.Contains(err.Error(), "column "+w.name+":")
					})
				}
			}
			files = append(files, f)
		}
	}
	text := "a,b,c\n" + strings.Repeat("1,\"two, three\",x\n-4.5,\"\"\"q\"\"\",y\n", 8)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(text)); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return append(files, sweptFile{name: "csv", ext: ".csv", data: []byte(text)}, sweptFile{name: "csv.gz", ext: ".csv.gz", data: packed.Bytes()})
}

// sweep damages every byte of every file in two ways (in the fast tier a sample of them), and returns how many files pass
// examine and fail later; enough of them end it. Kinds that docs/tables.md lists are counted apart.
func sweep(t *testing.T, every, enough int, examine func(*Table, context.Context, []string) error) (late, listed, found int) {
	for _, f := range sweptFiles(t) {
		path := filepath.Join(testdir.New(t), "x"+f.ext)
		for at := range f.data {
			for k, flip := range []byte{0xff, 1 << (at % 8)} {
				if (2*at+k)%every > 0 && at > 0 {
					continue
				}
				data := bytes.Clone(f.data)
				data[at] ^= flip
				if err := os.WriteFile(path, data, 0o600); err != nil {
					t.Fatal(err)
				}
				before, after := examined(path, examine)
				switch {
				case before != nil:
					found++
				case after == nil:
				case f.beyond != nil && f.beyond(at, after):
					listed++
				default:
					t.Logf("%s, byte %d of %d changed by %#x: %v", f.name, at, len(f.data), flip, after)
					if late++; late == enough {
						return late, listed, found
					}
				}
				if err := errors.Join(onlyOurs(before), onlyOurs(after)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return late, listed, found
}

// No file passes Examine and fails in Scan, except for what docs/tables.md lists.
func TestExamineFindsWhatScanFinds(t *testing.T) {
	late, listed, found := sweep(t, tier.Of(197, 7), 10, (*Table).Examine)
	t.Logf("%d found by Examine, %d of the listed kind", found, listed)
	if late > 0 || found == 0 {
		t.Errorf("%d damaged files pass Examine and fail in Scan", late)
	}
	if listed == 0 && !testing.Short() {
		t.Error("the list in docs/tables.md says too much")
	}
}

// The twin: Verify alone lets such files pass.
func TestExamineTwin(t *testing.T) {
	if late, _, _ := sweep(t, 97, 1, (*Table).Verify); late == 0 {
		t.Error("no file passes Verify and fails in Scan: the sweep shows nothing")
	}
}

// What Examine finds is what Scan finds, and what Examine lets pass is read as before.
func TestExamineLetsGoodFilesPass(t *testing.T) {
	names, err := filepath.Glob("testdata/writers/*")
	if err != nil || len(names) < 20 {
		t.Fatalf("found %d files", len(names))
	}
	for _, name := range names {
		if strings.Contains(filepath.Base(name), "make.") {
			continue
		}
		if before, after := examined(name, (*Table).Examine); before != nil || after != nil {
			t.Errorf("%s: %v, %v", name, before, after)
		}
	}
}
