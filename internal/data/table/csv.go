package table

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	"github.com/zeebo/xxh3"
	"golang.org/x/text/encoding"

	"github.com/dprelease/dprelease/internal/data/table/pagewalk"
)

// SayDelimiter asks the user to name, in the job, the character between two fields. A command that reads no job
// puts its own option there.
const SayDelimiter = "say dataset.source.delimiter"

// CSV holds the options for reading CSV files.
type CSV struct {
	Delimiter rune            // 0 means a comma
	Missing   []string        // the texts that stand for a missing value; nil means the empty one
	Encoding  string          // one of Encodings; "" means UTF-8, or UTF-16 where a mark says so
	Locale    Locale          // how numbers and days are written
	Found     *Found          // where only headings are read: what the file tells of what is not said here
	Kinds     map[string]Kind // of columns that are not text: Float, Bool, Date or Timestamp; also of the names of folders
	// Contents names the columns whose Content the caller will want; nil means all. The pass that checks the file makes
	// their digests, so that they need no pass of their own.
	Contents []string

	keep *csvKeeping // what all files of the table may keep; nil: nothing
}

// Format returns FormatCSV where something is said of CSV files, else "": each file tells.
func (c *CSV) Format() string {
	if c.Delimiter != 0 || c.Missing != nil || c.Encoding != "" || c.Locale != (Locale{}) {
		return FormatCSV
	}
	return ""
}

// csvFile is one CSV file, packed with gzip or not. Opening it checks every line and cuts the text into blocks.
type csvFile struct {
	opened
	CSV
	packed bool
	decode encoding.Encoding // nil for UTF-8
	cols   []Column
	blocks []*csvBlock

	mu     sync.Mutex
	hashed []bool // by column: whether the digests of its cells are known
}

// csvBlock is a run of whole records, at most blockRows of them.
type csvBlock struct {
	off   int64 // of its first byte, in the unpacked text
	size  int
	line  int // of its first record, from 1
	rows  int
	sum   xxh3.Uint128   // of its bytes
	cells []xxh3.Uint128 // by column: of the texts of its cells
	kept  []*vec         // by column: their values; nil where a scan reads the file again
}

const csvDelimiters = ",;\t|"

// csvKeep is the number of bytes of values that opening a table may keep, so that a scan need not read the file again. A
// scan then sees what was checked, whatever becomes of the file.
const csvKeep = 64 << 20

// csvKeeping counts the values that opening a table keeps.
type csvKeeping struct {
	arena
	full atomic.Bool // a block found no room; others need not try
}

func openCSV(ctx context.Context, base opened, o *CSV, headers bool) (*csvFile, error) {
	f := &csvFile{opened: base, CSV: *o}
	if f.Delimiter == 0 && o.Found == nil {
		f.Delimiter = ','
	}
	if f.Delimiter != 0 && !strings.ContainsRune(csvDelimiters, f.Delimiter) {
		return nil, fail(CodeUsage, "", "the delimiter must be a comma, a semicolon, a tab or a bar")
	}
	if f.Missing == nil {
		f.Missing = []string{""}
	}
	var magic [2]byte
	_, _ = f.f.ReadAt(magic[:], 0)
	f.packed = magic == [2]byte{0x1f, 0x8b}
	var err error
	if f.decode, err = f.decoded(); err != nil {
		return nil, err
	}
	r, err := f.text()
	if err != nil {
		return nil, err
	}
	s := &splitter{r: r, long: f.long}
	if headers {
		s.size = 1
	}
	first, err := s.next(nil)
	if err != nil {
		return nil, err
	}
	if headers && o.Found != nil {
		if first, err = f.find(o.Found, first); err != nil {
			return nil, err
		}
		if f.Delimiter == 0 {
			f.Delimiter = ','
		}
	}
	used, err := f.header(first)
	if err != nil || headers {
		return f, err
	}
	for i, c := range f.cols {
		f.hashed[i] = o.Contents == nil || slices.Contains(o.Contents, c.Name)
	}
	if err := f.check(ctx, s, first, used); err != nil {
		return nil, err
	}
	var rows int64
	for _, b := range f.blocks {
		rows += int64(b.rows)
	}
	if pagewalk.TooManyRows(rows, f.size) {
		return nil, fail(CodeLimit, "", "the file unpacks to far more rows than its bytes can plausibly hold")
	}
	return f, f.changed()
}

// text returns the text of the file from its beginning, unpacked, in UTF-8.
func (f *csvFile) text() (io.Reader, error) {
	r, err := f.bytes()
	return reader(f.decode, r), err
}

// inOrder reports whether a part of the text can only be had by reading what is in front of it.
func (f *csvFile) inOrder() bool { return f.packed || f.decode != nil }

// bytes returns the bytes of the file from its beginning, unpacked.
func (f *csvFile) bytes() (io.Reader, error) {
	r := io.NewSectionReader(f.f, 0, f.size)
	if !f.packed {
		return r, nil
	}
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, errPacked
	}
	return z, nil
}

var errPacked = fail(CodeCorrupt, "", "it cannot be unpacked: it was cut short, or is no gzip file")

// header reads the names of the columns. It returns how many bytes of the text it read.
func (f *csvFile) header(text []byte) (int, error) {
	bom := len(text) - len(bytes.TrimPrefix(text, []byte("\uFEFF")))
	r := f.records(text[bom:])
	names, err := r.Read()
	if err == io.EOF {
		return 0, f.place(CodeCorrupt, 1, 1, "there is no header: the first line must hold the names of the columns")
	}
	if err != nil {
		return 0, f.misplaced(err, text[bom:], 1)
	}
	line, _ := r.FieldPos(0)
	raw := text[bom : bom+int(r.InputOffset())]
	if err := f.isText(raw, 1); err != nil {
		return 0, err
	}
	if slices.ContainsFunc(names, func(n string) bool { return strings.ContainsRune(n, '\r') }) {
		return 0, f.place(CodeUnsupported, line, 1, "its lines end in carriage returns alone: save it with the line ends of Unix or Windows")
	}
	if others := strings.Trim(csvDelimiters, string(f.Delimiter)); len(names) == 1 && !bytes.ContainsRune(raw, '"') {
		if i := strings.IndexAny(names[0], others); i >= 0 {
			_, at := r.FieldPos(0)
			return 0, f.place(CodeUnsupported, line, at+i, fmt.Sprintf("the delimiter is %q, and the header holds none but %q: "+SayDelimiter+
				", or put the name in quotes", f.Delimiter, names[0][i]))
		}
	}
	if len(names) > pagewalk.MaxColumns {
		return 0, fail(CodeLimit, "", "the header has too many columns")
	}
	seen := map[string]bool{}
	for i, name := range names {
		name = strings.TrimSpace(name)
		c := Column{Name: name, Kind: String, Nullable: true, Usable: true, Text: true}
		switch k := f.Kinds[name]; {
		case name == "":
			c = unusable(name, "it has no name")
		case seen[name]:
			at, column := r.FieldPos(i)
			// which may be a value, where there is no header (P20)
			return 0, f.place(CodeCorrupt, at, column, "a column in front of this one has the same name")
		case k == Timestamp:
			c.Kind, c.Unit = k, Microsecond
		case k == Float || k == Bool || k == Date:
			c.Kind = k
		}
		seen[name] = true
		f.cols = append(f.cols, c)
	}
	f.hashed = make([]bool, len(f.cols))
	return bom + len(raw), nil
}

// records reads records. A row must have as many fields as the header.
func (f *csvFile) records(text []byte) *csv.Reader {
	r := csv.NewReader(bytes.NewReader(text))
	r.Comma, r.FieldsPerRecord, r.ReuseRecord = f.Delimiter, len(f.cols), true
	return r
}

// isText refuses text that is not UTF-8. line is the number of the first line.
func (f *csvFile) isText(text []byte, line int) error {
	at := bytes.IndexByte(text, 0)
	if at < 0 && utf8.Valid(text) {
		return nil
	}
	for i := 0; i < len(text) && (at < 0 || i < at); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			at = i
			break
		}
		i += n
	}
	line, column := position(text, at, line)
	return f.place(CodeCorrupt, line, column, "it is not UTF-8 text: save the file as UTF-8, or say dataset.source.encoding, such as latin1")
}

// position returns the line and the column of a byte, both from 1. Columns count characters.
func position(text []byte, at, line int) (int, int) {
	before := text[:at]
	start := bytes.LastIndexByte(before, '\n') + 1
	return line + bytes.Count(before, newline), utf8.RuneCount(before[start:]) + 1
}

// place makes an error at a line and a column of the file.
func (f *csvFile) place(code string, line, column int, detail string) error {
	return &Error{Code: code, File: fmt.Sprintf("%s:%d:%d", f.path, line, column), Detail: printable(detail)}
}

// long makes the error for a record that is longer than any may be. The text begins with it, at a line.
func (f *csvFile) long(text []byte, line int) error {
	if open := openQuote(text, 0); open >= 0 {
		line, column := position(text, open, line)
		return f.place(CodeLimit, line, column, "a quote that is opened here is not closed within 16 MB")
	}
	return f.place(CodeLimit, line, 1, "a row has more than 16 MB")
}

// misplaced translates an error of encoding/csv about a text whose first line has the given number.
func (f *csvFile) misplaced(err error, text []byte, line int) error {
	var wrong *csv.ParseError
	if !errors.As(err, &wrong) {
		return err
	}
	start := lineStart(text, wrong.Line)
	at, what := min(start+wrong.Column-1, len(text)), ""
	switch open := openQuote(text[:min(at+1, len(text))], lineStart(text, wrong.StartLine)); {
	case errors.Is(wrong.Err, csv.ErrFieldCount):
		what = fmt.Sprintf("the row does not have as many fields as the header; the delimiter is %q", f.Delimiter)
		at = start
	case errors.Is(wrong.Err, csv.ErrBareQuote):
		what = `a quote inside a field that does not begin with one: put the whole field in quotes, and write "" for a quote in it`
	case open >= 0:
		what, at = "a quote that is opened here is never closed", open
	case at+1 < len(text) && strings.IndexByte(csvDelimiters, text[at+1]) >= 0:
		at++
		what = fmt.Sprintf("the delimiter is %q, and %q stands behind a field in quotes: say dataset.source.delimiter", f.Delimiter, text[at])
	default:
		what = `a quote inside a field in quotes: write "" for it`
	}
	n, column := position(text, at, line)
	return f.place(CodeCorrupt, n, column, what)
}

// lineStart returns where a line begins. Lines count from 1.
func lineStart(text []byte, line int) (at int) {
	for range line - 1 {
		at += bytes.IndexByte(text[at:], '\n') + 1
	}
	return at
}

// openQuote returns the place of the quote that is open at the end of a text, or -1. at is where a record begins.
func openQuote(text []byte, at int) int {
	open := -1
	for ; at < len(text); at++ {
		switch {
		case text[at] != '"':
		case open < 0:
			open = at
		case at+1 < len(text) && text[at+1] == '"':
			at++
		default:
			open = -1
		}
	}
	return open
}

func (f *csvFile) columns() []Column { return f.cols }

func (f *csvFile) groups() []int64 {
	rows := make([]int64, len(f.blocks))
	for i, b := range f.blocks {
		rows[i] = int64(b.rows)
	}
	return rows
}

func (f *csvFile) stored(int) []extent { return nil } // opening fetches the whole file

func (f *csvFile) segments(int) []extent { return nil } // storage has the digests of the cells
