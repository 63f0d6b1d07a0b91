package table

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"math/bits"
	"strings"
	"unsafe"
)

// rows calls visit for the fields of each row, which visit may not keep. It cuts what is well formed as encoding/csv would, and
// leaves the rest of the text to encoding/csv from the first record on that is not.
func (f *csvFile) rows(text []byte, visit func(fields []string) error) error {
	c := csvCutter{all: unsafe.String(unsafe.SliceData(text), len(text)), fields: make([]string, len(f.cols)), visit: visit, end: -1}
	delimiter, line, quotes := inEach(byte(f.Delimiter)), inEach('\n'), inEach('"')
	for at := 0; at < len(text); {
		next := at + 8
		for found := marks(wordAt(text, at), delimiter, line, quotes); found != 0; found &= found - 1 {
			place := at + bits.TrailingZeros64(found)/8
			ok, err := true, error(nil)
			switch text[place] {
			case '\n':
				ok, err = c.row(place)
			case '"':
				if ok = c.quoted(place); ok {
					next, found = c.end, 1
				}
			default:
				ok = c.field(place)
			}
			if err != nil {
				return err
			}
			if !ok {
				return f.rest(text, c.record, visit)
			}
		}
		at = next
	}
	if c.record < len(text) {
		if ok, err := c.row(len(text)); ok || err != nil {
			return err
		}
		return f.rest(text, c.record, visit)
	}
	return nil
}

// inEach repeats a byte eight times.
func inEach(b byte) uint64 { return uint64(b) * 0x0101010101010101 }

// marks sets the highest bit of each byte of a word that is the same in one of the others, and no other bit.
func marks(word, a, b, c uint64) uint64 {
	const low = 0x7f7f7f7f7f7f7f7f
	a, b, c = a^word, b^word, c^word
	return ^((a&low+low|a)&(b&low+low|b)&(c&low+low|c) | low)
}

// rest leaves a text to encoding/csv from the beginning of a record on.
func (f *csvFile) rest(text []byte, record int, visit func(fields []string) error) error {
	r := f.records(text[record:])
	for {
		fields, err := r.Read()
		if err == nil {
			err = visit(fields)
		}
		if err == io.EOF {
			return nil
		}
		if wrong := new(csv.ParseError); errors.As(err, &wrong) {
			before := bytes.Count(text[:record], newline)
			wrong.StartLine, wrong.Line = wrong.StartLine+before, wrong.Line+before
		}
		if err != nil {
			return err
		}
	}
}

// csvCutter cuts the fields of a text at the places of delimiters, quotes and line ends. Its methods return false for
// what is not well formed.
type csvCutter struct {
	all    string
	record int // where the record begins,
	start  int // and its field,
	end    int // and where the field ended if it stands in quotes, else -1
	fields []string
	n      int // fields of the record so far
	visit  func(fields []string) error
}

// field ends a field in front of a place.
func (c *csvCutter) field(place int) bool {
	if c.n == len(c.fields) {
		return false
	}
	if c.end < 0 {
		c.fields[c.n] = c.all[c.start:place]
	} else if c.end != place {
		return false
	}
	c.n, c.start, c.end = c.n+1, place+1, -1
	return true
}

// row ends a row in front of a place. It passes over an empty line.
func (c *csvCutter) row(place int) (bool, error) {
	end := place
	if end > c.record && c.all[end-1] == '\r' {
		end--
	}
	if end > c.record {
		if !c.field(end) || c.n != len(c.fields) {
			return false, nil
		}
		if err := c.visit(c.fields); err != nil {
			return true, err
		}
	}
	c.record, c.start, c.end, c.n = place+1, place+1, -1, 0
	return true, nil
}

// quoted reads the field that begins with a quote.
func (c *csvCutter) quoted(quote int) bool {
	if quote != c.start || c.n == len(c.fields) {
		return false
	}
	twice := false
	for end := quote + 1; ; end += 2 {
		n := strings.IndexByte(c.all[end:], '"')
		if n < 0 {
			return false
		}
		if end += n; end+1 == len(c.all) || c.all[end+1] != '"' {
			c.fields[c.n], c.end = c.all[quote+1:end], end+1
			break
		}
		twice = true
	}
	if field := &c.fields[c.n]; twice || strings.IndexByte(*field, '\r') >= 0 {
		*field = strings.ReplaceAll(strings.ReplaceAll(*field, `""`, `"`), "\r\n", "\n")
	}
	return true
}
