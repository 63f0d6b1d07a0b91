package keys

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Shown writes a key as text that can be printed, stored in any format and told from every other key. Control characters,
// characters that change the direction of text or take no room, line separators and bytes that are no UTF-8 are written
// as escapes such as \n, \u202e and \xff; a backslash is written twice.
func Shown(key string) string {
	plain := true
	for _, r := range key {
		plain = plain && r != '\\' && r != utf8.RuneError && unicode.IsPrint(r)
	}
	if plain {
		return key
	}
	var b strings.Builder
	for i := 0; i < len(key); {
		r, n := utf8.DecodeRuneInString(key[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, key[i])
		case r == '\\':
			b.WriteString(`\\`)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return b.String()
}
