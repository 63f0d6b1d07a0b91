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
// Besides people.arrow there are later.arrow, where everybody is a year older, and
// gaps.arrow, where the age of one person is missing.
func writeTables(dir string) error {
	return errors.Join(writePeople(filepath.Join(dir, "people.arrow"), 20, -1), writePeople(filepath.Join(dir, "later.arrow"), 21, -1),
		writePeople(filepath.Join(dir, "gaps.arrow"), 20, 500))
}

func writePeople(path string, youngest, missing int) error {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "age", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "region", Type: arrow.BinaryTypes.String},
		{Name: "household", Type: arrow.PrimitiveTypes.Int64},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := range 1000 {
		if i == missing {
			b.Field(0).AppendNull()
		} else {
			b.Field(0).(*array.Float64Builder).Append(float64(youngest + i%60))
		}
		b.Field(1).(*array.StringBuilder).Append([]string{"north", "south"}[i%2])
		b.Field(2).(*array.Int64Builder).Append(int64(7_000_000 + i))
	}
	rec := b.NewRecord()
	defer rec.Release()
	f, err := os.Create(path)
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
