// Package iceberg opens one snapshot of a table in the Apache Iceberg format. The companion for object storage reads the
// metadata and lists the files and columns; package table reads the values, from the Parquet files below the table's folder.
//
// It may import packages store and table.
package iceberg
