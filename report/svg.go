package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"html"
	"html/template"
	"io"
	"slices"
	"strings"
)

// tones are the colours that figures are drawn in, and the classes that the page
// gives its own colours, one set for light and one for dark.
var tones = map[string]string{
	"#000000": "ink", "#101010": "main", "#707070": "other", "#a0a0a0": "axis", "#e0e0e0": "faint", "#ffffff": "paper",
}

// inline makes an SVG document of the plot library part of a page: style
// attributes, which the page's security policy forbids, become attributes and
// classes, and a title and a description serve readers who cannot see the figure.
func inline(svg []byte, id, title, description string) (template.HTML, error) {
	var b strings.Builder
	d := xml.NewDecoder(bytes.NewReader(svg))
	depth := 0
	for {
		token, err := d.Token()
		if err == io.EOF {
			return template.HTML(b.String()), nil //nolint:gosec // every text and attribute was escaped above
		}
		if err != nil {
			return "", fmt.Errorf("a figure is not valid SVG: %w", err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if depth++; depth == 1 {
				fmt.Fprintf(&b, `<svg viewBox="%s" role="img" aria-labelledby="%s-t %s-d"><title id="%s-t">%s</title><desc id="%s-d">%s</desc>`,
					attribute(t, "viewBox"), id, id, id, html.EscapeString(title), id, html.EscapeString(description))
				continue
			}
			b.WriteString("<" + t.Name.Local)
			writeAttributes(&b, t)
			b.WriteString(">")
		case xml.EndElement:
			depth--
			b.WriteString("</" + t.Name.Local + ">")
		case xml.CharData:
			if text := strings.TrimSpace(string(t)); text != "" {
				b.WriteString(html.EscapeString(text))
			}
		}
	}
}

func attribute(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name {
			return html.EscapeString(a.Value)
		}
	}
	return ""
}

// kept are the properties of a style attribute that become attributes.
var kept = []string{"stroke-width", "stroke-dasharray", "font-size", "text-anchor"}

func writeAttributes(b *strings.Builder, t xml.StartElement) {
	fill, stroke := "", ""
	for _, a := range t.Attr {
		if a.Name.Local != "style" {
			fmt.Fprintf(b, ` %s="%s"`, a.Name.Local, html.EscapeString(a.Value))
			continue
		}
		for _, part := range strings.Split(a.Value, ";") {
			name, value, _ := strings.Cut(part, ":")
			name, value = strings.TrimSpace(name), strings.TrimSpace(value)
			switch {
			case name == "fill":
				fill = strings.ToLower(value)
			case name == "stroke":
				stroke = strings.ToLower(value)
			case slices.Contains(kept, name):
				fmt.Fprintf(b, ` %s="%s"`, name, html.EscapeString(value))
			}
		}
	}
	if t.Name.Local != "path" && t.Name.Local != "text" {
		return
	}
	// The library leaves out what is SVG's own default: a black fill.
	if fill == "" {
		fill = "#000000"
	}
	var classes []string
	if c, ok := tones[fill]; ok {
		classes = append(classes, "f-"+c)
	} else if fill == "none" {
		b.WriteString(` fill="none"`)
	}
	if c, ok := tones[stroke]; ok {
		classes = append(classes, "s-"+c)
	}
	if len(classes) > 0 {
		fmt.Fprintf(b, ` class="%s"`, strings.Join(classes, " "))
	}
}
