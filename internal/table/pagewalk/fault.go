package pagewalk

import "fmt"

// Class says what kind of refusal a Fault is.
type Class int

// The classes of faults. The zero value is invalid.
const (
	_           Class = iota
	Corrupt           // the bytes contradict the format or each other
	Unsupported       // valid perhaps, but not something that is read here
	TooBig            // beyond a cap that keeps memory and time bounded
	ReadFailed        // the file could not be read at that place
)

// Fault is why a file is refused. Its text holds places and structural facts, never a value of a column.
type Fault struct {
	Class  Class
	Detail string
}

func (f *Fault) Error() string { return f.Detail }

func corrupt(format string, a ...any) error {
	return &Fault{Corrupt, fmt.Sprintf(format, a...)}
}

func unsupported(format string, a ...any) error {
	return &Fault{Unsupported, fmt.Sprintf(format, a...)}
}

func tooBig(format string, a ...any) error {
	return &Fault{TooBig, fmt.Sprintf(format, a...)}
}

// Limits are the caps under which a file is read.
type Limits struct {
	FooterBytes int64 // length of the footer
	Depth       int   // nesting of the schema
	Elements    int   // schema elements, groups included
	Groups      int   // row groups of one file
	Chunks      int   // row groups times columns of one file
	PageValues  int64 // values of one page
	PageBytes   int64 // bytes of one page, stored or unpacked
	HeaderBytes int   // bytes of one page header
	Pages       int   // pages of one chunk
	DictValues  int64 // values of one dictionary
	DictBytes   int64 // bytes of one dictionary, stored or unpacked
	FreeRows    int64 // rows any file may declare
	RowsPerByte int64 // further rows for each byte of the file
}

// DefaultLimits holds what ordinary files stay far below. A page may hold 2^24 values (128 MiB of doubles).
func DefaultLimits() Limits {
	return Limits{
		FooterBytes: 64 << 20, Depth: 64, Elements: 100_000, Groups: 1 << 18, Chunks: 1 << 20,
		PageValues: 1 << 24, PageBytes: 130 << 20, HeaderBytes: 1 << 20, Pages: 1 << 20,
		DictValues: 1 << 22, DictBytes: 64 << 20,
		FreeRows: 1 << 26, RowsPerByte: 16384,
	}
}
