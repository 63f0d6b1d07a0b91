package table

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"slices"

	"github.com/dprelease/dprelease/internal/table/pagewalk"
)

// Formats a Spec may name.
const (
	FormatParquet = "parquet"
	FormatArrow   = "arrow"
)

// Spec names a table.
type Spec struct {
	Path    string   // a file, a directory (searched below, hidden files left out) or a glob pattern
	Format  string   // FormatParquet, FormatArrow, or empty: told by each file's first bytes
	Columns []string // columns that must be there and usable; none are required when empty
	// MaxMemory bounds the bytes of decoded data held at once, as far as single pages allow; 0 means 32 MiB.
	MaxMemory int64
	_         struct{}
}

const defaultMaxMemory = 32 << 20

// blockRows is the most rows a Block has: small enough that a batch of a few columns stays in a core's cache.
const blockRows = 1 << 16

// Block is a run of rows of one row group or record batch: the unit in which rows are picked and delivered.
type Block struct {
	File, Group int
	First       int64 // its first row in the table
	Rows        int
}

// Table is an opened table. Its methods may be called from several goroutines; Close must come last.
type Table struct {
	files   []dataFile
	columns []Column
	blocks  []Block
	rows    int64
	budget  int64
}

// dataFile is one file of a table, whatever its format.
type dataFile interface {
	name() string
	columns() []Column
	groups() []int64 // rows of each row group or record batch
	// verify checks everything about the given columns that can be checked without decoding values.
	verify(ctx context.Context, cols []int, workers int) error
	// sources returns the pieces in which the columns are decoded, in row order; base is the table's row at which the
	// file begins.
	// What is read goes by content, unless that is nil.
	sources(cols []int, base int64, content *Content) []source
	// storage says how the stored bytes of a column are to be read; it comes after verify.
	storage(col int) string
	readAt(b []byte, off int64) (int, error)
	changed() error
	close() error
}

// Open finds the files, checks their footers and that they form one table. It reads no row.
func Open(ctx context.Context, s Spec) (*Table, error) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		return nil, fail(CodeUnsupported, "", "big-endian machines are not supported")
	}
	names, err := resolve(s.Path)
	if err != nil {
		return nil, err
	}
	t := &Table{budget: s.MaxMemory}
	if t.budget <= 0 {
		t.budget = defaultMaxMemory
	}
	format := s.Format
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			t.Close()
			return nil, err
		}
		f, found, err := openFile(ctx, name, format)
		if err == nil {
			t.files = append(t.files, f)
			format = found
			err = t.join(f)
		}
		if err != nil {
			t.Close()
			return nil, err
		}
	}
	t.markDuplicates()
	if _, err := t.find(s.Columns); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// openFile opens one file of the wanted format, or of the format its first bytes tell when none is wanted.
func openFile(ctx context.Context, name, want string) (f dataFile, format string, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, "", refuse(name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, "", fail(CodeUnsupported, name, "not a regular file")
	}
	h, err := os.Open(name)
	if err != nil {
		return nil, "", refuse(name, err)
	}
	defer func() {
		if err != nil {
			h.Close()
		}
	}()
	if info, err = h.Stat(); err != nil {
		return nil, "", fail(CodeUnreadable, name, "cannot be examined")
	}
	if !info.Mode().IsRegular() {
		return nil, "", fail(CodeUnsupported, name, "not a regular file")
	}
	base := opened{path: name, f: h, size: info.Size(), modified: info.ModTime()}
	var head [8]byte
	n, _ := h.ReadAt(head[:], 0)
	format = FormatArrow
	if n >= 4 && (string(head[:4]) == "PAR1" || string(head[:4]) == "PARE") {
		format = FormatParquet
	}
	switch {
	case base.size == 0:
		return nil, "", fail(CodeCorrupt, name, "the file is empty")
	case want != "" && want != FormatParquet && want != FormatArrow:
		return nil, "", fail(CodeUsage, name, "the format must be parquet or arrow")
	case want == FormatParquet && string(head[:6]) == arrowMagic:
		return nil, "", fail(CodeSchema, name, "an arrow file where parquet files were expected")
	case want == FormatParquet, want == "" && format == FormatParquet:
		err = guarded(func() (err error) { f, err = openParquet(base, pagewalk.DefaultLimits()); return err })
		return f, FormatParquet, refuse(name, err)
	case format == FormatParquet:
		return nil, "", fail(CodeSchema, name, "a parquet file where arrow files were expected")
	case want == "" && !arrowStart(head[:n], base.size):
		return nil, "", fail(CodeCorrupt, name, "neither a parquet nor an arrow file; a table in another format, such as csv, must be converted first")
	}
	err = guarded(func() (err error) { f, err = openArrow(ctx, base); return err })
	return f, FormatArrow, refuse(name, err)
}

// join adds a file's rows to the table, after comparing its columns.
func (t *Table) join(f dataFile) error {
	cols := f.columns()
	if len(t.files) == 1 {
		t.columns = slices.Clone(cols)
	} else if err := t.sameColumns(f.name(), cols); err != nil {
		return err
	}
	for g, rows := range f.groups() {
		if rows > math.MaxInt64-t.rows {
			return fail(CodeLimit, f.name(), "the table has too many rows")
		}
		for first := int64(0); first < rows; first += blockRows {
			n := int(min(blockRows, rows-first))
			t.blocks = append(t.blocks, Block{File: len(t.files) - 1, Group: g, First: t.rows + first, Rows: n})
		}
		t.rows += rows
	}
	return nil
}

func (t *Table) sameColumns(file string, cols []Column) error {
	if len(cols) != len(t.columns) {
		return fail(CodeSchema, file, "its columns are not those of "+t.files[0].name())
	}
	for i, c := range cols {
		have := &t.columns[i]
		nullable := have.Nullable || c.Nullable
		same := *have
		same.Nullable, c.Nullable = false, false
		if c != same {
			return fail(CodeSchema, file, "column "+have.Name+" is not as in "+t.files[0].name())
		}
		have.Nullable = nullable
	}
	return nil
}

func (t *Table) markDuplicates() {
	count := make(map[string]int, len(t.columns))
	for _, c := range t.columns {
		count[c.Name]++
	}
	for i, c := range t.columns {
		if count[c.Name] > 1 {
			t.columns[i] = unusable(c.Name, "its name occurs more than once")
		}
	}
}

// Rows returns the number of rows the files declare; Verify and Scan hold them to it. Under add-remove it is private.
func (t *Table) Rows() int64 { return t.rows }

// Columns returns a description of every column, usable or not.
func (t *Table) Columns() []Column { return slices.Clone(t.columns) }

// Blocks returns the table's blocks in row order.
func (t *Table) Blocks() []Block { return slices.Clone(t.blocks) }

// Files returns the paths of the table's files in row order.
func (t *Table) Files() []string {
	names := make([]string, len(t.files))
	for i, f := range t.files {
		names[i] = f.name()
	}
	return names
}

// Close closes the files.
func (t *Table) Close() error {
	var first error
	for _, f := range t.files {
		if err := f.close(); err != nil && first == nil {
			first = fail(CodeUnreadable, f.name(), "cannot be closed")
		}
	}
	t.files = nil
	return first
}

// find returns the positions of the named columns.
func (t *Table) find(names []string) ([]int, error) {
	out := make([]int, 0, len(names))
	for _, name := range names {
		i := slices.IndexFunc(t.columns, func(c Column) bool { return c.Name == name })
		switch {
		case i < 0:
			return nil, fail(CodeColumn, "", "no column "+name+" in the table")
		case !t.columns[i].Usable:
			return nil, fail(CodeColumn, "", "column "+name+" cannot be used: "+t.columns[i].Reason)
		}
		out = append(out, i)
	}
	return out, nil
}

// Usable returns the names of the usable columns, in the order of the table.
func (t *Table) Usable() []string {
	var names []string
	for _, c := range t.columns {
		if c.Usable {
			names = append(names, c.Name)
		}
	}
	return names
}
