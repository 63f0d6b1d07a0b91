package table

import (
	"context"
	"slices"
	"strings"
)

// Formats a Spec may name.
const (
	FormatParquet = "parquet"
	FormatArrow   = "arrow"
	FormatCSV     = "csv"
)

// format is a format that the bytes of a file tell.
type format struct {
	name, article string
	magic         []string // with which its files begin
	extensions    []string // of the files that make a folder a table
	open          func(ctx context.Context, base opened) (dataFile, error)
	// could, where it is not nil, reports whether a file of this size that begins with no magic may
	// still be one.
	could func(head []byte, size int64) bool
}

// told lists the formats that the bytes of a file tell. A file without their marks is a CSV file
// where its name, or the job, says so.
func told() []format {
	return []format{
		{
			name: FormatParquet, article: "a ", magic: []string{"PAR1", "PARE"}, extensions: []string{".parquet", ".pq", ".parq"},
			open: func(_ context.Context, base opened) (dataFile, error) { return openParquet(base) },
		},
		{
			name: FormatArrow, article: "an ", magic: []string{arrowMagic}, extensions: []string{".arrow", ".arrows", ".ipc", ".feather"},
			open:  func(ctx context.Context, base opened) (dataFile, error) { return openArrow(ctx, base) },
			could: arrowStart,
		},
	}
}

func formatCalled(name string) (format, bool) {
	all := told()
	at := slices.IndexFunc(all, func(f format) bool { return f.name == name })
	if at < 0 {
		return format{}, false
	}
	return all[at], true
}

// formatNames are the formats that a Spec may name.
func formatNames() (names []string) {
	for _, f := range told() {
		names = append(names, f.name)
	}
	return append(names, FormatCSV)
}

// articled is the name of a format with its article.
func articled(name string) string {
	if f, ok := formatCalled(name); ok {
		return f.article + name
	}
	return "a " + name
}

// toldArticled are the formats that the bytes of a file tell, with their articles.
func toldArticled() (names []string) {
	for _, f := range told() {
		names = append(names, articled(f.name))
	}
	return names
}

// extensions are those of the files that make a folder a table. CSV files count only in a folder without any of them:
// beside other files they more likely describe the table than belong to it.
var extensions = func() (out []string) {
	for _, f := range told() {
		out = append(out, f.extensions...)
	}
	return out
}()

// isCSV reports whether the name of a file is that of a CSV file.
func isCSV(path string) bool {
	path = strings.ToLower(path)
	return strings.HasSuffix(path, ".csv") || strings.HasSuffix(path, ".csv.gz")
}

// marked returns the format whose mark a file begins with, or "".
func marked(head string) string {
	for _, f := range told() {
		if slices.ContainsFunc(f.magic, func(m string) bool { return strings.HasPrefix(head, m) }) {
			return f.name
		}
	}
	return ""
}

// isTable reports whether a file begins with the mark of a format.
func isTable(head string) bool { return marked(head) != "" }

// formatOf returns the format of a file, or "" for one that this package does not read. Where the first bytes do not
// tell, it believes what the job said; the decoder finds what is wrong.
func formatOf(name, said string, head []byte, size int64) string {
	if m := marked(string(head)); m != "" {
		return m
	}
	if said != "" {
		return said
	}
	if isCSV(name) {
		return FormatCSV
	}
	for _, f := range told() {
		if f.could != nil && f.could(head, size) {
			return f.name
		}
	}
	return ""
}
