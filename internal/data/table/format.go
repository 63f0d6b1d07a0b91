package table

import "strings"

// Formats a Spec may name.
const (
	FormatParquet = "parquet"
	FormatArrow   = "arrow"
	FormatCSV     = "csv"
)

var formats = []string{FormatParquet, FormatArrow, FormatCSV}

// articled is the name of a format with its article.
func articled(format string) string {
	if format == FormatArrow {
		return "an " + format
	}
	return "a " + format
}

// extensions are those of the files that make a folder a table. CSV files count only in a folder without any of them:
// beside other files they more likely describe the table than belong to it.
var extensions = []string{".parquet", ".pq", ".parq", ".arrow", ".arrows", ".ipc", ".feather"}

// isCSV reports whether the name of a file is that of a CSV file.
func isCSV(path string) bool {
	path = strings.ToLower(path)
	return strings.HasSuffix(path, ".csv") || strings.HasSuffix(path, ".csv.gz")
}

// marked returns the format whose mark a file begins with, or "". CSV files have none.
func marked(head string) string {
	switch {
	case strings.HasPrefix(head, parquetMagic), strings.HasPrefix(head, "PARE"): // the latter is encrypted
		return FormatParquet
	case strings.HasPrefix(head, arrowMagic):
		return FormatArrow
	}
	return ""
}

// formatOf returns the format of a file, or "" for one that this package does not read. Where the first bytes do not
// tell, it believes what the job said; the decoder finds what is wrong.
func formatOf(name, said string, head []byte, size int64) string {
	mark := marked(string(head))
	switch {
	case mark != "":
		return mark
	case said != "":
		return said
	case isCSV(name):
		return FormatCSV
	case arrowStart(head, size):
		return FormatArrow
	}
	return ""
}
