// Package iceberg finds the files and the columns of one snapshot of a table in the Apache Iceberg format. It reads
// metadata, manifest lists and manifests; the values are read by package table, from the Parquet files that it lists.
//
// # What it promises
//
// Open returns the table as the snapshot has it, or an error. Before it reads a value it refuses whatever this program would
// read otherwise than the format means it: delete files, deletion vectors, files that are not Parquet, files without the
// ids of fields. It finds columns by their ids, never by the names in a file.
//
// Open reads only files below the folder that the job names. The paths in the metadata lie below the location of the table;
// Open takes the same paths below the folder. So it reads a copy as a copy, and metadata cannot lead anywhere else.
//
// Damaged or hostile metadata is an error and no panic. The sizes of metadata files, packed and unpacked, are bounded, and so
// is the number of files that they list. Only the list of files may depend on values of rows; nothing else here does.
//
// # What it may import
//
// iceberg-go's package of schemas and manifests, and none of its others: they bring catalogs, writers and the stores' own
// drivers. Also packages table and store.
package iceberg
