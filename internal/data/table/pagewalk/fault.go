package pagewalk

import "fmt"

// The codes of faults are those of package table.
const (
	Corrupt     = "corrupt"
	Unsupported = "unsupported"
	TooBig      = "limit"
	ReadFailed  = "unreadable"
)

// Fault is the reason for which a file is refused. Its text holds places and structural facts, never a value of a column.
type Fault struct{ Code, Detail string }

func (f *Fault) Error() string { return f.Detail }

func corrupt(format string, a ...any) error { return &Fault{Corrupt, fmt.Sprintf(format, a...)} }

func unsupported(format string, a ...any) error {
	return &Fault{Unsupported, fmt.Sprintf(format, a...)}
}

func tooBig(format string, a ...any) error { return &Fault{TooBig, fmt.Sprintf(format, a...)} }

// Limits that ordinary files stay far below. A page may hold 2^24 values (128 MiB of doubles).
const (
	maxFooterBytes = 64 << 20
	maxDepth       = 64       // of the schema
	MaxColumns     = 100_000  // with the groups of the schema
	MaxNames       = 16 << 20 // bytes of the names of all columns, each with the names of the groups around it
	maxGroups      = 1 << 18
	maxChunks      = 1 << 20 // row groups times columns
	maxPageValues  = 1 << 24
	maxPageBytes   = 130 << 20 // stored or unpacked
	maxHeaderBytes = 1 << 20
	maxPages       = 1 << 20 // of a chunk
	maxDictValues  = 1 << 22
	maxDictBytes   = 64 << 20 // stored or unpacked
)

// TooManyRows reports whether a file of this size cannot plausibly hold so many rows. A few bytes of a run-length or a
// packed encoding can declare any number of rows, so what is allowed beyond 2^26 rows grows with the file.
func TooManyRows(rows, size int64) bool {
	const free, perByte = 1 << 26, 16384
	return rows > free && (rows-free)/perByte > size
}
