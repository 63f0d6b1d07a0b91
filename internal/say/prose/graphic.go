package prose

import (
	"strings"
	"unicode"
)

// Graphic takes out what a terminal would obey and not show: names, notes and values
// may be those of a third party's plugin.
func Graphic(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsGraphic(r) {
			return r
		}
		return '?'
	}, text)
}
