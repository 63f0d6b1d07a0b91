package tables

import (
	"fmt"
	"strings"
)

// The namespaces of OpenDocument that a workbook uses.
const odsNames = `xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" ` +
	`xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" ` +
	`xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0" xmlns:number="urn:oasis:names:tc:opendocument:xmlns:datastyle:1.0" office:version="1.3"`

// ods writes a workbook by ISO/IEC 26300 (OpenDocument).
func (b *book) ods(all []table) ([]byte, error) {
	const kind = "application/vnd.oasis.opendocument.spreadsheet"
	var content strings.Builder
	content.WriteString(xmlHead + `<office:document-content ` + odsNames + `><office:automatic-styles>` + odsStyles() + `</office:automatic-styles><office:body><office:spreadsheet>`)
	for _, t := range all {
		t.odsSheet(&content)
	}
	content.WriteString(`</office:spreadsheet></office:body></office:document-content>`)
	return archive([]part{
		{name: "mimetype", text: kind, stored: true},
		{name: "META-INF/manifest.xml", text: xmlHead + `<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" manifest:version="1.3">` +
			`<manifest:file-entry manifest:full-path="/" manifest:media-type="` + kind + `"/><manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>` +
			`<manifest:file-entry manifest:full-path="meta.xml" manifest:media-type="text/xml"/></manifest:manifest>`},
		{name: "meta.xml", text: xmlHead + `<office:document-meta ` + odsNames + ` xmlns:dc="http://purl.org/dc/elements/1.1/"><office:meta><dc:title>` + escaped(b.title()) +
			`</dc:title><dc:language>` + b.language + `</dc:language></office:meta></office:document-meta>`},
		{name: "content.xml", text: content.String()},
	})
}

// odsStyles are the styles of titles, heads and notes, and those of numbers.
func odsStyles() string {
	var out strings.Builder
	for d := 0; d <= scientific; d++ {
		if d == scientific {
			fmt.Fprintf(&out, `<number:number-style style:name="d%d"><number:scientific-number number:decimal-places="1" number:min-integer-digits="1" number:min-exponent-digits="2"/></number:number-style>`, d)
		} else {
			fmt.Fprintf(&out, `<number:number-style style:name="d%d"><number:number number:decimal-places="%d" number:min-decimal-places="%d" number:min-integer-digits="1" number:grouping="true"/></number:number-style>`, d, d, d)
		}
		fmt.Fprintf(&out, `<style:style style:name="n%d" style:family="table-cell" style:data-style-name="d%d"/>`, d, d)
	}
	for _, s := range [][2]string{{"title", `fo:font-weight="bold" fo:font-size="14pt"`}, {"head", `fo:font-weight="bold"`}, {"note", `fo:font-size="9pt"`}} {
		out.WriteString(`<style:style style:name="` + s[0] + `" style:family="table-cell"><style:text-properties ` + s[1] + `/></style:style>`)
	}
	return out.String()
}

func (t table) odsSheet(out *strings.Builder) {
	row := func(cells func()) {
		out.WriteString(`<table:table-row>`)
		cells()
		out.WriteString(`</table:table-row>`)
	}
	empty := func() { out.WriteString(`<table:table-cell/>`) }
	text := func(style, s string) {
		out.WriteString(`<table:table-cell office:value-type="string"`)
		if style != "" {
			out.WriteString(` table:style-name="` + style + `"`)
		}
		out.WriteString(`><text:p>` + escaped(s) + `</text:p></table:table-cell>`)
	}
	fmt.Fprintf(out, `<table:table table:name="%s"><table:table-column table:number-columns-repeated="%d"/>`, escaped(t.sheet), len(t.columns))
	row(func() { text("title", t.title) })
	row(empty)
	row(func() {
		for _, c := range t.columns {
			text("head", c.name)
		}
	})
	for _, cells := range t.rows {
		row(func() {
			for k, cell := range cells {
				switch {
				case cell == "":
					empty()
				case t.columns[k].number():
					fmt.Fprintf(out, `<table:table-cell table:style-name="n%d" office:value-type="float" office:value="%s"><text:p>%s</text:p></table:table-cell>`, decimals(cell), cell, cell)
				default:
					text("", cell)
				}
			}
		})
	}
	row(empty)
	for _, note := range t.notes {
		row(func() { text("note", note) })
	}
	out.WriteString(`</table:table>`)
}
