package problem

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dprelease/dprelease/internal/data/store/address"
)

// Key appends a key to a path: Key("samples.srs", "size") is "samples.srs.size".
// A key that is not a plain word is quoted: samples["my sample"].
func Key(path, key string) string {
	if !plainWord(key) {
		return path + "[" + Shown(key) + "]"
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
	if s == "" || len(s) > MaxShown {
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

// Within reports whether a path is that of a key, or leads into it.
func Within(path, key string) bool {
	rest, ok := strings.CutPrefix(path, key)
	return ok && (rest == "" || strings.ContainsAny(rest[:1], ".["))
}

// Nearest looks in places for a path, and then for what is around it.
func Nearest(places map[string]Pos, path string) (Pos, bool) {
	for ; path != ""; path = parent(path) {
		if p, ok := places[path]; ok {
			return p, true
		}
	}
	p, ok := places[""]
	return p, ok
}

// MaxShown is the most characters of a text that a message repeats.
const MaxShown = 60

// Shown quotes a part of the text for a message: without credentials, escaped, and cut.
func Shown(s string) string {
	s = address.Hide(s)
	if r := []rune(s); len(r) > MaxShown {
		s = string(r[:MaxShown]) + "…"
	}
	return strconv.Quote(strings.ToValidUTF8(s, "\uFFFD"))
}

// Shorten keeps both ends of a text of more than n bytes: a path a thousand levels
// deep is recognised by them.
func Shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	head, tail := s[:n/2], s[len(s)-n/2:]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return strings.ToValidUTF8(head, "") + "…" + tail
}

// NearestWord returns the known word that the user most likely meant, or "" where none
// is near. A word is near if it differs only in case, "_" and "-", or by at most one
// edit for each three characters. Of equally near words the first in the alphabet wins.
func NearestWord(word string, known []string) string {
	plain := normal(word)
	best, distance := "", len(word)
	for _, k := range known {
		if normal(k) == plain {
			return k
		}
		if d := editDistance(strings.ToLower(word), strings.ToLower(k)); d < distance || d == distance && k < best {
			best, distance = k, d
		}
	}
	if distance > (max(len(word), len(best))+2)/3 {
		return ""
	}
	return best
}

func normal(s string) string {
	if len(s) > MaxShown {
		return s
	}
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return r
	}, s))
}

// DidYouMean is a hint with the nearest known word, or "".
func DidYouMean(word string, known []string) string {
	if best := NearestWord(word, known); best != "" {
		return "did you mean " + best + "?"
	}
	return ""
}

// editDistance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b.
func editDistance(a, b string) int {
	if len(a) > MaxShown || len(b) > MaxShown {
		return max(len(a), len(b))
	}
	before, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, prev, row = prev, row, before
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
