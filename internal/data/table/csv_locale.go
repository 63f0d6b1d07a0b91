package table

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// Locale is a CSV file's way of writing numbers and days. The zero value stands for a decimal point, no thousands separator, and
// days such as 2024-02-29.
type Locale struct {
	Decimal   string // "" or ","
	Thousands string // "", ".", ",", "'" or " "
	Dates     string // how the file writes 2 January 2006: one of DateForms, or ""
}

// DateForms are the ways to write a day that a Locale knows, each with 2 January 2006. Those without zeros also read days with zeros.
var DateForms = []string{"02.01.2006", "2.1.2006", "02/01/2006", "2/1/2006", "01/02/2006", "1/2/2006", "02-01-2006", "2006/01/02",
	"2006.01.02", "20060102"}

// plain rewrites a number, a day or a point in time as Column.read wants it, and returns false for a text that is none
// in this locale. It uses the memory of buf, which the text may take until the next call.
func (l *Locale) plain(kind Kind, text string, buf *[]byte) (string, bool) {
	switch kind {
	case Float:
		return l.number(text, buf)
	case Date, Timestamp:
		return l.day(text)
	}
	return text, true
}

// day rewrites the day at the beginning of a text. A time may stand behind it.
func (l *Locale) day(text string) (string, bool) {
	if l.Dates == "" {
		return text, true
	}
	day, rest := text, ""
	if at := strings.IndexAny(text, " T"); at >= 0 {
		day, rest = text[:at], text[at:]
	}
	t, err := time.Parse(l.Dates, day)
	return t.Format(time.DateOnly) + rest, err == nil
}

// number rewrites a number with a decimal point and without separators. A separator stands between groups of three
// digits, before the decimal sign: a number that has one elsewhere is written otherwise than the job says, and is none.
func (l *Locale) number(text string, buf *[]byte) (string, bool) {
	point := "."
	if l.Decimal != "" {
		point = l.Decimal
	}
	whole, fraction, parted := strings.Cut(text, point)
	if point != "." && strings.Contains(fraction, ".") {
		return "", false
	}
	out := (*buf)[:0]
	if whole != "" && (whole[0] == '-' || whole[0] == '+') {
		out, whole = append(out, whole[0]), whole[1:]
	}
	digits := 0 // since the last separator
	grouped := false
	for i := 0; i < len(whole); {
		if n := l.separator(whole[i:]); n > 0 {
			if digits == 0 || digits > 3 || grouped && digits != 3 {
				return "", false
			}
			grouped, digits, i = true, 0, i+n
			continue
		}
		c := whole[i]
		if grouped && (c < '0' || c > '9') || point != "." && c == '.' {
			return "", false
		}
		out, digits, i = append(out, c), digits+1, i+1
	}
	if grouped && digits != 3 {
		return "", false
	}
	if parted {
		out = append(append(out, '.'), fraction...)
	}
	*buf = out
	return unsafe.String(unsafe.SliceData(out), len(out)), len(out) > 0
}

// separator returns the length of the thousands separator at the beginning of a text, or 0. A space may be one that
// does not break, narrow or not, and an apostrophe may be a curved one.
func (l *Locale) separator(text string) int {
	var forms []string
	switch l.Thousands {
	case "":
		return 0
	case " ":
		forms = []string{" ", "\u00a0", "\u202f"}
	case "'":
		forms = []string{"'", "\u2019"}
	default:
		forms = []string{l.Thousands}
	}
	for _, f := range forms {
		if strings.HasPrefix(text, f) {
			return len(f)
		}
	}
	return 0
}

// Encodings are the encodings of CSV files besides UTF-8, and UTF-16 with a mark, which are known by themselves. What people call latin1 is
// nearly always windows-1252, which has everything printable of latin1.
var Encodings = []string{"latin1", "iso-8859-2", "iso-8859-15", "windows-1250", "windows-1252"}

var encodings = map[string]encoding.Encoding{
	"latin1": charmap.Windows1252, "windows-1252": charmap.Windows1252, "windows-1250": charmap.Windows1250,
	"iso-8859-2": charmap.ISO8859_2, "iso-8859-15": charmap.ISO8859_15,
}

// decoded finds how the text of a file is encoded: as the job says, or in UTF-16 by its mark. It returns nil for UTF-8.
func (f *csvFile) decoded() (encoding.Encoding, error) {
	if f.Encoding != "" {
		e := encodings[f.Encoding]
		if e == nil {
			return nil, fail(CodeUsage, "", "the encoding is not known")
		}
		return e, nil
	}
	r, err := f.bytes()
	if err != nil {
		return nil, err
	}
	mark, _ := bufio.NewReaderSize(r, 16).Peek(2) // what cannot be read is told by whoever reads it
	if bytes.Equal(mark, []byte{0xff, 0xfe}) || bytes.Equal(mark, []byte{0xfe, 0xff}) {
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), nil
	}
	return nil, nil
}

// Found holds the findings of a first look at the headings of CSV files, where the caller does not say these things.
type Found struct {
	Delimiter rune   // 0 for a comma
	Encoding  string // "latin1" where a heading is not UTF-8: a guess
}

// find fills in what the caller does not say from the heading of the file, and returns the text of which the heading is the first record.
func (f *csvFile) find(found *Found, text []byte) ([]byte, error) {
	head := text
	if n := firstRecord(text); n > 0 {
		head = text[:n]
	}
	if f.decode == nil && !utf8.Valid(head) && bytes.IndexByte(head, 0) < 0 {
		f.decode, found.Encoding = charmap.Windows1252, "latin1"
		r, err := f.text()
		if err != nil {
			return nil, err
		}
		if text, err = (&splitter{r: r, size: 1, long: f.long}).next(nil); err != nil {
			return nil, err
		}
		return f.find(found, text)
	}
	if f.Delimiter != 0 {
		return text, nil
	}
	if f.Delimiter = found.Delimiter; f.Delimiter != 0 {
		return text, nil
	}
	seen := delimitersOf(head)
	if len(seen) > 1 {
		return nil, f.place(CodeUnsupported, 1, 1,
			fmt.Sprintf("the heading holds each of %q, and one of them stands between the names: "+SayDelimiter, seen))
	}
	if len(seen) == 1 && seen != "," {
		f.Delimiter, found.Delimiter = rune(seen[0]), rune(seen[0])
	}
	return text, nil
}

// delimitersOf returns the delimiters that a heading holds outside quotes, each once.
func delimitersOf(head []byte) string {
	seen, quoted := "", false
	for _, c := range head {
		switch {
		case c == '"':
			quoted = !quoted
		case !quoted && strings.IndexByte(csvDelimiters, c) >= 0 && strings.IndexByte(seen, c) < 0:
			seen += string(rune(c))
		}
	}
	return seen
}

// reader decodes a text as it is read.
func reader(e encoding.Encoding, r io.Reader) io.Reader {
	if e == nil {
		return r
	}
	return e.NewDecoder().Reader(r)
}
