package table

import (
	"cmp"
	"context"
	"encoding/binary"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/dprelease/dprelease/internal/data/store"
	"github.com/dprelease/dprelease/internal/data/store/address"
)

// Spec names a table.
type Spec struct {
	Path    string   // a file, a folder or a pattern: see Open
	Format  string   // one of the above, or empty: told by each file's first bytes, and a CSV file by its name
	Columns []string // columns that must be there and usable; none are required when empty
	Memory  int64    // most bytes that the values of one scan may take; 0 means DefaultMemory
	CSV     CSV      // how CSV files are read
	Listed  *Listed  // where it is set, Path is a folder, and these of its files are the table
	Domains Domains  // of columns of text
	_       struct{}
}

// Domains holds texts that columns are compared with. Such a text is not copied out of a page. What a page may need does not
// depend on it (P33): whoever writes a job chooses it.
type Domains map[string]map[string]string

// NewDomain makes the domain of a column.
func NewDomain(texts []string) map[string]string {
	d := make(map[string]string, len(texts))
	for _, text := range texts {
		d[text] = text
	}
	return d
}

// DefaultMemory is the memory of a Spec that does not say.
const DefaultMemory = 1 << 30

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
	files   []*member
	columns []Column
	blocks  []Block
	rows    int64
	memory  int64
	// unordered says that another reading of the same table may have the rows in another order.
	unordered bool
	bucket    *store.Bucket   // nil for files of this machine
	kinds     map[string]Kind // what the job declares about columns that are stored as text
	fields    []Field         // of a listed table
}

// FirstRowNames reports whether the names of columns are the first line of a CSV file. In a file without a header that line is
// a row, so no message may hold such a name, unless it stands in the job (P33).
func (t *Table) FirstRowNames() bool {
	for _, m := range t.files {
		if f := m.dataFile; f != nil {
			if _, ok := f.(*csvFile); ok {
				return true
			}
		}
	}
	return false
}

// dataFile is one file of a table, whatever its format. A column is named by its place in the file.
type dataFile interface {
	name() string
	columns() []Column
	groups() []int64 // rows of each row group or record batch
	// verify checks everything about the given columns that can be checked without decoding values.
	verify(ctx context.Context, cols []int, workers int) error
	// pieces yields the pieces of a column in row order. Rows count from the file's first. verify must come before it.
	pieces(col int, r *reading) iter.Seq[*piece]
	// segments are the stretches of bytes that store a column. verify must come before it.
	segments(col int) []extent
	// stored are stretches of bytes that hold everything that verify and pieces read of a column.
	stored(col int) []extent
	announce(ctx context.Context, all []extent) error
	// storage describes how the stored bytes of a column are read. It is part of fingerprints.
	storage(col int) string
	readAt(b []byte, off int64) (int, error)
	changed() error
	close() error
}

// member is a file in its table. A column is named by its place in the table, and may stand in the name of a folder.
type member struct {
	dataFile
	at    []int     // where the file has the table's columns
	parts []keyPart // k=v in its path
}

// Open finds the files of a table, checks their footers and that they form one table. It reads no row. The page
// docs/tables.md says what a folder, a pattern and a link mean.
func Open(ctx context.Context, s Spec) (*Table, error) { return open(ctx, s, false) }

// Schema returns the columns of a table, and depends on nothing else in it. Of a CSV file it reads the header alone. A
// column that stands in the names of folders is not usable here: its kind follows from its values.
func Schema(ctx context.Context, s Spec) ([]Column, error) {
	t, err := open(ctx, s, true)
	if err != nil {
		return nil, err
	}
	columns := t.Columns()
	for i, c := range columns {
		if c.folder {
			columns[i] = unusable(c.Name, "it stands in the names of folders")
		}
	}
	return columns, t.Close()
}

func open(ctx context.Context, s Spec, headers bool) (*Table, error) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		return nil, fail(CodeUnsupported, "", "big-endian machines are not supported")
	}
	s.Path = address.Local(s.Path)
	var bucket *store.Bucket
	var found []located
	var err error
	if s.Listed != nil {
		bucket, found, err = s.Listed.locate(ctx, s.Path)
	} else if address.Is(s.Path) {
		bucket, found, err = remote(ctx, s.Path, s.Format)
		err = refuse(address.Plain(s.Path), err)
	} else {
		found, err = resolve(s.Path, s.Format)
	}
	if err != nil {
		return nil, err
	}
	t := &Table{memory: s.Memory, bucket: bucket, kinds: s.CSV.Kinds}
	if t.memory <= 0 {
		t.memory = DefaultMemory
	}
	s.CSV.keep = &csvKeeping{arena: arena{limit: min(csvKeep, t.memory/8)}}
	if s.Listed != nil {
		t.fields, s.Format = s.Listed.Fields, FormatParquet
	}
	format := ""
	for i, at := range found {
		if err = ctx.Err(); err != nil {
			break
		}
		var f dataFile
		if f, format, err = openFile(ctx, bucket, at.path, format, &s, headers); err != nil {
			break
		}
		t.files = append(t.files, &member{dataFile: f, parts: at.parts})
		if s.Listed != nil {
			if at.parts, err = s.Listed.hold(f, i); err != nil {
				break
			}
			t.files[i].parts = at.parts
		}
		if err = t.addBlocks(f); err != nil {
			break
		}
	}
	if format == FormatParquet {
		t.memory = min(t.memory, parquetMemory)
	}
	if err == nil {
		t.unify()
		_, err = t.find(s.Columns)
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// openFile opens one file of a table, from the bucket unless that is nil. first is the format of the files before it.
func openFile(ctx context.Context, bucket *store.Bucket, name, first string, s *Spec, headers bool) (f dataFile, format string, err error) {
	var base opened
	if bucket == nil {
		base, err = openLocal(name)
	} else {
		key := name
		name = bucket.Root + "/" + key
		var o *store.Object
		if o, err = bucket.Object(ctx, key); err == nil {
			base = opened{path: name, f: o, size: o.Size}
		}
	}
	if err != nil {
		return nil, "", refuse(name, err)
	}
	defer func() {
		if err != nil {
			base.f.Close()
		}
	}()
	var head [8]byte
	n, _ := base.f.ReadAt(head[:], 0)
	format = formatOf(name, s.Format, head[:n], base.size)
	want := cmp.Or(s.Format, first)
	switch {
	case base.size == 0:
		return nil, "", fail(CodeCorrupt, name, "the file is empty")
	case s.Format != "" && !slices.Contains(formats, s.Format):
		return nil, "", fail(CodeUsage, name, "the format must be one of "+strings.Join(formats, ", "))
	case format == "":
		return nil, "",
			fail(CodeCorrupt, name, "neither a parquet nor an arrow file, and its name does not end in .csv or .csv.gz; "+
				"if it is a csv file, say its dataset.source.delimiter; convert a table in any other format")
	case format != FormatCSV && s.CSV.Format() != "":
		return nil, "", fail(CodeUnsupported, name,
			"delimiter, missing, encoding, decimal, thousands and dates are for csv files, and this is "+articled(format)+" file")
	case want != "" && format != want:
		return nil, "", fail(CodeSchema, name, articled(format)+" file where "+want+" files were expected")
	}
	base.domains = s.Domains
	err = guarded(func() (err error) {
		switch format {
		case FormatParquet:
			f, err = openParquet(base)
		case FormatArrow:
			f, err = openArrow(ctx, base)
		default:
			if err = base.announce(ctx, []extent{{0, base.size}}); err == nil {
				f, err = openCSV(ctx, base, &s.CSV, headers)
			}
		}
		return err
	})
	return f, format, refuse(name, err)
}

// addBlocks adds a file's rows to the table.
func (t *Table) addBlocks(f dataFile) error {
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

// unify finds the columns of the table. A column has one name in all files, at any place. One that some file lacks, or
// describes otherwise, cannot be used.
func (t *Table) unify() {
	places := make([]map[string]int, len(t.files))
	known := map[string]bool{}
	for i, f := range t.files {
		places[i] = map[string]int{}
		for k, c := range f.columns() {
			if c.dropped {
				continue
			}
			if _, twice := places[i][c.Name]; twice {
				k = -1
			}
			places[i][c.Name] = k
			if !known[c.Name] {
				known[c.Name] = true
				t.columns = append(t.columns, c)
			}
		}
	}
	t.addFields(known)
	for k := range t.columns {
		c := &t.columns[k]
		for i, f := range t.files {
			at, ok := places[i][c.Name]
			later := f.part(c.Name) // of a listed table: the column is younger than the file
			if t.fields == nil || ok {
				later = nil
			}
			if later != nil {
				at, later.column = -1, c
			}
			f.at = append(f.at, at)
			switch {
			case !c.Usable:
			case later != nil:
				c.Nullable = true
			case !ok:
				*c = unusable(c.Name, "it is not in "+f.name())
			case at < 0:
				*c = unusable(c.Name, "its name occurs more than once")
			default:
				other := f.columns()[at]
				nullable := c.Nullable || other.Nullable
				other.Nullable = c.Nullable
				if other != *c {
					*c = unusable(c.Name, "it is not the same in "+f.name()+" as in "+t.files[0].name())
				}
				c.Nullable = nullable
			}
		}
	}
	t.addKeys(known)
}

// Rows returns the number of rows the files declare; Verify and Scan hold them to it. Under add-remove it is private.
func (t *Table) Rows() int64 { return t.rows }

// Columns returns a description of every column, usable or not.
func (t *Table) Columns() []Column { return slices.Clone(t.columns) }

// Column finds a column.
func (t *Table) Column(name string) (Column, bool) {
	at := slices.IndexFunc(t.columns, func(c Column) bool { return c.Name == name })
	if at < 0 {
		return Column{}, false
	}
	return t.columns[at], true
}

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
	if t.files = nil; t.bucket != nil {
		t.bucket.Close()
	}
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

// Usable returns the names of the usable columns in the order of the table. They identify the whole table.
func (t *Table) Usable() (names []string) {
	for _, c := range t.columns {
		if c.Usable {
			names = append(names, c.Name)
		}
	}
	return names
}
