// Package parquet writes Parquet files for tests: every encoding, codec and version of pages that readers must know, by the
// definition of the format. lab/parquet compares what it writes with what other programs read.
//
// # What it may import
//
// Package compact, for the encoding of footers, and the codecs.
package parquet
