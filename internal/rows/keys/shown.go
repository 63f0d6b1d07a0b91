package keys

import (
	"strconv"
	"strings"
)

// Shown writes a key as text that can be printed, stored in any format and told from every other key. Control characters,
// characters that change the direction of text or take no room, line separators and bytes that are no UTF-8 are written
// as escapes such as \n, \u202e and \xff; a backslash is written twice.
func Shown(key string) string {
	quoted := strconv.Quote(key)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
