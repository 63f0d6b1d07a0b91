package prose

import "strings"

// phrases are the words of a text, with those in one piece that belong on one line.
func phrases(text string) []string {
	var out []string
	var before string
	if place, _, ok := strings.Cut(text, ": "); ok && located(place) {
		out = append(out, place+":")
		text = text[len(place)+1:]
	}
	for word := range strings.FieldsSeq(text) {
		n := len(out)
		switch {
		case n > 0 && together(out[n-1], before, word):
			out[n-1] += " " + word
		case n > 1 && before == "of" && number(word) && number(strings.TrimLeft(out[n-2], "(")): // 95 of 100
			out[n-2] += " of " + word
			out = out[:n-1]
		default:
			out = append(out, word)
		}
		before = word
	}
	return out
}

// located reports whether a text is a place in a file, name:line:column.
func located(text string) bool {
	for range 2 {
		colon := strings.LastIndexByte(text, ':')
		if colon < 1 || colon == len(text)-1 || strings.Trim(text[colon+1:], "0123456789") != "" {
			return false
		}
		text = text[:colon]
	}
	return true
}

// symbol reports that a word stands in front of the number that it is about.
func symbol(word string) bool {
	switch word {
	case "ε", "δ", "ρ", "σ", "ε0", "ε_n":
		return true
	}
	return between(word)
}

// between reports that a word stands between two numbers.
func between(word string) bool {
	switch word {
	case "=", "≤", "≥", "<", ">", "<=", ">=", "×", "·", "−":
		return true
	}
	return false
}

// together reports that a line must not end between a word and the next one. The
// phrase is all that is tied to the word already.
func together(phrase, word, next string) bool {
	bare := strings.TrimLeft(word, "(")
	switch {
	case strings.HasPrefix(next, "%"): // 12.9 %
		return number(bare)
	case number(bare) && number(next) && strings.Contains(next, ":"): // 2030-01-02 15:04:05Z
		return true
	case next == "&&": // a shell goes on after it
		return true
	case symbol(bare), between(next): // ε 0.5, σ = 2
		return true
	}
	if number(next) && (word == "add-remove" || word == "replace-one") { // a sensitivity
		return true
	}
	switch strings.TrimLeft(phrase, "(") { // a command
	case "dprelease", "dprelease ledger", "dprelease plugin":
		return true
	}
	return thousands(bare, next)
}

func number(word string) bool { return word != "" && word[0] >= '0' && word[0] <= '9' }

// thousands reports that a number goes on: 1 000 000.
func thousands(word, next string) bool {
	next = strings.TrimRight(next, ").,;:")
	return word != "" && strings.Trim(word, "0123456789") == "" && len(word) <= 3 &&
		len(next) == 3 && strings.Trim(next, "0123456789") == ""
}
