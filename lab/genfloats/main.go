// Command genfloats writes the Parquet file of the speed measurements: one float64 column x, snappy, row groups of a
// million rows. With -units there is a column id in front, an int64 that names one of so many units at random.
//
//	bin/lab/genfloats -rows 20000000 lab/data/floats-20m.parquet
//	bin/lab/genfloats -rows 20000000 -units 2000000 lab/data/units-20m.parquet
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

func main() {
	rows := flag.Int("rows", 20_000_000, "rows to write")
	group := flag.Int("group", 1_000_000, "rows of a row group")
	units := flag.Int("units", 0, "units that rows belong to; 0 leaves their column out")
	flag.Parse()
	if flag.NArg() != 1 || *rows < 0 || *group < 1 || *units < 0 {
		fmt.Fprintln(os.Stderr, "usage: genfloats [-rows N] [-group N] [-units N] FILE")
		os.Exit(2)
	}
	if err := write(flag.Arg(0), *rows, *group, *units); err != nil {
		fmt.Fprintln(os.Stderr, "genfloats:", err)
		os.Exit(1)
	}
}

func write(path string, rows, group, units int) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := generate(w, rows, group, units); err != nil {
		return err
	}
	return w.Flush()
}

// generate draws from a normal distribution with a fixed seed, so that the file is the same everywhere.
func generate(w io.Writer, rows, group, units int) error {
	var fields schema.FieldList
	if units > 0 {
		id, err := schema.NewPrimitiveNode("id", parquet.Repetitions.Required, parquet.Types.Int64, -1, -1)
		if err != nil {
			return err
		}
		fields = append(fields, id)
	}
	node, err := schema.NewPrimitiveNode("x", parquet.Repetitions.Optional, parquet.Types.Double, -1, -1)
	if err != nil {
		return err
	}
	root, err := schema.NewGroupNode("schema", parquet.Repetitions.Required, append(fields, node), -1)
	if err != nil {
		return err
	}
	props := parquet.NewWriterProperties(parquet.WithCompression(compress.Codecs.Snappy), parquet.WithDictionaryDefault(false))
	out := file.NewParquetWriter(w, root, file.WithWriterProps(props))
	r, names := rand.New(rand.NewPCG(20, 26)), rand.New(rand.NewPCG(20, 27))
	values, present, ids := make([]float64, group), make([]int16, group), make([]int64, group)
	for i := range present {
		present[i] = 1
	}
	for left := rows; left > 0; left -= group {
		n := min(group, left)
		for i := range n {
			values[i] = 100 + 15*r.NormFloat64()
		}
		g, err := out.AppendRowGroupChecked()
		if err != nil {
			return err
		}
		if units > 0 {
			for i := range n {
				ids[i] = 1_000_000_000 + 7*names.Int64N(int64(units))
			}
			if err := writeIDs(g, ids[:n]); err != nil {
				return err
			}
		}
		c, err := g.NextColumn()
		if err != nil {
			return err
		}
		if _, err := c.(*file.Float64ColumnChunkWriter).WriteBatch(values[:n], present[:n], nil); err != nil {
			return err
		}
		if err := c.Close(); err != nil {
			return err
		}
		if err := g.Close(); err != nil {
			return err
		}
	}
	return out.Close()
}

func writeIDs(g file.SerialRowGroupWriter, ids []int64) error {
	c, err := g.NextColumn()
	if err != nil {
		return err
	}
	if _, err := c.(*file.Int64ColumnChunkWriter).WriteBatch(ids, nil, nil); err != nil {
		return err
	}
	return c.Close()
}
