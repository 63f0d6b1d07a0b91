package report

import (
	"regexp"
	"strconv"
)

// formula begins a text that spreadsheets compute, after any marks that Cell put before it.
var formula = regexp.MustCompile("^'*[-=+@\t\r\n＝＋－＠]")

// Cell returns a text as a CSV file for spreadsheets holds it: one that they would compute begins with an apostrophe,
// unless it is a number. Different texts stay different.
func Cell(text string) string {
	if _, err := strconv.ParseFloat(text, 64); err == nil || !formula.MatchString(text) {
		return text
	}
	return "'" + text
}
