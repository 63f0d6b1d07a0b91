// Write makes a table of trips in one version of the Iceberg format: three batches of rows, a change of the schema before the last
// one, and deleted rows. The folders v1, v2 and v3 hold what it wrote for these versions. The tests read the snapshots between.
//
// It stands on the writer of iceberg-go v0.7.0 and its Hadoop catalog, which the project does not build. In a module of its own,
// go run write.go /warehouse 2 writes /warehouse/city/trips, which was then moved to v2.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/hadoop"
	_ "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

func main() {
	ctx := context.Background()
	cat := must(hadoop.NewCatalog("c", os.Args[1], nil))
	ns := table.Identifier{"city"}
	if err := cat.CreateNamespace(ctx, ns, nil); err != nil {
		log.Fatal(err)
	}
	sc := iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "fare", Type: iceberg.PrimitiveTypes.Float64},
		iceberg.NestedField{ID: 2, Name: "borough", Type: iceberg.PrimitiveTypes.String},
		iceberg.NestedField{ID: 3, Name: "riders", Type: iceberg.PrimitiveTypes.Int32},
	)
	spec := iceberg.NewPartitionSpec(iceberg.PartitionField{SourceIDs: []int{2}, FieldID: 1000, Transform: iceberg.IdentityTransform{},
		Name: "borough"})
	t := must(cat.CreateTable(ctx, append(ns, "trips"), sc, catalog.WithPartitionSpec(&spec),
		catalog.WithProperties(iceberg.Properties{"format-version": os.Args[2], "write.delete.mode": "merge-on-read"})))
	add := func(from, n int) {
		as := must(table.SchemaToArrowSchema(t.Schema(), nil, true, false))
		b := array.NewRecordBuilder(memory.DefaultAllocator, as)
		for i := from; i < from+n; i++ {
			for k, f := range as.Fields() {
				switch f.Name {
				case "fare", "price":
					b.Field(k).(*array.Float64Builder).Append(float64(i % 11))
				case "tip":
					b.Field(k).(*array.Float64Builder).Append(float64(i % 3))
				case "riders":
					if x, ok := b.Field(k).(*array.Int32Builder); ok {
						x.Append(int32(i%4 + 1))
					} else {
						b.Field(k).(*array.Int64Builder).Append(int64(i%4 + 1))
					}
				case "borough":
					b.Field(k).(*array.StringBuilder).Append([]string{"Bronx", "Queens"}[i%2])
				default:
					log.Fatal(f.Name)
				}
			}
		}
		rec := b.NewRecordBatch()
		rdr := must(array.NewRecordReader(as, []arrow.RecordBatch{rec}))
		t = must(t.Append(ctx, rdr, nil))
		fmt.Println("append", t.CurrentSnapshot().SnapshotID, n)
	}
	add(0, 400)
	add(400, 300)
	txn := t.NewTransaction()
	if err := txn.UpdateSchema(true, false).RenameColumn([]string{"fare"}, "price").
		AddColumn([]string{"tip"}, iceberg.PrimitiveTypes.Float64, "", false, nil).
		UpdateColumn([]string{"riders"},
			table.ColumnUpdate{FieldType: iceberg.Optional[iceberg.Type]{Val: iceberg.PrimitiveTypes.Int64, Valid: true}}).Commit(); err != nil {
		log.Fatal(err)
	}
	t = must(txn.Commit(ctx))
	add(700, 100)
	t = must(t.Delete(ctx, iceberg.EqualTo(iceberg.Reference("price"), 3.0), nil))
	fmt.Println("delete", t.CurrentSnapshot().SnapshotID)
}
