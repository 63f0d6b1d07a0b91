package tables

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The styles of cells, beside those of numbers, which follow them.
const (
	plainStyle = iota
	titleStyle
	headStyle
	noteStyle
	numberStyle // with no digit behind the point; the next have one digit more each
)

// xlsx writes a workbook by ECMA-376 (Office Open XML), with all texts in their cells.
func xlsx(all []table) ([]byte, error) {
	const main = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"`
	const office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	const packages = "http://schemas.openxmlformats.org/package/2006/"
	const kind = "application/vnd.openxmlformats-officedocument.spreadsheetml."
	types := `<Override PartName="/xl/workbook.xml" ContentType="` + kind +
		`sheet.main+xml"/><Override PartName="/xl/styles.xml" ContentType="` + kind + `styles+xml"/>`
	var sheets, links, names strings.Builder
	var parts []part
	for i, t := range all {
		n := strconv.Itoa(i + 1)
		types += `<Override PartName="/xl/worksheets/sheet` + n + `.xml" ContentType="` + kind + `worksheet+xml"/>`
		sheets.WriteString(`<sheet name="` + escaped(t.sheet) + `" sheetId="` + n + `" r:id="r` + n + `"/>`)
		links.WriteString(`<Relationship Id="r` + n + `" Type="` + office + `/worksheet" Target="worksheets/sheet` + n + `.xml"/>`)
		last, lines := t.area()
		sheet := "'" + escaped(strings.ReplaceAll(t.sheet, "'", "''")) + "'!"
		fmt.Fprintf(&names, `<definedName name="_xlnm.Print_Area" localSheetId="%d">%s$A$1:$%s$%d</definedName>`, i, sheet, letters(last), lines)
		fmt.Fprintf(&names, `<definedName name="_xlnm.Print_Titles" localSheetId="%d">%s$%d:$%d</definedName>`, i, sheet, headLine, headLine)
		parts = append(parts,
			part{name: "xl/worksheets/sheet" + n + ".xml", text: xmlHead + `<worksheet ` + main + `>` + t.sheetXML() + `</worksheet>`})
	}
	links.WriteString(`<Relationship Id="styles" Type="` + office + `/styles" Target="styles.xml"/>`)
	return archive(append([]part{
		{name: "[Content_Types].xml", text: xmlHead + `<Types xmlns="` + packages +
			`content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
			`<Default Extension="xml" ContentType="application/xml"/>` + types + `</Types>`},
		{name: "_rels/.rels", text: xmlHead + `<Relationships xmlns="` + packages + `relationships"><Relationship Id="r1" Type="` + office +
			`/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
		{name: "xl/workbook.xml", text: xmlHead + `<workbook ` + main + ` xmlns:r="` + office + `"><sheets>` + sheets.String() +
			`</sheets><definedNames>` + names.String() + `</definedNames></workbook>`},
		{name: "xl/_rels/workbook.xml.rels", text: xmlHead + `<Relationships xmlns="` + packages + `relationships">` + links.String() +
			`</Relationships>`},
		{name: "xl/styles.xml", text: xmlHead + `<styleSheet ` + main + `>` + xlsxStyles() + `</styleSheet>`},
	}, parts...))
}

// xlsxStyles are the styles of the constants above, in their order.
func xlsxStyles() string {
	var formats, numbers strings.Builder
	for d := 0; d <= scientific; d++ {
		code := "#,##0"
		switch {
		case d == scientific:
			code = "0.0E+00"
		case d > 0:
			code += "." + strings.Repeat("0", d)
		}
		id := strconv.Itoa(164 + d)
		formats.WriteString(`<numFmt numFmtId="` + id + `" formatCode="` + code + `"/>`)
		numbers.WriteString(`<xf numFmtId="` + id + `" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyAlignment="1">` +
			`<alignment vertical="top"/></xf>`)
	}
	const text = `<xf numFmtId="0" fontId="%d" fillId="0" borderId="%d" xfId="0" applyAlignment="1">` +
		`<alignment vertical="top" wrapText="1"/></xf>`
	return fmt.Sprintf(`<numFmts count="%d">`, scientific+1) + formats.String() + `</numFmts>` +
		`<fonts count="4"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="14"/><name val="Calibri"/></font><font><b/>` +
		`<sz val="11"/><name val="Calibri"/></font><font><sz val="9"/><name val="Calibri"/></font></fonts>` +
		`<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>` +
		`<borders count="2"><border><left/><right/><top/><bottom/><diagonal/></border><border><left/><right/><top/><bottom style="thin"/>` +
		`<diagonal/></border></borders>` +
		`<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>` +
		fmt.Sprintf(`<cellXfs count="%d">`, numberStyle+scientific+1) + fmt.Sprintf(text, 0, 0) + fmt.Sprintf(text, 1, 0) +
		fmt.Sprintf(text, 2, 1) + fmt.Sprintf(text, 3, 0) + numbers.String() + `</cellXfs>`
}

// headLine is the line of the names of the columns, which each printed page repeats.
const headLine = 3

// sheetXML writes the title, the columns, the rows and the notes of a table below each other. A printed page is as wide as the table.
func (t table) sheetXML() string {
	var out, merged strings.Builder
	out.WriteString(`<sheetPr><pageSetUpPr fitToPage="1"/></sheetPr>` +
		`<sheetViews><sheetView workbookViewId="0"><pane ySplit="3" topLeftCell="A4" activePane="bottomLeft" ` +
		`state="frozen"/></sheetView></sheetViews><cols>`)
	for k := range t.columns {
		fmt.Fprintf(&out, `<col min="%d" max="%d" width="%d" customWidth="1"/>`, k+1, k+1, t.width(k))
	}
	out.WriteString(`</cols><sheetData>`)
	last, _ := t.area()
	line := 0
	row := func(height float64, cells func()) {
		line++
		if fmt.Fprintf(&out, `<row r="%d"`, line); height > 0 {
			fmt.Fprintf(&out, ` ht="%g" customHeight="1"`, height)
		}
		out.WriteString(`>`)
		cells()
		out.WriteString(`</row>`)
	}
	text := func(k, style int, s string) {
		fmt.Fprintf(&out, `<c r="%s%d" s="%d" t="inlineStr"><is><t xml:space="preserve">%s</t></is></c>`, letters(k), line, style, escaped(s))
	}
	across := func(style int, points, letter float64, s string) { // of letters so much wider than those of cells
		row(points*lines(letter, s, t.across()), func() {
			text(0, style, s)
			fmt.Fprintf(&merged, `<mergeCell ref="A%d:%s%d"/>`, line, letters(last), line)
		})
	}
	across(titleStyle, 19, 1.4, t.title)
	row(0, func() {})
	row(0, func() {
		for k, c := range t.columns {
			text(k, headStyle, cmp.Or(c.label, c.name))
		}
	})
	for _, cells := range t.rows {
		height := 0.0 // that of one line
		for k, cell := range cells {
			if n := lines(1, t.shown(k, cell), float64(t.width(k))); n > 1 {
				height = math.Max(height, 15*n)
			}
		}
		row(height, func() {
			for k, cell := range cells {
				switch {
				case cell == "":
				case t.columns[k].number():
					fmt.Fprintf(&out, `<c r="%s%d" s="%d"><v>%s</v></c>`, letters(k), line, numberStyle+decimals(cell), cell)
				default:
					text(k, plainStyle, t.shown(k, cell))
				}
			}
		})
	}
	row(0, func() {})
	for _, note := range t.notes {
		across(noteStyle, 12, 0.85, note)
	}
	orientation := "portrait"
	if t.across() > 140 {
		orientation = "landscape"
	}
	fmt.Fprintf(&out, `</sheetData><mergeCells count="%d">%s</mergeCells>`+
		`<pageMargins left="0.5" right="0.5" top="0.6" bottom="0.6" header="0.3" footer="0.3"/>`+
		`<pageSetup paperSize="9" orientation="%s" fitToWidth="1" fitToHeight="0"/>`, 1+len(t.notes), merged.String(), orientation)
	return out.String()
}

// shown is a cell as readers see it.
func (t table) shown(k int, cell string) string {
	if t.columns[k].number() || cell == "" {
		return cell
	}
	return t.columns[k].words.ValueLabel(t.columns[k].name, cell)
}

// lines returns the number of lines that a text takes in a cell. A program that prints a workbook does not find out.
func lines(letter float64, s string, width float64) float64 {
	return math.Max(1, math.Ceil(letter*float64(utf8.RuneCountInString(s))/width))
}

// Widths in letters: of a column at most, of one that holds nothing, and of a title and notes at least.
const (
	mostWidth  = 40
	emptyWidth = 9
	leastWidth = 80
)

// area is the last column and line that are printed. Beside narrow tables title and notes reach over empty columns.
func (t table) area() (last, line int) {
	last = len(t.columns) - 1
	for wide := t.columnsWide(); wide < leastWidth; wide += emptyWidth {
		last++
	}
	return last, headLine + len(t.rows) + 1 + len(t.notes)
}

// across is the width of that area.
func (t table) across() float64 {
	last, _ := t.area()
	return float64(t.columnsWide() + emptyWidth*(last+1-len(t.columns)))
}

func (t table) columnsWide() (wide int) {
	for k := range t.columns {
		wide += t.width(k)
	}
	return wide
}

// width is the width of a column in letters.
func (t table) width(k int) int {
	most := utf8.RuneCountInString(cmp.Or(t.columns[k].label, t.columns[k].name))
	for _, row := range t.rows {
		most = max(most, utf8.RuneCountInString(t.shown(k, row[k])))
	}
	return min(most, mostWidth) + 3
}

// letters names a column as Excel does: A to Z, AA and so on.
func letters(k int) string {
	out := ""
	for k++; k > 0; k = (k - 1) / 26 {
		out = string(rune('A'+(k-1)%26)) + out
	}
	return out
}
