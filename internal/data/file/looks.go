package file

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// looked is the number of bytes of a file that Looks reads.
const looked = 64 << 10

// UTF16 is the answer of Looks for a text in an encoding that some editors write.
const UTF16 = "text in UTF-16"

// magic are the first bytes of files that say what they are.
var magic = []struct{ bytes, kind string }{
	{"PAR1", "a Parquet file"}, {"ARROW1", "an Arrow file"}, {"\x1f\x8b", "a gzip file"},
	{"PK\x03\x04", "a zip archive or a spreadsheet"}, {"SQLite format 3\x00", "an SQLite database"},
	{"\x28\xb5\x2f\xfd", "a zstd file"}, {"Obj\x01", "an Avro file"}, {"\x7fELF", "a program"}, {"%PDF", "a PDF file"},
	{"\xff\xfe", UTF16}, {"\xfe\xff", UTF16},
}

// Looks describes what a file looks like from its first bytes, and quotes none of them:
// they may be somebody's row. // P33
func Looks(text []byte) string {
	for _, m := range magic {
		if bytes.HasPrefix(text, []byte(m.bytes)) {
			return m.kind
		}
	}
	cut := len(text) > looked
	if cut {
		text = text[:looked]
		for !utf8.Valid(text) && len(text) > looked-utf8.UTFMax {
			text = text[:len(text)-1]
		}
	}
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\uFEFF")))
	switch {
	case len(text) == 0:
		return "an empty file"
	case !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0:
		return "binary data"
	case text[0] == '{' || text[0] == '[':
		return "JSON of another kind"
	case text[0] == '<':
		return "HTML or XML"
	case fields(text):
		return "a CSV file"
	}
	return "text of another kind"
}

// fields reports whether the first lines have the same delimiter, as often as each other.
func fields(text []byte) bool {
	lines := strings.SplitN(string(text), "\n", 4)
	lines = lines[:min(len(lines), 3)]
	for _, delimiter := range []string{";", ",", "\t", "|"} {
		n := strings.Count(lines[0], delimiter)
		same := n > 0
		for _, line := range lines {
			same = same && strings.Count(line, delimiter) == n
		}
		if same {
			return true
		}
	}
	return false
}
