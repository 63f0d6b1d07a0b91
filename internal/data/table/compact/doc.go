// Package compact writes Thrift's compact encoding, in which Parquet describes its files. Package pagewalk reads it.
//
// # What it may import
//
// The standard library.
//
// # What it promises
//
// The bytes depend on the values alone. Fields must be added in the order of their numbers, at most 15 apart.
package compact
