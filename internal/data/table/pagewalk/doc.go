// Package pagewalk reads the skeleton of a Parquet file (footer, schema, page headers) and nothing else. It judges a file
// before anybody decodes a value.
//
// Decoders allocate by what a footer and page headers declare, so this package reads them first. It reads the Thrift compact
// encoding itself, because a guard must refuse a list of 2^31 elements before it allocates anything. lab/parquet compares what
// it reads with what arrow-go reads in the same files.
//
// # What it promises
//
// ReadFooter returns an error, never a panic, for any bytes, in time and memory proportional to their number. A
// footer it accepts is one whole Thrift struct; its column chunks lie inside the file, do not overlap, carry the
// physical type and path of the schema leaf at their position, and hold as many values as the row group has rows
// (flat columns); row groups sum to the file's rows. Walk accepts a chunk if its pages tile it exactly, sizes and
// counts stay under the limits, pages use the declared encodings, counts sum to the footer's, and every checksum
// that is there is right.
//
// # What it does not protect against
//
// A file without page checksums can hold other bytes of the right length; only a content hash notices that. Nothing can
// check annotations that the footer states only once (such as a decimal's scale).
//
// It imports the standard library only.
package pagewalk
