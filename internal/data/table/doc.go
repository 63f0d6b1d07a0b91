// Package table reads Arrow, Parquet and CSV tables in bounded memory and writes releases.
//
// A table is one file, a folder or a pattern; docs/tables.md says what each means. Open reads footers, and CSV files as a
// whole. Verify checks the skeleton of the columns that will be read without decoding a value, and Examine what else can be
// wrong with them. Scan decodes the wanted
// columns on all cores and hands them over in row order, in blocks of at most 65,536 rows, of which the caller may pick
// some. A page without a picked row is not decoded.
//
// # The type of a column
//
// A column arrives as Values: one slice of float64, int64 or dictionary codes, and a bitmap of the rows that are there.
// Kind, Scale, Unit and Unsigned say what an int64 means (a date, a decimal, a boolean …). Everything behind this
// package works on these three slices, whatever the file's format.
//
// # One path
//
// A piece is a Parquet page, 65,536 rows of a column of an Arrow batch, or a column of a block of a CSV file. A worker
// reads its stored bytes, hashes them for Content, compares the checksum, unpacks the bytes, and decodes them into a
// slice. Rows are picked from decoded pieces.
//
// Package pagewalk judges Parquet footers and page headers first. Libraries unpack pages (codec.go). Plain values, levels
// and dictionary indices (hybrid.go), and the delta and byte-stream-split encodings (delta.go) are read here. Each must use
// up every byte of its page: no checksum covers a page header, and this is how a damaged one is noticed.
//
// A text that begins as the one before may stand for far more bytes than its page holds. Verify counts the texts of such
// pages before one is made; a text is made in the memory of the one before; and one that is the same costs nothing.
//
// The messages of Arrow files are read here through the flatbuffers runtime, because Arrow's own reader loads and
// unpacks all columns of a batch at once, allocates what a message declares before it has looked whether the file is
// that long, and unfolds shared fields of a schema without counting them. docs/decisions/files.md
// has the figures.
//
// A CSV file has no footer. Opening it is one pass over the text, which cuts it into blocks of whole records, checks
// every block with encoding/csv on a core of its own, counts the rows, and makes the digests of the cells. A piece is a
// column of a block; the block is parsed once for all columns. A block without a quote is cut here, in the way of
// encoding/csv, which costs a third.
//
// Rows of a database are written to a nameless Arrow file first (Spool), which is read like any other. Their order
// means nothing, so Content identifies them whatever their order.
//
// # What it may import
//
// Package arrow, which writes, Arrow's bitmaps (v15), the codecs, the flatbuffers runtime, and XXH3. 64-bit little-endian
// machines only.
//
// # What it promises
//
// Scan delivers the rows and values of the files, all of them and in order, or an error; never a part of a page, and no
// row before all skeletons are checked. No input makes it panic or hang. The values of one Scan never take more than
// the memory of its Spec; pieces are counted before they are allocated. An Error carries one of a fixed set of codes
// and never a value.
//
// # What it does not protect against
//
// Most files carry no checksums: a flipped bit in a value gives another value there. Content identifies what was
// read. The package believes annotations that a file states only once (a decimal's scale where the deprecated field is
// left out, the schema of an Arrow stream). It notices a file that is written to during a scan by its size and time stamp,
// at the end; it compares checksums of pages when it decodes them. Errors of Scan may depend on which pages a secret
// sample touched; Examine finds all but one kind beforehand, for all pages.
package table
