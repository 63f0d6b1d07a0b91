package rows

import (
	"bufio"
	"context"
	"errors"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/dprelease/dprelease/internal/data/table"
	"github.com/dprelease/dprelease/internal/rows/formula"
	"github.com/dprelease/dprelease/internal/testkit/parquet"
)

const benchRows = 20_000_000

// benchTable writes trips to a Parquet file: miles and hours, and a borough with a
// dictionary. The numbers are as hard to compress as those of lab/genfloats.
func benchTable(b *testing.B) *table.Table {
	b.Helper()
	path := filepath.Join(b.TempDir(), "trips.parquet")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	var nodes []parquet.Node
	for _, name := range []string{"miles", "hours", "borough"} {
		node := parquet.NewNode(name, parquet.Repetitions.Optional, parquet.NoLogicalType, parquet.Types.Double, 0)
		if name == "borough" {
			node = parquet.NewNode(name, parquet.Repetitions.Optional, parquet.StringLogicalType, parquet.Types.ByteArray, 0)
		}
		nodes = append(nodes, node)
	}
	w := bufio.NewWriter(f)
	out := parquet.NewWriter(w, parquet.Style{Codec: parquet.Codecs.Snappy}, nodes)
	const group = 1_000_000
	r := rand.New(rand.NewPCG(1, 2))
	texts := make([]parquet.ByteArray, group)
	for i := range texts {
		texts[i] = parquet.ByteArray(benchBoroughs[r.IntN(len(benchBoroughs))])
	}
	numbers := [2][]float64{make([]float64, group), make([]float64, group)}
	for range benchRows / group {
		columns := []parquet.Column{{Node: nodes[0], Values: numbers[0]}, {Node: nodes[1], Values: numbers[1]}, {Node: nodes[2], Encoding: parquet.Encodings.RLEDict, Values: texts}}
		for _, of := range numbers {
			for i := range of {
				of[i] = 100 + 15*r.NormFloat64()
			}
		}
		if err := out.Group(group, columns); err != nil {
			b.Fatal(err)
		}
	}
	if err := errors.Join(out.Close(), w.Flush(), f.Close()); err != nil {
		b.Fatal(err)
	}
	t, err := table.Open(context.Background(), table.Spec{Path: path})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { t.Close() })
	return t
}

var benchBoroughs = []string{"Bronx", "Brooklyn", "Manhattan", "Queens", "Staten Island"}

// BenchmarkScan reads 20 million rows and adds up what it reads, or what comes out. The reference of each
// filter is the plain scan of the same columns: with a filter and one derived column it
// may take 1.3 times as long. On a machine that does other work, compare cpu-ns/row.
func BenchmarkScan(b *testing.B) {
	t := benchTable(b)
	columns := []formula.Column{{Name: "miles", Type: formula.Number}, {Name: "hours", Type: formula.Number},
		{Name: "borough", Type: formula.Text, Domain: benchBoroughs}}
	for _, c := range []struct{ name, filter, derive string }{
		{"plain/1 column", "", ""},
		{"filter/1 column", "miles >= 100", ""},
		{"derive/1 column", "", "miles * 1.609344"},
		{"both/1 column", "miles >= 100", "miles * 1.609344"},
		{"plain/3 columns", "", ""},
		{"both/3 columns", "borough in ['Bronx', 'Queens']", "miles / hours"},
	} {
		spec := Spec{Columns: columns}
		if c.filter != "" {
			spec.Conditions = []*formula.Formula{must(b, c.filter, columns)}
		}
		if c.derive != "" {
			spec.Derived, spec.Outputs = []Derived{{Name: "out", Formula: must(b, c.derive, columns)}}, []string{"out"}
		}
		p, err := NewProgram(spec)
		if err != nil {
			b.Fatal(err)
		}
		read := []string{"miles", "hours", "borough"}
		if strings.HasSuffix(c.name, "1 column") {
			read = read[:1]
		}
		b.Run(c.name, func(b *testing.B) {
			before := worked()
			for b.Loop() {
				e := p.Evaluator()
				sum, kept := 0.0, 0
				err := t.Scan(context.Background(), table.ScanOptions{Columns: read}, func(batch table.Batch) error {
					columns := batch.Columns
					if c.filter+c.derive != "" {
						got := e.Eval(batch.Columns, batch.Rows)
						columns = got.Columns
						for _, m := range got.Masks {
							kept += bits.OnesCount8(m[0])
						}
					}
					for _, v := range columns {
						for _, code := range v.Codes {
							kept += int(code)
						}
						sum += floats.Sum(v.Float64)
					}
					return nil
				})
				if err != nil || sum+float64(kept) == 0 {
					b.Fatal(err, sum, kept)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
			b.ReportMetric(float64(worked()-before)/float64(b.N)/benchRows, "cpu-ns/row")
		})
	}
}

// worked is the processor time that this process has taken, in nanoseconds. On a machine
// that does other work too it says more than the clock.
func worked() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkEval is the work on rows that are in memory already, in nanoseconds of processor time a row. The
// reference is "copy", which reads and writes as much as a derived column does.
func BenchmarkEval(b *testing.B) {
	const rows = 65536
	r := rand.New(rand.NewPCG(3, 4))
	x := drawn(r, rows, 0)
	for _, name := range []string{"x", "y"} { // ordinary numbers: processors are slow with the smallest ones
		for i := range rows {
			x.columns[name].Float64[i] = 100 + 15*r.NormFloat64()
		}
	}
	perRow := func(b *testing.B, before int64) {
		b.ReportMetric(float64(worked()-before)/float64(b.N)/rows, "cpu-ns/row")
	}
	b.Run("copy", func(b *testing.B) {
		dst, before := make([]float64, rows), worked()
		for b.Loop() {
			copy(dst, x.columns["x"].Float64)
		}
		perRow(b, before)
	})
	for _, text := range []string{"x >= 100", "x / 60", "x * 2 + y", "c in ['Bronx', 'Queens']", "x > 1 && p && c == 'Bronx'", "p ? x : y", "year(d)", "t == u", "number(t)", "round(x)"} {
		b.Run(text, func(b *testing.B) {
			f := must(b, text, declared)
			spec := Spec{Columns: declared}
			if f.Type == formula.Bool {
				spec.Conditions = []*formula.Formula{f}
			} else {
				spec.Derived, spec.Outputs = []Derived{{Name: "out", Formula: f}}, []string{"out"}
			}
			p, err := NewProgram(spec)
			if err != nil {
				b.Fatal(err)
			}
			e, columns, before := p.Evaluator(), x.needs(p), worked()
			for b.Loop() {
				e.Eval(columns, rows)
			}
			perRow(b, before)
		})
	}
}
