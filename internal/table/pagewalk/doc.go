// Package pagewalk reads the skeleton of a Parquet file (footer, schema, page headers) and nothing else, so that a
// file can be judged before a single value of it is decoded.
//
// The library that decodes the values (arrow-go, parquet/file) trusts what the footer declares: it allocates by it,
// binds columns to chunks by position, returns short without an error when a page holds less than it says, and does
// not look at page checksums. This package is the guard in front of it. It reads the Thrift compact encoding itself,
// because a guard must be able to refuse a list of 2^31 elements before anything is allocated for it; what it reads is
// compared with the library's own reading of the same files in the tests.
//
// # What it promises
//
// ReadFooter returns an error, never a panic, for any bytes, in time and memory proportional to their number. A
// footer it accepts is one whole Thrift struct; its column chunks lie inside the file, do not overlap, carry the
// physical type and path of the schema leaf at their position, and hold as many values as the row group has rows
// (flat columns); row groups sum to the file's rows. Walk accepts a chunk when its pages tile it exactly, sizes and
// counts stay under the caps, declared encodings are the ones used, counts sum to the footer's, and every checksum
// that is present is right.
//
// # What it does not protect against
//
// A file without page checksums can hold any other bytes of the right length; only a content hash notices that.
// Annotations that exist once in the footer (a decimal's scale in a file that writes it only once) cannot be checked
// against anything.
//
// It imports the standard library only.
package pagewalk
