// Package table reads Arrow and Parquet tables in bounded memory and writes releases.
//
// A table is a file, a directory or a glob of files with one schema. Open reads footers only; Verify checks the
// skeleton of the columns that will be read (every page header, every page checksum that is there) without decoding a
// value; Scan decodes the wanted columns on all cores, in blocks of at most 65,536 rows, and hands them over in row
// order. Rows can be picked block by block; blocks and pages without a picked row are not decoded.
//
// # How Parquet is read
//
// Package pagewalk reads footers and page headers and judges them first. Pages are then read one by one through the
// descriptor that was walked, unpacked into memory of exactly the declared size, and decoded: plain values, levels and
// dictionary indices here, the delta and byte-stream-split encodings by arrow-go v18's column reader (parquet/file).
// The library is not given the file itself: it binds columns to chunks by position, allocates by what a footer
// declares, does not look at checksums, and returns short without an error. The levels and indices are read here
// because every byte of a page must be accounted for: that is what notices a damaged header, which no checksum covers.
// Snappy pages of plain values that hold no copy are unpacked while they are read, or, where rows are picked, not at all
// (literal.go); everything unusual goes the long way. The library's pqarrow package is not used: it dies on corrupt files in
// goroutines where no caller can recover.
//
// # How Arrow is read
//
// The messages of IPC files and streams are read here through the flatbuffers runtime, and of their bodies only the
// buffers of the wanted columns: the Arrow library reads and unpacks every column of a batch, allocates what a message
// declares before it has looked whether the file is that long, and unfolds shared schema fields without counting them.
// What is read here is checked against files written by that library and by others.
//
// # What it may import
//
// Arrow's IPC writer (v15), arrow-go v18's parquet/file, the codecs, the flatbuffers runtime, and XXH3. No Arrow type appears
// in an exported signature. 64-bit little-endian machines only.
//
// # What it promises
//
// Scan delivers the rows and values of the files, all of them and in order, or an error; never a part of a page, and no
// row before all skeletons are checked. No input makes it panic, hang, or allocate beyond a few pages or record
// batches (a page is at most 2^24 values and 130 MiB). An Error carries one of a fixed set of codes and never a value.
//
// # What it does not protect against
//
// Most files carry no checksums: there, a flipped bit in a value is a different value. Content identifies what was
// read. Annotations that a footer states only once (a decimal's scale where the deprecated field is left out) are
// believed. A file that is written to during a scan is noticed by its size and time stamp only at the end; pages with
// checksums are compared when they are decoded. Errors of Scan may depend on which pages a secret sample touched; Verify
// finds most of them beforehand, for all pages. Values taken from directory names (year=2020/) are not columns.
package table
