package rows

import (
	"bufio"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/dprelease/dprelease/internal/rows/formula"
	"github.com/dprelease/dprelease/internal/table"
)

const benchRows = 20_000_000

// benchTable writes 20 million numbers to a Parquet file, as bench/genfloats does.
func benchTable(b *testing.B) *table.Table {
	b.Helper()
	path := filepath.Join(b.TempDir(), "numbers.parquet")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriter(f)
	node, err := schema.NewPrimitiveNode("x", parquet.Repetitions.Optional, parquet.Types.Double, -1, -1)
	if err != nil {
		b.Fatal(err)
	}
	root, err := schema.NewGroupNode("root", parquet.Repetitions.Required, schema.FieldList{node}, -1)
	if err != nil {
		b.Fatal(err)
	}
	out := file.NewParquetWriter(w, root, file.WithWriterProps(parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy), parquet.WithDictionaryDefault(false))))
	const group = 1_000_000
	r := rand.New(rand.NewPCG(1, 2))
	values, levels := make([]float64, group), make([]int16, group)
	for i := range levels {
		levels[i] = 1
	}
	for range benchRows / group {
		for i := range values {
			values[i] = 100 + 15*r.NormFloat64()
		}
		g, err := out.AppendRowGroupChecked()
		if err != nil {
			b.Fatal(err)
		}
		c, err := g.NextColumn()
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.(*file.Float64ColumnChunkWriter).WriteBatch(values, levels, nil); err != nil {
			b.Fatal(err)
		}
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
		if err := g.Close(); err != nil {
			b.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		b.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	t, err := table.Open(context.Background(), table.Spec{Path: path})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { t.Close() })
	return t
}

// BenchmarkScan reads 20 million numbers and adds them up. The reference is "plain"; with
// a filter and one derived column it may take 1.3 times as long.
func BenchmarkScan(b *testing.B) {
	t := benchTable(b)
	columns := []formula.Column{{Name: "x", Type: formula.Number}}
	filter, derive := must(b, "x >= 100", columns), must(b, "x / 60", columns)
	for _, c := range []struct {
		name string
		spec Spec
	}{
		{"plain", Spec{}},
		{"filter", Spec{Conditions: []*formula.Formula{filter}}},
		{"derive", Spec{Derived: []Derived{{Name: "y", Formula: derive}}, Outputs: []string{"y"}}},
		{"filter+derive", Spec{Conditions: []*formula.Formula{filter}, Derived: []Derived{{Name: "y", Formula: derive}}, Outputs: []string{"y"}}},
	} {
		c.spec.Columns = columns
		p, err := NewProgram(c.spec)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(c.name, func(b *testing.B) {
			before := worked()
			for b.Loop() {
				e := p.Evaluator()
				sum := 0.0
				err := t.Scan(context.Background(), table.ScanOptions{Columns: []string{"x"}}, func(batch table.Batch) error {
					of := batch.Columns[0].Float64
					if c.name != "plain" {
						if got := e.Eval(batch.Columns, batch.Rows); len(got.Columns) > 0 {
							of = got.Columns[0].Float64
						}
					}
					for _, x := range of {
						sum += x
					}
					return nil
				})
				if err != nil || sum == 0 {
					b.Fatal(err, sum)
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

// BenchmarkEval is the work on rows that are in memory already, nanoseconds a row. The
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
	perRow := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
	}
	b.Run("copy", func(b *testing.B) {
		dst := make([]float64, rows)
		for b.Loop() {
			copy(dst, x.columns["x"].Float64)
		}
		perRow(b)
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
			e, columns := p.Evaluator(), x.needs(p)
			for b.Loop() {
				e.Eval(columns, rows)
			}
			perRow(b)
		})
	}
}
