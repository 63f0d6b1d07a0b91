package document

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// textColumn is the column in which texts begin beside their labels.
const textColumn = 30

// WriteText writes sections for a terminal: labels before their sentences, and tables in columns.
func WriteText(w io.Writer, sections ...Section) error {
	b := bufio.NewWriter(w)
	for i, s := range sections {
		if len(s.Parts) == 0 {
			continue
		}
		indent := 0
		if s.Title != "" {
			if i > 0 {
				fmt.Fprintln(b)
			}
			fmt.Fprintln(b, OneLine(s.Title))
			indent = 2
		}
		last := ""
		for _, p := range s.Parts {
			if p.Heading != "" {
				fmt.Fprintf(b, "%*s%s\n", indent, "", OneLine(p.Heading))
				last = ""
			}
			switch {
			case p.Text == "":
			case p.Label == "":
				fmt.Fprintf(b, "%*s%s\n", indent, "", OneLine(p.Text))
			default:
				label := p.Label
				if label == last { // it stands in the line above
					label = ""
				}
				fmt.Fprintf(b, "%*s%-*s %s\n", indent, "", textColumn-indent, OneLine(label), OneLine(p.Text))
			}
			last = p.Label
			p.Table.write(b, indent)
			for _, f := range p.Figures {
				f.Table.write(b, indent)
			}
		}
	}
	return b.Flush()
}

// write writes a table in columns, with two spaces between them.
func (t *Table) write(b *bufio.Writer, indent int) {
	if t == nil {
		return
	}
	var lines [][]string
	var head []string
	for _, h := range t.Head {
		head = append(head, OneLine(h.Name))
	}
	if strings.Join(head, "") != "" {
		lines = append(lines, head)
	}
	for _, row := range t.Rows {
		var texts []string
		for _, c := range row {
			texts = append(texts, OneLine(c.Text))
		}
		lines = append(lines, texts)
	}
	var widths []int
	for _, texts := range lines {
		for i, text := range texts[:max(len(texts)-1, 0)] { // the last one is as long as it is
			widths = append(widths, make([]int, max(i+1-len(widths), 0))...)
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	if t.More != "" {
		lines = append(lines, []string{OneLine(t.More)})
	}
	for _, texts := range lines {
		line := strings.Repeat(" ", indent)
		for i, text := range texts {
			line += text
			if i < len(texts)-1 {
				line += strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)+2)
			}
		}
		fmt.Fprintln(b, strings.TrimRight(line, " "))
	}
}

// OneLine keeps a text from breaking the line that it is shown on, and lets a terminal break that line at every space.
func OneLine(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '\n', '\r', '\t', '\u00a0':
			return ' '
		}
		return r
	}, s)
}
