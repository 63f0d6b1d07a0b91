package document

import "html/template"

// Section is a heading and what stands below it. A section without a title has no heading.
type Section struct {
	ID    string // its place on a page
	Title string
	Parts []Part
}

// Part is a heading, a sentence, a table or a row of figures, and what of them is set is shown in this order.
type Part struct {
	Heading string
	Label   string // what Text is about, in a few words
	Text    string // a sentence without its full stop
	Class   string // one of the constants below
	Foreign bool   // Text is English, whatever the language of the page
	Table   *Table
	Figures []Figure
}

// The classes of sentences. A page may show them in styles of their own.
const (
	Plain  = ""
	Fact   = "fact"   // a label with a short text, in a list of such
	Digest = "digest" // a fact whose text is for programs
	Quiet  = "quiet"  // an explanation
	Warn   = "warn"   // what must not be overlooked
	Rule   = "rule"   // a formula
	Item   = "item"   // one of a list
)

// Figure is a picture. A terminal shows its table alone.
type Figure struct {
	Picture template.HTML
	Caption string
	Table   *Table
}

// Table is a table of texts. A row of one cell is a heading of the rows that follow it.
type Table struct {
	Name    string // what the table holds, for those who do not see it
	Caption string
	Named   bool // the first cell of a row names it
	Foreign bool // its rows are English, whatever the language of the page
	Head    []Head
	Rows    [][]Cell
	More    string // says that rows are left out, and where they are
}

// Head is the head of a column. Number says that the column holds numbers, and Wide that it holds sentences.
type Head struct {
	Name         string
	Number, Wide bool
}

// Cell is one cell of a table.
type Cell struct {
	Text           string
	Number         bool
	Whole          bool // stands in one line
	Strong, Digest bool
	Link           string // the file that the cell names
}

// Row makes a row of plain cells.
func Row(texts ...string) []Cell {
	out := make([]Cell, len(texts))
	for i, text := range texts {
		out[i].Text = text
	}
	return out
}

// Columns makes the heads of columns of texts.
func Columns(names ...string) []Head {
	out := make([]Head, len(names))
	for i, name := range names {
		out[i].Name = name
	}
	return out
}
