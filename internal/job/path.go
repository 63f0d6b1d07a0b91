package job

import (
	"strconv"
	"strings"
)

// Key appends a key to a path: Key("samples.srs", "size") is "samples.srs.size".
// A key that is not a plain word is quoted: samples["my sample"].
func Key(path, key string) string {
	if !plainWord(key) {
		return path + "[" + shown(key) + "]"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// Item appends the index of a list element to a path: Item("releases", 0) is
// "releases[0]".
func Item(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

func plainWord(s string) bool {
	if s == "" || len(s) > maxShown {
		return false
	}
	for i, r := range s {
		switch {
		case r == '_', 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z':
		case i > 0 && (r == '-' || '0' <= r && r <= '9'):
		default:
			return false
		}
	}
	return true
}

// parent cuts the last element off a path.
func parent(path string) string {
	inQuote := false
	last := -1
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case inQuote && c == '\\':
			i++
		case c == '"':
			inQuote = !inQuote
		case !inQuote && (c == '.' || c == '['):
			last = i
		}
	}
	if last < 0 {
		return ""
	}
	return path[:last]
}

// maxShown is how much of a text from the job file a message repeats.
const maxShown = 60

// shown quotes a text of the job file for a message: escaped, and cut.
func shown(s string) string {
	if r := []rune(s); len(r) > maxShown {
		s = string(r[:maxShown]) + "…"
	}
	return strconv.Quote(strings.ToValidUTF8(s, "\uFFFD"))
}

// shownPath cuts a path that is too long to be read.
func shownPath(path string) string {
	const most = 3 * maxShown
	if len(path) <= most {
		return path
	}
	return strings.ToValidUTF8(path[:most], "") + "…"
}
