package table

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/klauspost/compress/snappy"
)

// unliteral walks through a block in pieces of random sizes; ok is false where that gives up.
func unliteral(b []byte, size int, put func([]byte), r *rand.Rand) (ok bool) {
	l := literals{size: size, put: func(b []byte) bool { put(b); return true }}
	var carry []byte
	for len(b) > 0 {
		n := 1 + r.IntN(min(len(b), 1+r.IntN(100)))
		rest, ok := l.feed(append(carry, b[:n]...))
		if !ok {
			return false
		}
		carry, b = slices.Clone(rest), b[n:]
	}
	return len(carry) == 0 && l.done()
}

// agrees holds both short ways of reading a block, all of it and some values, to the library: they give up, or give what
// it gives.
func agrees(t *testing.T, b []byte, r *rand.Rand) (short bool) {
	t.Helper()
	size, err := snappy.DecodedLen(b)
	if err != nil || size > 1<<20 {
		size = 8
	}
	want, wantErr := snappy.Decode(nil, b)
	var got []byte
	ok := unliteral(b, size, func(b []byte) { got = append(got, b...) }, r)
	if ok && (wantErr != nil || !bytes.Equal(got, want)) {
		t.Fatalf("unpacked to something else than the library does (%v)", wantErr)
	}
	for _, first := range []int{0, r.IntN(8)} {
		g := picks{from: first}
		var rows []uint32
		for row := r.IntN(3); first+8*row+8 <= size; row += 1 + r.IntN(2) {
			rows = append(rows, uint32(row))
		}
		g.rows, g.out = rows, make([]uint64, len(rows))
		if again := unliteral(b, size, g.take, r); again != ok {
			t.Fatalf("a block was read once, and not another time, in other pieces")
		}
		if !ok {
			continue
		}
		if g.done != len(rows) {
			t.Fatalf("%d values of %d", g.done, len(rows))
		}
		for i, row := range rows {
			if g.out[i] != binary.LittleEndian.Uint64(want[first+8*int(row):]) {
				t.Fatalf("another value in row %d from byte %d", row, first)
			}
		}
	}
	return ok
}

// block makes a valid snappy block of literals with lengths of every kind, and now and then a copy.
func block(r *rand.Rand, copies bool) []byte {
	var body []byte
	size := 0
	for range 1 + r.IntN(12) {
		n := 1 + r.IntN([]int{7, 60, 300, 70_000}[r.IntN(4)])
		extra := 0
		for ; extra < 4 && (n-1 >= 60 && extra == 0 || extra > 0 && n-1 >= 1<<(8*extra)); extra++ {
		}
		if extra > 0 || r.IntN(8) == 0 {
			extra = min(4, max(extra, 1)+r.IntN(2)) // longer than it need be: valid
			body = append(body, byte(59+extra)<<2)
			body = append(body, binary.LittleEndian.AppendUint32(nil, uint32(n-1))[:extra]...)
		} else {
			body = append(body, byte(n-1)<<2)
		}
		for range n {
			body = append(body, byte(r.Uint32()))
		}
		size += n
		if copies && r.IntN(6) == 0 {
			body = append(body, 0<<2|2, 1, 0) // one byte from one byte back
			size++
		}
	}
	return append(binary.AppendUvarint(nil, uint64(size)), body...)
}

// Blocks of literals are always read, blocks with copies never, and damaged ones as the library reads them.
func TestLiterals(t *testing.T) {
	r := rand.New(rand.NewPCG(20, 26))
	damaged := 0
	for i := range 1500 {
		b := block(r, i%3 == 0)
		short := agrees(t, b, r)
		if i%3 != 0 && !short {
			t.Fatal("a block of literals was given up")
		}
		if len(b) < 4000 {
			for range 8 {
				m := slices.Clone(b)
				m[r.IntN(min(len(m), 12+r.IntN(len(m))))] ^= 1 << r.IntN(8)
				if r.IntN(4) == 0 {
					m = m[:r.IntN(len(m))]
				}
				if agrees(t, m, r) {
					damaged++
				}
			}
		}
	}
	if damaged == 0 {
		t.Error("no damaged block was read: the damage is too coarse to say anything")
	}
}

func FuzzLiterals(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 20 {
		if b := block(r, i%2 == 0); len(b) < 1000 {
			f.Add(b, uint64(i))
		}
	}
	f.Add(snappy.Encode(nil, bytes.Repeat([]byte("measure"), 20)), uint64(3))
	f.Fuzz(func(t *testing.T, b []byte, seed uint64) { agrees(t, b, rand.New(rand.NewPCG(seed, seed))) })
}

// noisy are columns that no codec makes smaller, with and without nulls, and one that snappy packs with copies.
func noisy(n int, r *rand.Rand) (cols []genColumn, want []wantColumn) {
	add := func(name string, typ parquet.Type, valid []bool, f func(i int) float64) {
		rep := parquet.Repetitions.Required
		if valid != nil {
			rep = parquet.Repetitions.Optional
		}
		w := wantColumn{name: name, valid: valid}
		for i := range n {
			x := f(i)
			if valid != nil && !valid[i] {
				x = 0
			}
			if typ == parquet.Types.Double {
				w.f64 = append(w.f64, x)
			} else {
				w.i64 = append(w.i64, int64(x))
			}
		}
		c := genColumn{node: must(schema.NewPrimitiveNode(name, rep, typ, -1, -1)), values: w.f64, valid: valid}
		if typ == parquet.Types.Int64 {
			c.values = w.i64
		}
		cols, want = append(cols, c), append(want, w)
	}
	all, some := make([]bool, n), make([]bool, n)
	for i := range n {
		all[i], some[i] = true, r.IntN(3) > 0
	}
	noise := func(int) float64 { return r.NormFloat64() * 1e18 }
	add("f", parquet.Types.Double, nil, noise)
	add("fn", parquet.Types.Double, all, noise)
	add("fs", parquet.Types.Double, some, noise)
	add("i", parquet.Types.Int64, nil, noise)
	add("in", parquet.Types.Int64, all, noise)
	add("r", parquet.Types.Double, nil, func(i int) float64 { return float64(i % 7) })
	return cols, want
}

// Values of pages that are not unpacked, or unpacked while they are read, are those of the library's writer, whatever
// the pages are like; and where short ways exist they are taken.
func TestShortWaysReadTheSame(t *testing.T) {
	const n = 150_000
	for i, codec := range []compress.Compression{compress.Codecs.Snappy, compress.Codecs.Uncompressed, compress.Codecs.Zstd} {
		for _, v2 := range []bool{false, true} {
			r := rand.New(rand.NewPCG(7, uint64(i)))
			cols, want := noisy(n, r)
			path := temp(t, "x.parquet", writeParquet(t, style{codec: codec, v2: v2, crc: true, pageSize: 700_000, groups: []int{100_000, 50_000}}, cols))
			tab := must(Open(t.Context(), Spec{Path: path}))
			defer tab.Close()
			content := must(tab.Content(t.Context(), tab.Usable()))
			sparse := func(b Block) (Pick, error) {
				var rows []uint32
				for at := r.IntN(80); at < b.Rows; at += 33 + r.IntN(200) {
					rows = append(rows, uint32(at))
				}
				return Pick{Rows: rows}, nil
			}
			mixed := func(b Block) (Pick, error) { // a page that was not unpacked is then wanted as a whole
				if b.First%(2*blockRows) == 0 {
					return sparse(b)
				}
				return Pick{All: true}, nil
			}
			for k, pick := range []func(Block) (Pick, error){nil, sparse, mixed} {
				err := tab.Scan(t.Context(), ScanOptions{Columns: tab.Usable(), Pick: pick, Content: content}, func(b Batch) error {
					for c := range want {
						if err := want[c].check(&b.Columns[c], int(b.Block.First), b.Picked.Rows, b.Rows); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					t.Fatalf("%v v2=%v scan %d: %v", codec, v2, k, err)
				}
			}
			for c := range want {
				f := tab.files[0].(*parquetFile)
				k := &chunk{r: f.f, leaf: &f.footer.Leaves[c], facts: &f.footer.Groups[0].Chunks[c], layout: f.layout(0, c), shape: shapeOf(&f.cols[c])}
				w := newWorker(&pool{})
				var out, other vec
				page := &k.layout.Data[0]
				picked := w.pick(k, page, mark{}, []uint32{0, 9, 10}, &out) == nil
				k.whole.Store(false)
				_, _, err := w.stream(k, page, mark{}, &other)
				name := want[c].name
				plain := name == "f" || name == "fn" || name == "i" || name == "in"
				if picked != (plain && codec != compress.Codecs.Zstd || name == "r" && codec == compress.Codecs.Uncompressed) {
					t.Errorf("%v v2=%v column %s: picked %v", codec, v2, name, picked)
				}
				if streamed := err == nil; codec == compress.Codecs.Snappy && plain != streamed && name != "fs" || codec != compress.Codecs.Snappy && streamed {
					t.Errorf("%v v2=%v column %s: streamed %v", codec, v2, name, streamed)
				}
			}
		}
	}
}

// Adjust sees every row once, where there is no null, and what it changes is what arrives.
func TestAdjust(t *testing.T) {
	const n = 150_000
	cols, want := noisy(n, rand.New(rand.NewPCG(8, 8)))
	path := temp(t, "x.parquet", writeParquet(t, style{codec: compress.Codecs.Snappy, pageSize: 700_000, groups: []int{n}}, cols))
	tab := must(Open(t.Context(), Spec{Path: path}))
	defer tab.Close()
	seen := make(chan int, 1<<12)
	o := ScanOptions{Columns: []string{"f", "fs", "i"}, Adjust: func(column int, x []float64) bool {
		for i := range x {
			x[i]++
		}
		if column == 0 {
			seen <- len(x)
		}
		return column == 0
	}}
	rows := 0
	err := tab.Scan(t.Context(), o, func(b Batch) error {
		rows += b.Rows
		for i := range b.Rows {
			at := int(b.Block.First) + i
			if b.Columns[0].Float64[i] != want[0].f64[at]+1 {
				t.Fatalf("row %d was not adjusted once", at)
			}
		}
		if !b.Columns[0].Adjusted || b.Columns[1].Adjusted || b.Columns[2].Adjusted {
			t.Fatal("marked wrongly")
		}
		if err := want[2].check(&b.Columns[1], int(b.Block.First), nil, b.Rows); err != nil {
			return err
		}
		return want[3].check(&b.Columns[2], int(b.Block.First), nil, b.Rows)
	})
	close(seen)
	adjusted := 0
	for k := range seen {
		adjusted += k
	}
	if err != nil || rows != n || adjusted != n {
		t.Errorf("%d rows, %d adjusted, %v", rows, adjusted, err)
	}
}
