package tables

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
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
	var sheets, links strings.Builder
	var parts []part
	for i, t := range all {
		n := strconv.Itoa(i + 1)
		types += `<Override PartName="/xl/worksheets/sheet` + n + `.xml" ContentType="` + kind + `worksheet+xml"/>`
		sheets.WriteString(`<sheet name="` + escaped(t.sheet) + `" sheetId="` + n + `" r:id="r` + n + `"/>`)
		links.WriteString(`<Relationship Id="r` + n + `" Type="` + office + `/worksheet" Target="worksheets/sheet` + n + `.xml"/>`)
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
			`</sheets></workbook>`},
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
		numbers.WriteString(`<xf numFmtId="` + id + `" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>`)
	}
	const text = `<xf numFmtId="0" fontId="%d" fillId="0" borderId="%d" xfId="0"/>`
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

// sheetXML writes the title, the columns, the rows and the notes of a table below each other.
func (t table) sheetXML() string {
	var out strings.Builder
	out.WriteString(`<sheetViews><sheetView workbookViewId="0"><pane ySplit="3" topLeftCell="A4" activePane="bottomLeft" ` +
		`state="frozen"/></sheetView></sheetViews><cols>`)
	for k := range t.columns {
		fmt.Fprintf(&out, `<col min="%d" max="%d" width="%d" customWidth="1"/>`, k+1, k+1, t.width(k))
	}
	out.WriteString(`</cols><sheetData>`)
	line := 0
	row := func(cells func()) {
		line++
		fmt.Fprintf(&out, `<row r="%d">`, line)
		cells()
		out.WriteString(`</row>`)
	}
	text := func(k, style int, s string) {
		fmt.Fprintf(&out, `<c r="%s%d" s="%d" t="inlineStr"><is><t xml:space="preserve">%s</t></is></c>`, letters(k), line, style, escaped(s))
	}
	row(func() { text(0, titleStyle, t.title) })
	row(func() {})
	row(func() {
		for k, c := range t.columns {
			text(k, headStyle, cmp.Or(c.label, c.name))
		}
	})
	for _, cells := range t.rows {
		row(func() {
			for k, cell := range cells {
				switch {
				case cell == "":
				case t.columns[k].number():
					fmt.Fprintf(&out, `<c r="%s%d" s="%d"><v>%s</v></c>`, letters(k), line, numberStyle+decimals(cell), cell)
				default:
					text(k, plainStyle, t.columns[k].words.ValueLabel(t.columns[k].name, cell))
				}
			}
		})
	}
	row(func() {})
	for _, note := range t.notes {
		row(func() { text(0, noteStyle, note) })
	}
	out.WriteString(`</sheetData>`)
	return out.String()
}

// width is the width of a column in letters.
func (t table) width(k int) int {
	most := len([]rune(t.columns[k].name))
	for _, row := range t.rows {
		most = max(most, len([]rune(row[k])))
	}
	return min(most, 60) + 3
}

// letters names a column as Excel does: A to Z, AA and so on.
func letters(k int) string {
	out := ""
	for k++; k > 0; k = (k - 1) / 26 {
		out = string(rune('A'+(k-1)%26)) + out
	}
	return out
}
