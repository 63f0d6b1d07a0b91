package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"
)

// writeTables makes the table that the scripts read: 1,000 people with an age
// from 20 to 79, whose mean is 49.3, and a region.
func writeTables(dir string) error {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "age", Type: arrow.PrimitiveTypes.Float64},
		{Name: "region", Type: arrow.BinaryTypes.String},
		{Name: "household", Type: arrow.PrimitiveTypes.Int64},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := range 1000 {
		b.Field(0).(*array.Float64Builder).Append(float64(20 + i%60))
		b.Field(1).(*array.StringBuilder).Append([]string{"north", "south"}[i%2])
		b.Field(2).(*array.Int64Builder).Append(int64(7_000_000 + i))
	}
	rec := b.NewRecord()
	defer rec.Release()
	f, err := os.Create(filepath.Join(dir, "people.arrow"))
	if err != nil {
		return err
	}
	w, err := ipc.NewFileWriter(f, ipc.WithSchema(schema))
	if err != nil {
		return errors.Join(err, f.Close())
	}
	return errors.Join(w.Write(rec), w.Close(), f.Close())
}

func exitCode(err error) string {
	var e *exec.ExitError
	if errors.As(err, &e) {
		return strconv.Itoa(e.ExitCode())
	}
	return err.Error()
}
