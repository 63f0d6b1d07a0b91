// Package parquet writes Parquet files for tests: every encoding, codec and version of pages that readers must know, by the
// definition of the format. lab/parquet compares what it writes with what other programs read.
//
// # What it may import
//
// Packages compact and pagewalk, for the encoding of footers and its units, and the codecs.
package parquet
