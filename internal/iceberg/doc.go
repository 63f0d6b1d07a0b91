// Package iceberg finds the files and the columns of one snapshot of a table in the Apache Iceberg format. It reads
// metadata, manifest lists and manifests; the values are read by package table, from the Parquet files that it lists.
//
// # What it promises
//
// What Open gives is the table as the snapshot has it, or an error: whatever this program would read otherwise than the
// format means it (delete files, deletion vectors, files that are not Parquet, files without the ids of fields) is refused before a value
// is read. Columns go by their ids, never by the names that a file gives them.
//
// Only files below the folder of the table are read. A path in the metadata is one below the table's location there, and is
// taken as the same path below the folder that the job names. So a copy is read as a copy, and metadata cannot lead
// anywhere else.
//
// Damaged or hostile metadata is an error and no panic. Every file of metadata is bounded, packed and unpacked, and so is
// the number of files that it may list. Nothing here depends on a value of a row, except which files are listed.
//
// # What it may import
//
// iceberg-go's package of schemas and manifests, and none of its others: they bring catalogs, writers and the stores' own
// drivers. Also packages table and store.
package iceberg
