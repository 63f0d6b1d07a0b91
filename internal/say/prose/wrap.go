package prose

import (
	"strings"
	"unicode"

	east "golang.org/x/text/width"
)

const (
	// Narrowest and Widest are the columns that text is laid out for: on a narrower
	// terminal it runs over, on a wider one long lines would be hard to read.
	Narrowest, Widest = 40, 100

	// room is the least that words are given beside a label, and narrow in the last
	// column of a table.
	room, narrow = 32, 24
	// deepest is the last column in which a label may begin: one further right belongs to a table.
	deepest = 8
	// step is the indentation of the later lines of a text beside its first.
	step = 2
)

// Columns returns the width that text is laid out for on a terminal of that many columns.
func Columns(terminal int) int { return min(max(terminal, Narrowest), Widest) }

// Wrap lays out text for a number of columns.
func Wrap(text string, columns int) string {
	w := wrapper{columns: columns}
	for line := range strings.Lines(text) {
		body, end := strings.CutSuffix(line, "\n")
		w.line(strings.TrimRight(body, " ")) // spaces beyond the edge would be a line of their own
		if end {
			w.out.WriteByte('\n')
		}
	}
	return w.out.String()
}

type wrapper struct {
	columns int
	out     strings.Builder

	// from is the column of the texts that had to move, to where they stand now.
	from, to int
}

func (w *wrapper) line(line string) {
	cells := split(line)
	if len(cells) == 0 || strings.Contains(line, "\t") { // tabs are columns, too
		w.out.WriteString(line)
		return
	}
	first, last := cells[0], cells[len(cells)-1]
	if len(cells) > 1 {
		w.from = 0
	}
	label := len(cells) == 2 && first.at <= deepest
	moved := len(cells) == 1 && first.at == w.from && w.from > 0
	switch {
	case moved:
		w.words(strings.Repeat(" ", w.to), w.to, last.text)
	case last.at+width(last.text) <= w.columns:
		w.out.WriteString(line)
	case len(cells) == 1:
		w.words(strings.Repeat(" ", first.at), first.at, first.text)
	case label && last.at+room > w.columns && strings.Contains(last.text, " "):
		w.from, w.to = last.at, first.at+2*step
		w.words(line[:first.start], first.at, first.text)
		w.out.WriteByte('\n')
		w.words(strings.Repeat(" ", w.to), w.to, last.text)
	case label:
		w.words(line[:last.start], last.at, last.text)
	case last.at+narrow <= w.columns && strings.Count(last.text, " ") >= 3:
		w.words(line[:last.start], last.at-step, last.text)
	default: // a row of a table
		w.out.WriteString(line)
	}
}

// words writes text behind what stands in front of it, and its later lines a step
// further than at.
func (w *wrapper) words(front string, at int, text string) {
	w.out.WriteString(front)
	indent := "\n" + strings.Repeat(" ", at+step)
	column := width(front)
	for i, word := range phrases(text) {
		n := width(word)
		switch {
		case i == 0:
		case column+1+n > w.columns:
			w.out.WriteString(indent)
			column = at + step
		default:
			w.out.WriteByte(' ')
			column++
		}
		w.out.WriteString(word)
		column += n
	}
}

// width returns the number of columns that a text takes.
func width(s string) (n int) {
	for _, r := range s {
		switch k := east.LookupRune(r).Kind(); {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf): // drawn upon the one before, or not at all
		case k == east.EastAsianWide || k == east.EastAsianFullwidth:
			n += 2
		case !unicode.IsControl(r):
			n++
		}
	}
	return n
}

// cell is a column of a line: what it says, the byte of the line at which it begins,
// and the column of the terminal.
type cell struct {
	text      string
	start, at int
}

// split finds the columns of a line without spaces at its end: two or more spaces
// separate them.
func split(line string) []cell {
	var out []cell
	for at := 0; at < len(line); {
		if line[at] == ' ' {
			at++
			continue
		}
		end := len(line)
		if gap := strings.Index(line[at:], "  "); gap >= 0 {
			end = at + gap
		}
		out = append(out, cell{line[at:end], at, width(line[:at])})
		at = end
	}
	return out
}

// Fill lays paragraphs out anew: lines that follow each other are one text. What is
// indented stays as it is.
func Fill(text string, columns int) string {
	w := wrapper{columns: columns}
	for i, paragraph := range strings.Split(text, "\n\n") {
		if i > 0 {
			w.out.WriteString("\n\n")
		}
		body := strings.TrimRight(paragraph, "\n")
		if strings.HasPrefix(body, " ") || strings.Contains(body, "\n ") || strings.Contains(body, "\t") {
			w.out.WriteString(paragraph)
			continue
		}
		w.words("", -step, body)
		w.out.WriteString(paragraph[len(body):])
	}
	return w.out.String()
}
